//! What runtime and server promise together, on paused time: a module for each guarantee.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a failed expectation is a failed test"
)]

mod bad_input;
mod caches;
mod churn;
mod debug_page;
mod depth;
mod determinism;
mod everyone;
mod explain;
mod faults;
mod ghosts;
mod history;
mod hot_loop;
mod isolation;
mod kubectl;
mod last_event;
mod leader;
mod load;
mod manager;
mod quiescence;
mod rbac;
mod readiness;
mod requeue;
mod world;
