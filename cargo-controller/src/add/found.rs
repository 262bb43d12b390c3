//! What the project's own code has already: its kinds, and the names of its controllers. A file that is no Rust yet has none.

use std::{fs, path::PathBuf};

use crate::{error::Error, names::Kind, project::Project, rust};

/// A kind of the project, and where it is made.
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) file: PathBuf,
    /// The module, as a path: `crate::types`.
    pub(super) module: String,
}

pub(super) fn kinds(project: &Project) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for Source { file, module, text } in sources(project)? {
        for kind in rust::kinds(&text).unwrap_or_default() {
            found.push(Found {
                kind,
                file: file.clone(),
                module: module.clone(),
            });
        }
    }
    Ok(found)
}

/// In lower case.
pub(super) fn controllers(project: &Project) -> Result<Vec<String>, Error> {
    let sources = sources(project)?.into_iter();
    let names = sources.flat_map(|source| rust::controllers(&source.text).unwrap_or_default());
    Ok(names.collect())
}

/// A file of Rust, and the module that it is.
struct Source {
    file: PathBuf,
    module: String,
    text: String,
}

fn sources(project: &Project) -> Result<Vec<Source>, Error> {
    let mut found = Vec::new();
    let mut folders = vec![(project.folder.join("src"), "crate".to_owned())];
    while let Some((folder, module)) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|source| Error::Read {
            path: folder.clone(),
            source,
        })?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let stem = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let inner = format!("{module}::{stem}");
            if path.is_dir() {
                folders.push((path, inner));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let is_root = ["main", "lib", "mod"].contains(&stem.as_str());
                found.push(Source {
                    text: fs::read_to_string(&path).unwrap_or_default(),
                    file: path,
                    module: if is_root { module.clone() } else { inner },
                });
            }
        }
    }
    Ok(found)
}
