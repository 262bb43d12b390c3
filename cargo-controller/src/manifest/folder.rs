//! The manifest files of a folder, in the order of their names.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{Manifest, Place, Problem, read};
use crate::error::Error;

/// What tells that a file changed, without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) path: PathBuf,
    modified: Option<SystemTime>,
    length: u64,
}

impl Stamp {
    /// A file that is not there has a stamp too: its appearance is a change.
    pub(crate) fn of(path: PathBuf) -> Self {
        let metadata = fs::metadata(&path).ok();
        Self {
            modified: metadata.as_ref().and_then(|metadata| metadata.modified().ok()),
            length: metadata.map_or(0, |metadata| metadata.len()),
            path,
        }
    }
}

/// A folder of manifests.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder named by the user, or `manifests` beside the operator's Cargo.toml if that is there.
    ///
    /// # Errors
    /// When the user names one that is not there, or is no folder.
    pub(crate) fn find(named: Option<&Path>, project: &Path) -> Result<Option<Self>, Error> {
        if let Some(named) = named {
            if !named.is_dir() {
                return Err(Error::NoManifests(named.to_owned()));
            }
            return Ok(Some(Self {
                path: named.to_owned(),
            }));
        }
        let path = project.join("manifests");
        Ok(path.is_dir().then_some(Self { path }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// One stamp for each manifest file, sorted by name. Sub-folders are not entered.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub(crate) fn stamps(&self) -> Result<Vec<Stamp>, Error> {
        let failed = |source| Error::Read {
            path: self.path.clone(),
            source,
        };
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let manifest = path
                .extension()
                .and_then(|extension| extension.to_str())
                .is_some_and(|extension| matches!(extension, "yaml" | "yml" | "json"));
            if manifest && path.is_file() {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths.into_iter().map(Stamp::of).collect())
    }
}

/// Reads one file; a file that cannot be read is a problem like any other.
pub(crate) fn load(path: &Path) -> (Vec<Manifest>, Vec<Problem>) {
    let file = path.display().to_string();
    match fs::read_to_string(path) {
        Ok(text) => read(&file, &text),
        Err(error) => (
            Vec::new(),
            vec![Problem {
                place: Place {
                    file,
                    document: 1,
                    line: 0,
                },
                object: None,
                text: format!("cannot be read: {error}"),
            }],
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_by_name_and_others_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["20-b.yml", "10-a.yaml", "README.md", "30.json"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = Folder::find(Some(folder.path()), Path::new("/"))
            .unwrap()
            .unwrap();
        let names: Vec<_> = found
            .stamps()
            .unwrap()
            .into_iter()
            .map(|stamp| stamp.path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["10-a.yaml", "20-b.yml", "30.json"]);
    }

    #[test]
    fn a_named_folder_must_be_there_an_unnamed_one_need_not() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("nowhere");
        let error = Folder::find(Some(&missing), folder.path()).unwrap_err();
        assert!(error.to_string().contains("nowhere"), "{error}");
        assert!(Folder::find(None, folder.path()).unwrap().is_none());
    }
}
