//! Informers under every fault, on a paused clock.

mod faults;
mod lists;
mod random;
mod scripted;
mod server;
mod sources;
