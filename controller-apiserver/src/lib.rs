//! An in-process Kubernetes API server.
//!
//! It speaks the real wire protocol over one request path, in memory (a tower service under a
//! `kube::Client`) and over TCP. What it does not support it refuses; it never ignores.

pub mod access;
mod der;
pub mod patch;
pub mod schema;
pub mod status;
pub mod tls;
