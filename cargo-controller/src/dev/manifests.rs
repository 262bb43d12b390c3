//! The manifests of a session: which are applied, which changed, which are wrong.

use std::{
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
};

use kube::Client;

use super::{
    narrate::{self, Line, Mood},
    settle::Expected,
};
use crate::{
    error::Error,
    manifest::{Applier, Folder, Manifest, Problem, Stamp, load},
};

/// The files of the folder, as they were last read.
pub(crate) struct Manifests {
    folder: Option<Folder>,
    applier: Applier,
    /// What was read of each file, and how the file looked then.
    files: BTreeMap<PathBuf, File>,
    /// Files that are to be applied, in order.
    waiting: VecDeque<Stamp>,
}

struct File {
    stamp: Stamp,
    /// What the server has of it.
    applied: Vec<Manifest>,
    problems: Vec<Problem>,
}

impl Manifests {
    pub(crate) fn new(folder: Option<Folder>, client: Client) -> Self {
        Self {
            folder,
            applier: Applier::new(client),
            files: BTreeMap::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Looks which files are new, changed or gone. Gone ones have their objects deleted.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub(crate) async fn look(&mut self) -> Result<Vec<Line>, Error> {
        let Some(folder) = &self.folder else {
            return Ok(Vec::new());
        };
        let stamps = folder.stamps()?;
        let mut lines = Vec::new();
        let gone: Vec<_> = self
            .files
            .keys()
            .filter(|path| !stamps.iter().any(|stamp| &stamp.path == *path))
            .cloned()
            .collect();
        for path in gone {
            if let Some(file) = self.files.remove(&path) {
                lines.extend(self.delete(file.applied).await);
            }
        }
        for stamp in stamps {
            let known = self.files.get(&stamp.path).map(|file| &file.stamp);
            let queued = self.waiting.iter().any(|waiting| waiting.path == stamp.path);
            if known != Some(&stamp) && !queued {
                self.waiting.push_back(stamp);
            }
        }
        Ok(lines)
    }

    /// Whether files wait to be applied.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Applies the next file that waits: what is in it, and deletes what no longer is.
    pub(crate) async fn apply_next(&mut self) -> Vec<Line> {
        let Some(stamp) = self.waiting.pop_front() else {
            return Vec::new();
        };
        let before = self
            .files
            .remove(&stamp.path)
            .map(|file| file.applied)
            .unwrap_or_default();
        let (manifests, mut problems) = load(&stamp.path);
        let mut lines: Vec<_> = problems.iter().map(narrate::refused).collect();
        let unreadable = !problems.is_empty();
        let mut applied = Vec::new();
        for manifest in manifests {
            match self.applier.apply(&manifest).await {
                Ok(outcome) => {
                    lines.extend(narrate::applied(&manifest, outcome));
                    applied.push(manifest);
                }
                Err(problem) => {
                    lines.push(narrate::refused(&problem));
                    problems.push(problem);
                }
            }
        }
        let (gone, kept): (Vec<_>, Vec<_>) = before
            .into_iter()
            .filter(|old| !applied.iter().any(|new| new.identity() == old.identity()))
            .partition(|_| !unreadable && problems.is_empty());
        // A file with a mistake in it does not say that its other objects shall go.
        applied.extend(kept);
        lines.extend(self.delete(gone).await);
        let file = File {
            stamp,
            applied,
            problems,
        };
        self.files.insert(file.stamp.path.clone(), file);
        lines
    }

    async fn delete(&mut self, gone: Vec<Manifest>) -> Vec<Line> {
        let mut lines = Vec::new();
        // What was written last may need what was written first.
        for manifest in gone.into_iter().rev() {
            lines.push(match self.applier.delete(&manifest).await {
                Ok(()) => Line::new(
                    Mood::Plain,
                    "deleted",
                    format!("{}  (no longer in {})", manifest.title(), manifest.place.file),
                ),
                Err(problem) => narrate::refused(&problem),
            });
        }
        lines
    }

    /// The mistakes that stand.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.files.values().flat_map(|file| &file.problems)
    }

    /// What must have been reconciled when all is settled.
    pub(crate) fn expected(&self) -> Vec<Expected> {
        let applied = self.files.values().flat_map(|file| &file.applied);
        applied
            .map(|manifest| Expected {
                kind: manifest.kind.clone(),
                namespace: manifest.namespace.clone(),
                name: manifest.name.clone(),
            })
            .collect()
    }

    /// For the first words: how many files there are, and where.
    pub(crate) fn describe(&self) -> String {
        match &self.folder {
            Some(folder) => format!("{} files in {}", self.waiting.len(), Path::display(folder.path())),
            None => "none: no folder `manifests`".to_owned(),
        }
    }
}
