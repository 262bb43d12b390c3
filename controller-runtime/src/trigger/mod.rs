//! Triggers: from a change of any object to the keys of the primaries that must run.
//!
//! A trigger is a function of a [`Delta`]. It looks at the object before *and* after the change, so that a
//! repointed owner, label or reference wakes both targets.

mod external;
mod mapped;
mod own;
mod owner;
pub mod predicate;
mod references;
mod request;
mod try_mapped;

#[cfg(test)]
mod tests;

pub use external::{bulk, external};
pub use mapped::mapped;
pub use own::own;
pub use owner::owner;
pub(crate) use owner::owners;
pub use predicate::Predicate;
pub use references::{Named, Names, References, Repointed};
pub use request::{Cause, Level, Request};
pub use try_mapped::{Mapped, TryMapped};

use crate::{
    object::{Object, ObjectRef},
    store::{Delta, DeltaCause},
};

/// A request that a change of a related object makes.
fn related<T: Object, K: Object>(delta: &Delta<T>, key: ObjectRef<K>) -> Request<K> {
    Request {
        key,
        level: match delta.cause {
            DeltaCause::Initial => Level::Initial,
            DeltaCause::Relist => Level::Bulk,
            DeltaCause::Watch => Level::Related,
        },
        cause: Cause::Related {
            kind: T::kind(&delta.key.dyntype).into_owned(),
            namespace: delta.key.namespace.clone(),
            name: delta.key.name.clone(),
        },
        uid: None,
        gone: false,
    }
}
