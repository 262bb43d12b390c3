//! Which files a binary was made from: a change of one of them asks for a new build.
//!
//! Cargo writes them beside the binary, `NAME.d` in the form of a makefile rule, with path dependencies included. A new
//! file is named by one that is there already, so it needs no watching of folders.

use std::path::{Path, PathBuf};

use super::Project;
use crate::manifest::Stamp;

/// A stamp for each source file of the binary, and for the package's Cargo.toml.
pub(crate) fn sources(project: &Project, binary: &Path) -> Vec<Stamp> {
    let rule = std::fs::read_to_string(binary.with_extension("d")).unwrap_or_default();
    let mut paths = prerequisites(&rule);
    paths.push(project.cargo_toml());
    paths.sort();
    paths.dedup();
    paths.into_iter().map(Stamp::of).collect()
}

/// What stands after the colon; spaces within a name are escaped by a backslash.
fn prerequisites(rule: &str) -> Vec<PathBuf> {
    let Some((_, files)) = rule.lines().next().and_then(|line| line.split_once(": ")) else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    let mut name = String::new();
    let mut chars = files.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&' ') => {
                name.push(' ');
                chars.next();
            }
            ' ' => paths.push(PathBuf::from(std::mem::take(&mut name))),
            c => name.push(c),
        }
    }
    paths.push(PathBuf::from(name));
    paths.retain(|path| !path.as_os_str().is_empty());
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_cargo_writes_them() {
        let rule = "/t/debug/document: /a/src/main.rs /a/my\\ types.rs\n";
        assert_eq!(
            prerequisites(rule),
            [PathBuf::from("/a/src/main.rs"), PathBuf::from("/a/my types.rs")]
        );
        assert!(prerequisites("").is_empty());
    }
}
