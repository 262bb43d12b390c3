//! The store: what a watch has seen, readable while it changes.

mod delta;

pub use delta::{Delta, DeltaCause};
