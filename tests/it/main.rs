//! What runtime and server promise together: a module for each guarantee.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a failed expectation is a failed test"
)]

mod leader;
