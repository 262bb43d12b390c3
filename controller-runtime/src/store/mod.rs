//! The store: what a watch has seen, readable while it changes.
//!
//! [`Reflector`] writes, [`Store`] reads, [`Delta`] tells what changed.

mod delta;
mod index;
mod key;
mod readers;
mod ready;
mod reflector;
mod subscribers;
mod table;

pub use delta::{Delta, DeltaCause};
pub use key::Key;
pub use readers::Store;
pub use ready::NotReady;
pub(crate) use ready::Readiness;
pub use reflector::{Listing, Reflector};
pub use subscribers::Subscription;
