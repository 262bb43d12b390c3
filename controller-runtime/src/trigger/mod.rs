//! Triggers: from a change of any object to the keys of the primaries that must run.

mod request;

pub use request::{Cause, Level, Request};
