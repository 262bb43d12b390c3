//! What a relation says besides its kind.

use crate::trigger::Predicate;

/// Selection and predicates of one relation, as `#[controller]` writes them.
#[derive(Debug)]
pub struct Options<T> {
    pub(super) labels: Option<String>,
    pub(super) fields: Option<String>,
    pub(super) predicates: Vec<(&'static str, Predicate<T>)>,
}

impl<T> Options<T> {
    /// Every object, every change.
    #[expect(clippy::new_without_default, reason = "only generated code makes one")]
    pub fn new() -> Self {
        Self {
            labels: None,
            fields: None,
            predicates: Vec::new(),
        }
    }

    /// Only objects with these labels.
    #[must_use]
    pub fn labels(mut self, selector: &str) -> Self {
        self.labels = Some(selector.to_owned());
        self
    }

    /// Only objects with these fields.
    #[must_use]
    pub fn fields(mut self, selector: &str) -> Self {
        self.fields = Some(selector.to_owned());
        self
    }

    /// Only changes that any of these passes.
    #[must_use]
    pub fn predicates<const N: usize>(mut self, predicates: [(&'static str, Predicate<T>); N]) -> Self {
        self.predicates = predicates.into();
        self
    }
}
