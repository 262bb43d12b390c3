//! The packages of a workspace, as cargo finds them: the root's own, those that `members` names, and the folders below the root that
//! one of these depends on.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use toml_edit::{DocumentMut, Item};

use super::Workspace;

/// A package of a workspace.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    /// From the root to its folder.
    pub(crate) way: PathBuf,
    pub(crate) name: String,
}

impl Workspace {
    /// All whose manifests can be read, in the order of their folders.
    pub(crate) fn packages(&self) -> Vec<Member> {
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let named = self.list("members").flat_map(|pattern| matching(&root, pattern));
        let mut folders: Vec<_> = named.filter(|folder| !self.excludes(&root, folder)).collect();
        folders.push(root.clone());
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            let Ok(folder) = folder.canonicalize() else {
                continue;
            };
            if !folder.starts_with(&root) || !seen.insert(folder.clone()) {
                continue;
            }
            let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
            let manifest = text.parse::<DocumentMut>().unwrap_or_default();
            folders.extend(
                neighbours(manifest.as_item())
                    .into_iter()
                    .map(|way| folder.join(way)),
            );
            let name = manifest
                .get("package")
                .and_then(|package| package.get("name")?.as_str());
            if let Some(name) = name {
                found.push(Member {
                    way: folder.strip_prefix(&root).unwrap_or(&folder).to_owned(),
                    name: name.to_owned(),
                });
            }
        }
        found.sort();
        found
    }
}

/// The folders of a pattern of members. What stands before the pattern is none, whatever it is called.
fn matching(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let pattern = format!("{}/{pattern}", glob::Pattern::escape(&root.display().to_string()));
    glob::glob(&pattern).into_iter().flatten().flatten().collect()
}

/// Each `path` of a dependency, in whatever section: those of targets lie deeper.
fn neighbours(manifest: &Item) -> Vec<String> {
    let mut found = Vec::new();
    let Some(table) = manifest.as_table_like() else {
        return found;
    };
    for (name, item) in table.iter() {
        if name.ends_with("dependencies") {
            let dependencies = item.as_table_like().into_iter().flat_map(|table| table.iter());
            let paths = dependencies.filter_map(|(_, item)| item.get("path")?.as_str());
            found.extend(paths.map(str::to_owned));
        } else if name == "target" {
            let targets = item.as_table_like().into_iter().flat_map(|table| table.iter());
            found.extend(targets.flat_map(|(_, target)| neighbours(target)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_as_cargo_finds_them() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().join("a [b]");
        let write = |way: &str, text: &str| {
            fs::create_dir_all(root.join(way)).unwrap();
            fs::write(root.join(way).join("Cargo.toml"), text).unwrap();
        };
        write(
            "",
            "[workspace]\nmembers = [\"./ops/*\"]\nexclude = [\"ops/out\"]\n[package]\nname = \"top\"\n",
        );
        write(
            "ops/in",
            "[package]\nname = \"in\"\n[dependencies]\nlib = { path = \"../../lib\" }\n",
        );
        write("ops/out", "[package]\nname = \"out\"\n");
        write(
            "lib",
            "[package]\nname = \"lib\"\n[target.'cfg(unix)'.build-dependencies.unix]\npath = \"../unix\"\n",
        );
        write(
            "unix",
            "[package]\nname = \"unix\"\n[dependencies]\nup = { path = \"../..\" }\n",
        );
        write("alone", "[package]\nname = \"alone\"\n");
        fs::write(root.join("ops/README.md"), "").unwrap();
        let found = Workspace::read(&root).unwrap().unwrap().packages();
        let found: Vec<_> = found
            .iter()
            .map(|member| (member.way.to_str().unwrap(), member.name.as_str()))
            .collect();
        assert_eq!(
            found,
            [("", "top"), ("lib", "lib"), ("ops/in", "in"), ("unix", "unix")]
        );
    }
}
