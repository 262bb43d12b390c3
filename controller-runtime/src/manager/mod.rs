//! What surrounds the controllers of one process: what is known of them, and how the outside learns it.
//!
//! - [`Board`] holds the state: each controller, each source, each live object.
//! - [`Readiness`] judges it.
//! - [`Informers`] lets controllers share their watches.
//! - [`Board::why`] explains why one object runs, or does not.
//! - [`StatusServer`] tells it over HTTP.
//!
//! No answer here asks the API server, so that the answers stay true when it is away.

pub(crate) mod access;
mod board;
mod controller;
#[cfg(feature = "probes")]
mod debug;
mod feed;
#[cfg(feature = "probes")]
mod here;
#[cfg(feature = "probes")]
mod http;
mod informers;
mod objects;
mod observe;
mod readiness;
mod review;
#[cfg(feature = "probes")]
mod reviewer;
mod status;
#[cfg(test)]
mod tests;
mod why;

pub use board::Board;
#[cfg(feature = "probes")]
pub use http::StatusServer;
pub use informers::Informers;
pub use readiness::Readiness;
#[cfg(feature = "probes")]
pub(crate) use reviewer::Reviewer;
pub use status::{
    ControllerStatus, Happening, ObjectId, ObjectStatus, OperatorStatus, Phase, QueueStatus, RunReport,
    RunResult, SourceId, SourceState, SourceStatus, UndecodableObject,
};
pub use why::NotKnown;
