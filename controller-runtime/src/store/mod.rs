//! The store: what a watch has seen, readable while it changes.
//!
//! [`Reflector`] writes, [`Store`] reads, [`Delta`] tells what changed.

mod cache;
mod delta;
mod index;
mod key;
mod readers;
mod ready;
mod reflector;
mod seat;
mod shared;
mod subscribers;
mod table;

#[cfg(test)]
mod tests;

pub use cache::Cache;
pub use delta::{Delta, DeltaCause};
pub use key::Key;
pub use readers::Store;
pub(crate) use readers::key_of;
pub use ready::NotReady;
pub(crate) use ready::Readiness;
pub use reflector::{Listing, Reflector};
pub use seat::{Found, Seat};
pub use subscribers::Subscription;
