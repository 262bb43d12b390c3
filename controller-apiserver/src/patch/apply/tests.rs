//! Apply against recorded conversations with a real server, and against a naive model.

mod leaf;
mod model;
mod random;
mod recorded;
mod rules;
mod worlds;
