//! The guard against keys that run in circles: found by how they wait, slowed one by one, explained by the field that flaps.
//!
//! - `Guard` decides by timing alone, as pure data; the queue obeys it.
//! - `flapping` reads from the last changes of the key which field repeats, for people, and acquits what makes progress.
//! - [`HotLoop`] holds the limits.
//!
//! Own writes that the runtime knows of wake nobody anyway. What is left: two writers that do not agree, a write through a
//! plain client, something in the API server that changes what is written, a time in a status.
//!
//! Not promised: to find a circle that takes more than a second from a run to the change that answers it; it is not hot.

mod evidence;
mod guard;
mod limits;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, Hash};

use foldhash::quality::FixedState;

pub use evidence::{Flapping, FlappingField};
pub(crate) use evidence::{flapping, is_progress};
pub(crate) use guard::{Accusation, Guard, Number, Slowed};
pub use limits::HotLoop;

use crate::trigger::{Cause, Level};

/// After so many runs in a row numbers that only go on are no excuse any more.
pub(crate) const NO_PROGRESS: u32 = 400;

/// The number of a key.
pub(crate) fn number(key: &impl Hash) -> Number {
    FixedState::default().hash_one(key)
}

/// The number of the object whose change is the cause; `None` for what is no single change, or must not wait.
///
/// A primary's spec is told apart from the rest of it: a user who mends the spec is not who flaps the status.
pub(crate) fn object_of(cause: &Cause, level: Level) -> Option<Number> {
    let changed = matches!(cause, Cause::Updated | Cause::Related { .. });
    let answers = matches!(level, Level::Related | Level::Metadata | Level::Spec);
    (changed && answers).then(|| number(&(cause, level)))
}
