//! Watching: from an API server to a store that is equal to it, and to the changes on the way.
//!
//! [`Informer`] is the handle. Inside, each source (one kind in one namespace, or in all) has a list/watch
//! core, a state machine that is told what happened and says what to do, and a shell that does it.

mod config;
mod core;
mod failure;
mod fault;
mod informer;
mod slim;
mod source;
mod status;
mod transport;
mod unreadable;
mod wire;

#[cfg(test)]
mod tests;

pub use config::{Config, Pruning, StreamingLists};
pub use informer::Informer;
pub use status::{Phase, Problem, Source, SourceStatus, Undecodable, Verb};
