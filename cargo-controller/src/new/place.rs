//! Where a project goes, and how a shell is told of it.

use std::{
    borrow::Cow,
    io,
    path::{Path, PathBuf},
};

use crate::error::Error;

/// Without `.`, `..` and links, as far as the folder is there.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    let failed = |source: io::Error| Error::Read {
        path: path.to_owned(),
        source,
    };
    let full = std::path::absolute(path).map_err(failed)?;
    let mut there = full.as_path();
    let mut rest = Vec::new();
    loop {
        if let Ok(found) = there.canonicalize() {
            return Ok(rest.iter().rev().fold(found, |path, part| path.join(part)));
        }
        let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else {
            return Ok(full);
        };
        rest.push(name);
        there = parent;
    }
}

/// The root of the repository that `folder` is in, unless it is that root, or in none yet. `.git` is a file in a work tree.
pub(super) fn repository_above(folder: &Path) -> Option<&Path> {
    let root = folder.ancestors().find(|folder| folder.join(".git").exists())?;
    (root != folder).then_some(root)
}

/// A path as a shell takes it.
pub(crate) fn shell(path: &Path) -> Cow<'_, str> {
    let text = path.to_string_lossy();
    if text
        .chars()
        .all(|c| c.is_alphanumeric() || "/._-+,@:=".contains(c))
        && !text.is_empty()
    {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''")).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_one_word() {
        for (path, word) in [
            ("ops/site", "ops/site"),
            ("my ops/site", "'my ops/site'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(shell(Path::new(path)), word);
        }
    }

    #[test]
    fn a_repository_is_found_above_and_not_here() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("ops");
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(repository_above(&folder), None);
        std::fs::write(root.path().join(".git"), "gitdir: elsewhere\n").unwrap();
        assert_eq!(repository_above(&folder), Some(root.path()));
        assert_eq!(repository_above(root.path()), None);
    }
}
