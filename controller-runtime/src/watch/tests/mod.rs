//! Informers under every fault, on a paused clock.

mod days;
mod faults;
mod lists;
mod random;
mod scripted;
mod server;
mod sources;
