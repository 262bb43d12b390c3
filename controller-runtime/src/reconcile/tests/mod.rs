//! Annotated functions against the in-process API server.

#![allow(clippy::unused_async, reason = "a reconcile function is async")]

mod world;

mod children;
mod lifecycle;
mod own_writes;
mod races;
mod references;
mod refusals;
mod relations;
mod stale;
mod threads;
mod wiring;
