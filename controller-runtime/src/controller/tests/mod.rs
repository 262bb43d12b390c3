//! The builder on the in-process API server.

mod owners;
mod streams;
mod together;
mod world;
