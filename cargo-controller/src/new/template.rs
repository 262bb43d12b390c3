//! The examples, carried in this program: each is a template.
//!
//! Nothing has to be said of an example twice. Its line is the `description` of its Cargo.toml, and its names stand in the
//! attribute that makes its kind: the one with a `group` of [`PLACEHOLDER`], which a project of one's own replaces. An example that
//! works with kinds of others alone has no such attribute.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Value};

use crate::{
    names::{Kind, Names, PLACEHOLDER, camel},
    rust,
};

/// A folder of `examples`.
#[derive(Debug)]
pub(super) struct Example {
    pub(super) name: &'static str,
    /// Paths in the folder, and texts.
    pub(super) files: &'static [(&'static str, &'static str)],
}

/// All of them, by name.
pub(super) const ALL: &[Example] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// The workspace that the examples inherit from.
pub(super) const WORKSPACE: &str = include_str!("../../../Cargo.toml");

/// The versions that the examples were tested with.
pub(super) const LOCK: &str = include_str!("../../../Cargo.lock");

pub(super) fn find(name: &str) -> Option<&'static Example> {
    ALL.iter().find(|example| example.name == name)
}

impl Example {
    pub(super) fn cargo_toml(&self) -> &'static str {
        let found = self.files.iter().find(|(path, _)| *path == "Cargo.toml");
        found.map_or("", |(_, text)| text)
    }

    /// What it shows, in a line.
    pub(super) fn about(&self) -> String {
        let manifest = self.cargo_toml().parse::<DocumentMut>().unwrap_or_default();
        let description = manifest
            .get("package")
            .and_then(|package| package.get("description")?.as_str());
        description.unwrap_or_default().to_owned()
    }

    /// All its Rust.
    pub(super) fn code(&self) -> impl Iterator<Item = &'static str> {
        let rust = self.files.iter().filter(|(path, _)| is_rust(path));
        rust.map(|(_, text)| *text)
    }

    /// Its own names. Of several kinds, the one that is called like the example is renamed, or the first.
    ///
    /// # Errors
    /// When its Rust cannot be read, or a kind says no plural, which a test rules out.
    pub(super) fn names(&self) -> Result<Names, String> {
        let mut kinds = Vec::new();
        for code in self.code() {
            kinds.extend(rust::kinds(code)?);
        }
        kinds.retain(|kind| kind.group == PLACEHOLDER);
        let called = kinds.iter().position(|kind| kind.name == camel(self.name));
        let kind: Option<Kind> = (!kinds.is_empty()).then(|| kinds.swap_remove(called.unwrap_or(0)));
        if let Some(kind) = &kind
            && kind.plural.is_empty()
        {
            return Err(format!(
                "{}: say the plural of {} in its attribute",
                self.name, kind.name
            ));
        }
        Ok(Names {
            package: self.name.to_owned(),
            kind,
        })
    }
}

/// The crates of the clone that come along with these: a lock file cannot hold another of their names.
pub(super) fn companions(dependencies: &[String]) -> Vec<String> {
    let lock = LOCK.parse::<DocumentMut>().unwrap_or_default();
    let packages = lock.get("package").and_then(Item::as_array_of_tables);
    // Those of a registry are told apart by it.
    let ours: Vec<_> = packages
        .into_iter()
        .flatten()
        .filter(|package| !package.contains_key("source"))
        .collect();
    let mut found: Vec<String> = Vec::new();
    let mut names = dependencies.to_vec();
    while let Some(name) = names.pop() {
        let package = ours
            .iter()
            .find(|package| package.get("name").and_then(Item::as_str) == Some(&name));
        let Some(package) = package.filter(|_| !found.contains(&name)) else {
            continue;
        };
        let next = package
            .get("dependencies")
            .and_then(Item::as_array)
            .into_iter()
            .flatten();
        names.extend(next.filter_map(Value::as_str).map(str::to_owned));
        found.push(name);
    }
    found
}

pub(super) fn is_rust(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rs")
}

/// The clone that this program was built in, if it is still there: its crates can be used from their folders.
pub(super) fn home() -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    home.join("controller-runtime/Cargo.toml")
        .is_file()
        .then(|| home.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_along_is_of_the_clone_and_no_example() {
        let mut found = companions(&["controller-runtime".to_owned(), "kube".to_owned()]);
        found.sort();
        assert_eq!(
            found,
            ["controller-apiserver", "controller-macros", "controller-runtime"]
        );
    }

    /// What a folder of `examples` needs to be a template: a description, and the plural of its kind.
    #[test]
    fn every_example_is_a_template() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        let mut folders: Vec<_> = std::fs::read_dir(examples)
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().join("Cargo.toml").is_file())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        folders.sort();
        assert_eq!(
            folders,
            ALL.iter().map(|example| example.name).collect::<Vec<_>>()
        );
        for example in ALL {
            assert!(
                !example.about().is_empty(),
                "{}: describe it in its Cargo.toml",
                example.name
            );
            let names = example.names().unwrap();
            for file in ["README.md", "src/main.rs"] {
                assert!(
                    example.files.iter().any(|(path, _)| *path == file),
                    "{}: write a {file}",
                    example.name
                );
            }
            if let Some(kind) = names.kind {
                assert_eq!(
                    (kind.group.as_str(), kind.version.as_str()),
                    (PLACEHOLDER, "v1"),
                    "{}",
                    example.name
                );
            }
        }
    }
}
