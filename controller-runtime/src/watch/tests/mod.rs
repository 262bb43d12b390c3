//! Informers under every fault, on a paused clock.

mod faults;
mod lists;
mod scripted;
mod server;
mod sources;
