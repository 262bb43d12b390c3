//! Telling whether a value is what it was before.
//!
//! Source: KEP-4008. What was wrong before and did not change may stay. Members of objects belong
//! together by name, elements of lists only by the keys of a list of type map; below what does
//! not, the nearest value above that does decides.

use serde_json::Value;

use super::node::{ListType, Node};

/// A value, and what it replaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unchanged<'a> {
    /// The value here, and the old one, if it can be told which.
    here: Option<(&'a Value, &'a Value)>,
    /// The nearest value above of which it can be told.
    above: Option<(&'a Value, &'a Value)>,
}

impl<'a> Unchanged<'a> {
    pub(crate) fn root(new: &'a Value, old: Option<&'a Value>) -> Self {
        Self {
            here: old.map(|old| (new, old)),
            above: None,
        }
    }

    /// A member of an object.
    pub(crate) fn member(&self, key: &str, new: &'a Value) -> Self {
        self.below(new, self.here.and_then(|(_, old)| old.get(key)))
    }

    /// An element of a list of which `node` is the schema.
    pub(crate) fn element(&self, new: &'a Value, node: &Node) -> Self {
        let old = self.here.filter(|_| node.extensions.list_type == ListType::Map);
        self.below(
            new,
            old.and_then(|(_, old)| node.same_element(new, old.as_array()?)),
        )
    }

    fn below(&self, new: &'a Value, old: Option<&'a Value>) -> Self {
        if self.here.is_none() {
            return *self;
        }
        Self {
            here: old.map(|old| (new, old)),
            above: self.here,
        }
    }

    /// True if the value, or the nearest above it that can be compared, is as it was.
    pub(crate) fn holds(&self) -> bool {
        self.here.or(self.above).is_some_and(|(new, old)| new == old)
    }
}
