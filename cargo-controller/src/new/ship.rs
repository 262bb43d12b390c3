//! What takes a project to a cluster: image, workflow, a test on kind. The same for every template.

use std::path::Path;

use super::source::Source;

/// Where a file goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The folder of the package.
    Package,
    /// The root of the repository.
    Root,
}

/// The files. `way` leads from the root of the repository to the package; it is empty for a package of its own.
pub(super) fn files(package: &str, way: &Path) -> Vec<(Place, String, String)> {
    let fill = |text: &str| fill(text, package, way);
    let mut files = vec![
        (
            Place::Package,
            "Dockerfile".to_owned(),
            fill(include_str!("ship/Dockerfile")),
        ),
        (
            Place::Package,
            "Dockerfile.dockerignore".to_owned(),
            fill(include_str!("ship/Dockerfile.dockerignore")),
        ),
        (
            Place::Package,
            "e2e.sh".to_owned(),
            fill(include_str!("ship/e2e.sh")),
        ),
        (
            Place::Root,
            workflow(package, way),
            fill(include_str!("ship/workflow.yml")),
        ),
    ];
    if way.as_os_str().is_empty() {
        files.push((
            Place::Package,
            ".gitignore".to_owned(),
            fill(include_str!("ship/gitignore")),
        ));
    }
    files
}

/// The end of the README.
pub(super) fn readme(package: &str, way: &Path, source: &Source) -> String {
    let note = match source {
        Source::Git(_) => String::new(),
        Source::Folder(_) => "\nAn image and a workflow do not have the folder that `Cargo.toml` takes `controller-runtime` and \
             `controller-apiserver` from: write `git = \"…\"` in the place of `path = \"…\"` first.\n"
            .to_owned(),
    };
    fill(include_str!("ship/README.md"), package, way)
        .replace("@NOTE@", &note)
        .replace("@WORKFLOW@", &workflow(package, way))
}

fn workflow(package: &str, way: &Path) -> String {
    let name = if way.as_os_str().is_empty() { "ci" } else { package };
    format!(".github/workflows/{name}.yml")
}

fn fill(text: &str, package: &str, way: &Path) -> String {
    let parts: Vec<_> = way
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    let up = vec![".."; parts.len()].join("/");
    let folder = parts.iter().flat_map(|part| [part, "/"]).collect::<String>();
    text.replace("@PACKAGE@", package)
        .replace("@DIR@", &folder)
        .replace("@UP@", if up.is_empty() { "." } else { &up })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(way: &str, name: &str) -> String {
        let files = files("site", Path::new(way));
        files.into_iter().find(|(_, file, _)| file == name).unwrap().2
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        for way in ["", "ops/site"] {
            let readme = readme("site", Path::new(way), &Source::Folder("/clone".into()));
            for (_, name, text) in files("site", Path::new(way)).into_iter().chain([(
                Place::Package,
                "README.md".into(),
                readme,
            )]) {
                let left: Vec<_> = text
                    .split('@')
                    .skip(1)
                    .filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
                    .collect();
                assert!(left.is_empty(), "{name}: {left:?}");
            }
        }
    }

    #[test]
    fn a_member_is_built_from_the_root_of_its_workspace() {
        assert!(text("ops/site", "Dockerfile").contains("--file \"ops/site/Dockerfile\""));
        assert!(text("ops/site", "e2e.sh").contains("\"$here/../..\""));
        assert!(text("", "e2e.sh").contains("\"$here/.\""));
        assert!(text("ops/site", ".github/workflows/site.yml").contains("bash \"ops/site/e2e.sh\""));
        assert!(text("", ".github/workflows/ci.yml").contains("bash \"e2e.sh\""));
    }

    #[test]
    fn the_image_has_no_root_and_no_shell() {
        let dockerfile = text("", "Dockerfile");
        let (_, last) = dockerfile.rsplit_once("\nFROM ").unwrap();
        assert!(
            last.starts_with("gcr.io/distroless/") && last.contains("\nUSER 65532:65532\n"),
            "{last}"
        );
        assert!(!last.contains("RUN"), "{last}");
    }

    #[test]
    fn the_script_is_one_that_bash_reads() {
        for way in ["", "ops/site"] {
            let mut bash = std::process::Command::new("bash");
            let read = bash.args(["-n", "-c", &text(way, "e2e.sh")]).output().unwrap();
            assert!(
                read.status.success() && read.stderr.is_empty(),
                "{}",
                String::from_utf8_lossy(&read.stderr)
            );
        }
    }

    #[test]
    fn the_workflow_is_yaml_with_its_four_jobs() {
        let workflow: serde_json::Value =
            serde_saphyr::from_str(&text("", ".github/workflows/ci.yml")).unwrap();
        let jobs: Vec<_> = workflow["jobs"].as_object().unwrap().keys().collect();
        assert_eq!(jobs, ["e2e", "image", "lint", "test"]);
    }
}
