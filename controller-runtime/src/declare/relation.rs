//! How objects of another kind wake primaries.

use serde::Serialize;

use super::Watched;

/// One relation of a controller: objects of another kind whose changes wake primaries.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RelationDeclaration {
    /// How a related object finds its primaries.
    pub kind: RelationKind,
    /// The related kind.
    pub target: Watched,
    /// Predicates on the related object, as written; an empty list passes every change.
    pub predicates: Vec<String>,
    /// Only the metadata is watched, and what a primary names is read and held whole.
    pub referenced_only: bool,
}

impl RelationDeclaration {
    /// A relation to every object of a kind.
    pub fn new(kind: RelationKind, target: Watched) -> Self {
        Self {
            kind,
            target,
            predicates: Vec::new(),
            referenced_only: false,
        }
    }
}

/// How a related object finds its primaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RelationKind {
    /// By its owner reference.
    Owns,
    /// By a mapper from the related object to primaries.
    Watches,
    /// By a field of the primary that names it.
    References,
}

impl RelationKind {
    /// The word of the attribute.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owns => "owns",
            Self::Watches => "watches",
            Self::References => "references",
        }
    }
}
