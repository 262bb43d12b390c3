//! Schemas of kinds: what is pruned, defaulted, validated, and how lists and maps merge.
//!
//! Pure functions over JSON values; no I/O, no clock. A [`Structural`] is made once per version of
//! a `CustomResourceDefinition` and used for every request.

mod defaulting;
mod format;
mod node;
mod parse;
mod path;
mod prune;
mod validate;

use std::sync::Arc;

use serde_json::Value;

pub use defaulting::normalize_numbers;
pub use node::{Additional, Extensions, Limits, ListType, Node};

use crate::status::Cause;

/// A structural schema, ready for use.
///
/// The order of the steps of a write is: [`normalize_numbers`], [`prune`](Self::prune),
/// [`default`](Self::default), and, when name and namespace are set, [`validate`](Self::validate).
#[derive(Clone, Debug)]
pub struct Structural {
    root: Arc<Node>,
}

impl Structural {
    /// Reads the `openAPIV3Schema` of a version.
    ///
    /// # Errors
    ///
    /// Every reason for which the schema cannot be used; fields are relative to the schema.
    pub fn parse(schema: &Value) -> Result<Self, Vec<Cause>> {
        Ok(Self {
            root: Arc::new(Node::read(schema)),
        })
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

    /// Fills in defaults, and drops nulls of fields that are not nullable.
    pub fn default(&self, object: &mut Value) {
        defaulting::default(object, &self.root);
    }

    /// What is wrong with `new`. With the `old` object, what was already wrong and did not change
    /// may stay (KEP-4008), and transition rules are checked.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        validate::validate(new, old, &self.root)
    }
}
