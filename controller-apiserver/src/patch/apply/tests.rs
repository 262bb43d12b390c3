//! Apply against recorded conversations with a real server, and against a naive model.

mod model;
mod recorded;
mod rules;
