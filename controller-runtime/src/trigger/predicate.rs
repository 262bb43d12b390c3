//! Predicates: which changes are worth a reconcile.
//!
//! They compare the object before and after. What is not a comparison of two states of one object (a new
//! object, a deletion, a new object under an old name) always passes.

use std::{fmt, sync::Arc};

use crate::{object::Object, store::Delta};

type Test<K> = Arc<dyn Fn(&K, &K) -> bool + Send + Sync>;

/// Decides whether a change passes.
pub struct Predicate<K> {
    test: Test<K>,
}

impl<K: Object> Predicate<K> {
    /// Passes when `differs(old, new)`.
    pub fn new(differs: impl Fn(&K, &K) -> bool + Send + Sync + 'static) -> Self {
        Self {
            test: Arc::new(differs),
        }
    }

    /// Whether a change passes.
    pub fn passes(&self, delta: &Delta<K>) -> bool {
        match (&delta.old, &delta.new) {
            (Some(old), Some(new)) => old.meta().uid != new.meta().uid || (self.test)(old, new),
            _ => true,
        }
    }

    /// Passes what any of these passes; with none of them, everything.
    pub fn any(predicates: impl IntoIterator<Item = Self>) -> Self {
        let all: Vec<_> = predicates.into_iter().collect();
        Self::new(move |old, new| all.is_empty() || all.iter().any(|predicate| (predicate.test)(old, new)))
    }

    /// Passes what all of these pass.
    pub fn all(predicates: impl IntoIterator<Item = Self>) -> Self {
        let all: Vec<_> = predicates.into_iter().collect();
        Self::new(move |old, new| all.iter().all(|predicate| (predicate.test)(old, new)))
    }

    /// Passes a change that `predicate` does not pass.
    #[expect(
        clippy::should_implement_trait,
        reason = "it is the word of the attribute's grammar"
    )]
    pub fn not(predicate: Self) -> Self {
        Self::new(move |old, new| !(predicate.test)(old, new))
    }
}

impl<K> Clone for Predicate<K> {
    fn clone(&self) -> Self {
        Self {
            test: Arc::clone(&self.test),
        }
    }
}

impl<K> fmt::Debug for Predicate<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predicate").finish_non_exhaustive()
    }
}

/// Passes a changed generation, and a deletion that has begun. A kind without generation passes every change.
pub fn generation<K: Object>() -> Predicate<K> {
    Predicate::new(|old: &K, new: &K| {
        let (old, new) = (old.meta(), new.meta());
        match (old.generation, new.generation) {
            (None, None) => old.resource_version != new.resource_version || new.resource_version.is_none(),
            (old_generation, generation) => {
                old_generation != generation || old.deletion_timestamp != new.deletion_timestamp
            }
        }
    })
}

/// Passes changed labels.
pub fn labels<K: Object>() -> Predicate<K> {
    Predicate::new(|old: &K, new: &K| {
        let (old, new) = (&old.meta().labels, &new.meta().labels);
        old.iter().flatten().ne(new.iter().flatten())
    })
}

/// Passes changed annotations.
pub fn annotations<K: Object>() -> Predicate<K> {
    Predicate::new(|old: &K, new: &K| {
        let (old, new) = (&old.meta().annotations, &new.meta().annotations);
        old.iter().flatten().ne(new.iter().flatten())
    })
}

/// Passes changed finalizers.
pub fn finalizers<K: Object>() -> Predicate<K> {
    Predicate::new(|old: &K, new: &K| {
        let (old, new) = (&old.meta().finalizers, &new.meta().finalizers);
        old.iter().flatten().ne(new.iter().flatten())
    })
}

/// Passes every change that has a new resourceVersion.
pub fn resource_version<K: Object>() -> Predicate<K> {
    Predicate::new(|old: &K, new: &K| old.meta().resource_version != new.meta().resource_version)
}
