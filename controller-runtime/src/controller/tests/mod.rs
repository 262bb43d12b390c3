//! The builder on the in-process API server.

mod owners;
mod sources;
mod streams;
mod together;
mod world;
