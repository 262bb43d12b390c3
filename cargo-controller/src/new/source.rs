//! Where a project takes the crates of this repository from.

use std::path::{Path, PathBuf};

use super::template;

/// They are in no registry, so it is a folder or a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A clone.
    Folder(PathBuf),
    /// The address of a repository, as git takes it.
    Git(String),
}

impl Source {
    /// What was asked for, or the clone that this program was built in.
    ///
    /// # Errors
    /// When it is a folder that does not hold the crates.
    pub(super) fn choose(asked: Option<&str>) -> Result<Self, String> {
        let Some(asked) = asked else {
            return template::home().map(Self::Folder).ok_or_else(|| {
                "the clone that this program was built in is gone: say with --source where its crates are, \
                 a folder or the address of a git repository"
                    .to_owned()
            });
        };
        if asked.contains("://") {
            return Ok(Self::Git(asked.to_owned()));
        }
        if let Some(address) = of_short(asked) {
            return Ok(Self::Git(address));
        }
        let folder = Path::new(asked)
            .canonicalize()
            .ok()
            .filter(|folder| folder.join("controller-runtime/Cargo.toml").is_file());
        folder.map(Self::Folder).ok_or_else(|| {
            format!("{asked} is no clone of this repository: controller-runtime/Cargo.toml is not there")
        })
    }

    /// What stands in a Cargo.toml in `folder`, for the crate that lies at `path`. Inside one workspace the way is relative.
    pub(super) fn line(&self, path: &str, folder: &Path, root: Option<&Path>) -> String {
        match self {
            Self::Git(address) => format!("git = {}", quoted(address)),
            Self::Folder(home) => {
                let way = root
                    .filter(|root| home.starts_with(root))
                    .and_then(|root| relative(folder, root, home));
                let place = way.unwrap_or_else(|| home.clone()).join(path);
                format!("path = {}", quoted(&place.display().to_string()))
            }
        }
    }
}

/// `user@host:owner/repo`, which git takes and cargo does not, as an address. A path has no `@` before its first `:`, or a `/`.
fn of_short(asked: &str) -> Option<String> {
    let (host, path) = asked.split_once(':')?;
    let is_host = host.contains('@') && !host.contains(['/', '\\']);
    is_host.then(|| format!("ssh://{host}/{}", path.trim_start_matches('/')))
}

/// From a folder below `root` to a place below it.
fn relative(folder: &Path, root: &Path, place: &Path) -> Option<PathBuf> {
    let up = folder.strip_prefix(root).ok()?.components().map(|_| "..");
    Some(up.collect::<PathBuf>().join(place.strip_prefix(root).ok()?))
}

/// A JSON string is a TOML basic string as well.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_crate_is_relative_within_a_workspace_only() {
        let source = Source::Folder("/w/vendor/clone".into());
        let line = |folder: &str, root: Option<&str>| {
            source.line("controller-runtime", Path::new(folder), root.map(Path::new))
        };
        assert_eq!(
            line("/w/ops/site", Some("/w")),
            "path = \"../../vendor/clone/controller-runtime\""
        );
        let absolute = "path = \"/w/vendor/clone/controller-runtime\"";
        assert_eq!(line("/w/ops/site", None), absolute);
        assert_eq!(line("/v/site", Some("/v")), absolute);
    }

    #[test]
    fn an_address_is_git_and_a_folder_must_hold_the_crates() {
        let git = Source::choose(Some("https://example.com/repo.git")).unwrap();
        assert_eq!(
            git.line("controller-runtime", Path::new("/w"), None),
            "git = \"https://example.com/repo.git\""
        );
        for (short, address) in [
            (
                "git@example.com:owner/repo.git",
                "ssh://git@example.com/owner/repo.git",
            ),
            ("me@example.com:/srv/repo", "ssh://me@example.com/srv/repo"),
        ] {
            assert_eq!(Source::choose(Some(short)), Ok(Source::Git(address.to_owned())));
        }
        assert!(Source::choose(Some("./a@b:c")).is_err(), "that is a folder");
        assert!(Source::choose(Some("/nowhere")).unwrap_err().contains("no clone"));
        assert!(Source::choose(None).is_ok(), "tests run in a clone");
    }
}
