//! Why did it run? Why did it not? What came for each object, and what became of it, ready to be asked for.
//!
//! - The `Book` is written by the triggers: each change that woke a key, was held, was the key's own write, or was dropped by
//!   predicates, with the paths of the fields that changed. It holds the last few for each live key, and no value of any field.
//! - [`Explainer`] reads it together with the queue, for one object at one moment; [`Why`] is the whole answer, as data.
//!
//! The first list is no change and costs nothing. What is promised is bounded memory and a bounded share of the processor: in
//! a storm of changes the fields of only some are compared, and the answer says so.

mod book;
#[cfg(test)]
mod cost_tests;
mod fields;
mod ledger;
mod reader;
mod why;

pub(crate) use book::{Book, PRIMARY, Via};
#[cfg(test)]
pub(crate) use fields::Fields;
pub(crate) use fields::{Field, of_metadata, whole};
pub(crate) use ledger::{Change, Fate};
#[cfg(test)]
pub(crate) use ledger::{Relation, What};
pub use reader::Explainer;
pub(crate) use reader::{Known, Looked, Reader, Told};
pub(crate) use why::millis;
pub use why::{ChangeReport, Held, KeyState, SlowedReport, Why};
