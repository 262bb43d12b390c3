//! Objects in files: read in file order, applied in that order, reported one by one.

mod apply;
mod folder;
mod read;

pub(crate) use apply::{Applier, Outcome};
pub(crate) use folder::{Folder, Stamp, load};
pub(crate) use read::{Manifest, read};

use std::fmt;

/// Where an object was written: its file as the user knows it, and which document of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: String,
    /// Counted from 1.
    pub(crate) document: usize,
    /// Counted from 1; 0 where it is not known.
    pub(crate) line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, " (document {})", self.document)
    }
}

/// One mistake in one manifest. It harms no other manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) place: Place,
    /// `Document default/hello`, where it could be read.
    pub(crate) object: Option<String>,
    pub(crate) text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if let Some(object) = &self.object {
            write!(f, ": {object}")?;
        }
        write!(f, ": {}", self.text)
    }
}
