//! The runner's promises, on a paused clock and over a store in memory.

mod hold;
mod isolation;
mod scale;
mod shutdown;
mod timing;
mod world;
