//! Schemas of kinds: what is pruned, defaulted, validated, and how lists and maps merge.
//!
//! Pure functions over JSON values; no I/O, no clock. A [`Structural`] is made once per version of
//! a `CustomResourceDefinition` and used for every request; `definition` judges the definitions
//! themselves.
//!
//! Source: API documentation, "Custom Resources"; the recorded conversations of topic `crd` in
//! `tests/recorded` pin the behaviour.

mod cel;
mod combine;
mod defaulting;
pub(crate) mod definition;
mod embedded;
mod format;
mod json;
mod node;
mod parse;
mod path;
mod pattern;
#[cfg(test)]
mod properties;
mod prune;
mod rules;
#[cfg(test)]
mod tests;
mod unchanged;
mod unique;
mod validate;
mod value;

use std::sync::Arc;

use serde_json::Value;

pub use cel::Rule;
pub use defaulting::normalize_numbers;
pub use node::{Additional, Extensions, Limits, ListType, Node};
pub use rules::Setting;
pub use validate::Review;

use crate::status::Cause;
use path::Path;

/// A structural schema, ready for use.
///
/// The order of the steps of a write is: [`normalize_numbers`], [`prune`](Self::prune),
/// [`coerce`](Self::coerce), [`default`](Self::default), and, when name and namespace are set,
/// [`review`](Self::review).
#[derive(Clone, Debug)]
pub struct Structural {
    root: Arc<Node>,
}

impl Structural {
    /// Reads the `openAPIV3Schema` of a version.
    ///
    /// # Errors
    ///
    /// Every reason why the schema cannot be used; fields are relative to the schema.
    pub fn parse(schema: &Value) -> Result<Self, Vec<Cause>> {
        let causes = rules::check(schema, &Path::Root, Setting::default());
        if causes.is_empty() {
            Ok(Self::trusted(schema))
        } else {
            Err(causes)
        }
    }

    /// Reads the schema of a definition that has been accepted before.
    pub fn trusted(schema: &Value) -> Self {
        Self {
            root: Arc::new(Node::read(schema)),
        }
    }

    /// The schema itself.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Drops what the schema does not know; returns the paths of what was dropped, sorted,
    /// as warnings name them (`spec.items[0].extra`).
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(object, &self.root)
    }

    /// Brings the metadata of embedded resources into form; returns the paths of what was dropped.
    ///
    /// # Errors
    ///
    /// The first member of a wrong type: the request is bad.
    pub fn coerce(&self, object: &mut Value) -> Result<Vec<String>, Cause> {
        embedded::coerce(object, &self.root)
    }

    /// Fills in defaults, and drops nulls of fields that are not nullable.
    pub fn default(&self, object: &mut Value) {
        defaulting::default(object, &self.root);
    }

    /// What is wrong with `new`. With the `old` object, what was already wrong and did not change
    /// may stay (KEP-4008), and transition rules are checked.
    pub fn review(&self, new: &Value, old: Option<&Value>) -> Review {
        validate::review(new, old, &self.root)
    }

    /// The causes of [`review`](Self::review).
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        self.review(new, old).causes
    }
}
