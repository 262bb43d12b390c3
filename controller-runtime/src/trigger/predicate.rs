//! Predicates: which changes are worth a reconcile.
//!
//! They compare the object before and after. What is not a comparison of two states of one object always
//! passes: a new object, a deletion (done, or begun by a deletionTimestamp), a new object under an old name. So does the end of a
//! pause, and its beginning, so that both are seen.

use std::{fmt, sync::Arc};

use crate::{object::Object, pause::is_paused, store::Delta};

type Test<K> = Arc<dyn Fn(&K, &K) -> bool + Send + Sync>;

/// Decides whether a change passes.
///
/// ```
/// use controller_runtime::trigger::{Predicate, predicate};
/// use k8s_openapi::api::apps::v1::Deployment;
///
/// let spec_or_labels = Predicate::<Deployment>::any([predicate::generation(), predicate::labels()]);
/// let scaled = Predicate::new(|old: &Deployment, new: &Deployment| {
///     let replicas = |it: &Deployment| it.spec.replicas;
///     replicas(old) != replicas(new)
/// });
/// # let _ = (spec_or_labels, scaled);
/// ```
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
        let (Some(old), Some(new)) = (&delta.old, &delta.new) else {
            return true;
        };
        let (before, after) = (old.meta(), new.meta());
        before.uid != after.uid
            || before.deletion_timestamp != after.deletion_timestamp
            || is_paused(before) != is_paused(after)
            || (self.test)(old, new)
    }

    /// Passes what any of these passes; without any, everything.
    pub fn any(predicates: impl IntoIterator<Item = Self>) -> Self {
        let all: Vec<_> = predicates.into_iter().collect();
        Self::new(move |old, new| all.is_empty() || all.iter().any(|predicate| (predicate.test)(old, new)))
    }

    /// Passes what all of these pass; without any, everything.
    pub fn all(predicates: impl IntoIterator<Item = Self>) -> Self {
        let all: Vec<_> = predicates.into_iter().collect();
        Self::new(move |old, new| all.iter().all(|predicate| (predicate.test)(old, new)))
    }

    /// Passes a change that `predicate` does not pass.
    #[expect(
        clippy::should_implement_trait,
        reason = "the word of the attribute's grammar"
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

/// Passes a changed generation. A kind without generation (`ConfigMap`, `Secret`, …) passes every change.
pub fn generation<K: Object>() -> Predicate<K> {
    Predicate::new(
        |old: &K, new: &K| match (old.meta().generation, new.meta().generation) {
            (None, None) => differs(old, new),
            (before, after) => before != after,
        },
    )
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
    Predicate::new(differs)
}

/// An object without a resourceVersion cannot be told to be unchanged.
fn differs<K: Object>(old: &K, new: &K) -> bool {
    let (old, new) = (&old.meta().resource_version, &new.meta().resource_version);
    new.is_none() || old != new
}
