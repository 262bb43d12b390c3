//! Annotated functions against the in-process API server.

mod world;

mod children;
mod wiring;
