//! Reads: one object, or a list of them.

mod get;
mod list;
mod page;
pub(crate) mod revision;
