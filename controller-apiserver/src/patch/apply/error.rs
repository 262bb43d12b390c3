//! Why an apply was refused.

use std::fmt;

use super::managed::Key;
use crate::{
    patch::fields::{Element, path_text},
    status::Cause,
};

/// An apply that was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// 400 `BadRequest` with this message.
    #[error("{0}")]
    BadRequest(String),
    /// Others own what would change: 409 `Conflict`.
    #[error("{0}")]
    Conflict(Conflicts),
    /// The configuration or the live object is not of its type: servers answer 500 without reason.
    #[error("{0}")]
    Internal(String),
}

impl ApplyError {
    /// The HTTP status code of the refusal.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::Conflict(_) => 409,
            Self::Internal(_) => 500,
        }
    }

    /// `Status.reason`; empty where servers give none.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "BadRequest",
            Self::Conflict(_) => "Conflict",
            Self::Internal(_) => "",
        }
    }

    /// `Status.details.causes`.
    pub fn causes(&self) -> Vec<Cause> {
        match self {
            Self::Conflict(conflicts) => conflicts.causes(),
            _ => Vec::new(),
        }
    }
}

/// Fields that are owned by others, sorted by owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts(pub(super) Vec<(Key, Vec<Element>)>);

impl Conflicts {
    fn causes(&self) -> Vec<Cause> {
        let cause = |(key, path): &(Key, Vec<Element>)| {
            Cause::new(
                "FieldManagerConflict",
                path_text(path),
                format!("conflict with {key}"),
            )
        };
        self.0.iter().map(cause).collect()
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(key, path)] = self.0.as_slice() {
            let path = path_text(path);
            return write!(f, "Apply failed with 1 conflict: conflict with {key}: {path}");
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut owner = None;
        for (key, path) in &self.0 {
            if owner != Some(key) {
                let newline = if owner.is_some() { "\n" } else { "" };
                write!(f, "{newline}conflicts with {key}:")?;
                owner = Some(key);
            }
            write!(f, "\n- {}", path_text(path))?;
        }
        Ok(())
    }
}

/// Mistakes of type, each with the path at which it was found.
#[derive(Debug, Default)]
pub(super) struct TypeErrors {
    path: String,
    ends: Vec<usize>,
    found: Vec<String>,
}

impl TypeErrors {
    pub(super) fn enter(&mut self, element: &Element) {
        self.ends.push(self.path.len());
        self.path.push_str(&element.to_string());
    }

    pub(super) fn leave(&mut self) {
        debug_assert!(!self.ends.is_empty(), "left more often than entered");
        self.path.truncate(self.ends.pop().unwrap_or_default());
    }

    pub(super) fn add(&mut self, mistake: impl fmt::Display) {
        let text = match self.path.as_str() {
            "" => mistake.to_string(),
            path => format!("{path}: {mistake}"),
        };
        self.found.push(text);
    }

    pub(super) fn count(&self) -> usize {
        self.found.len()
    }

    pub(super) fn into_result(self) -> Result<(), Self> {
        if self.found.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for TypeErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found.as_slice() {
            [only] => f.write_str(only),
            all => {
                f.write_str("errors:")?;
                all.iter().try_for_each(|one| write!(f, "\n  {one}"))
            }
        }
    }
}
