//! An in-process Kubernetes API server.
//!
//! It speaks the real wire protocol over one request path, in memory (a tower service under a
//! `kube::Client`) and over TCP. What it does not support it refuses; it never ignores.
//!
//! [`Server`] is the handle to all of it: a client, a socket, the [journal](Server::journal) of what
//! was asked, [faults](Server::faults), and [`settle`](Server::settle) and
//! [`advance`](Server::advance) for tests on a paused clock.

pub mod access;
mod builtin;
mod call;
mod clock;
mod codec;
mod controllers;
mod defaults;
mod der;
mod discovery;
mod fault;
mod journal;
mod object;
mod openapi;
pub mod patch;
mod read;
mod registry;
mod rights;
pub mod schema;
mod select;
mod server;
mod state;
pub mod status;
mod storage;
mod table;
pub mod tls;
mod view;
mod watch;
mod write;

pub use call::Verb;
pub use controllers::workloads::PodFate;
pub use fault::{Fault, FaultId, Faults, When};
pub use journal::{Entry, Journal};
pub use rights::Right;
pub use server::{
    Body, Disconnected, InstallError, ProbeGuard, RestoreError, Server, ServerBuilder, Service, SettleError,
    Workloads,
};

/// The examples of README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
