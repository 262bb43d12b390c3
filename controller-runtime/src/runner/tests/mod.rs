//! The runner's promises, on a paused clock and over a store in memory.

mod hold;
mod isolation;
mod limit;
mod scale;
mod shutdown;
#[cfg(feature = "cli")]
mod spans;
mod threads;
mod timing;
mod world;
