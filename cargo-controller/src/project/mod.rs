//! The operator's package: found, built, and run as a child process.

mod build;
mod child;
mod said;
mod select;
mod sources;

use std::path::{Path, PathBuf};

pub(crate) use build::{Listener, build};
pub(crate) use child::Child;
pub(crate) use said::Said;
pub(crate) use sources::sources;

use crate::error::Error;

/// A package with a Cargo.toml.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    /// As the user wrote it; nothing is resolved, so that texts show what was asked.
    pub(crate) folder: PathBuf,
}

impl Project {
    /// # Errors
    /// When the folder is not there, is a file, or holds no Cargo.toml.
    pub(crate) fn find(folder: &Path) -> Result<Self, Error> {
        if !folder.exists() {
            return Err(Error::NoPath(folder.to_owned()));
        }
        if !folder.is_dir() {
            return Err(Error::NotAFolder(folder.to_owned()));
        }
        let project = Self {
            folder: folder.to_owned(),
        };
        if !project.cargo_toml().is_file() {
            return Err(Error::NoCargoToml(folder.to_owned()));
        }
        Ok(project)
    }

    pub(crate) fn cargo_toml(&self) -> PathBuf {
        self.folder.join("Cargo.toml")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_path_has_its_own_text() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let text = |path: &Path| Project::find(path).unwrap_err().to_string();
        assert!(text(&folder.path().join("nowhere")).ends_with("nowhere is not there"));
        assert!(text(&file).ends_with("file is not a folder"));
        assert!(text(folder.path()).ends_with("has no Cargo.toml"));
    }
}
