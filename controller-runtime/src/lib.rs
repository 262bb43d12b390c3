//! Kubernetes controllers: watcher, reflector, triggers, queue and runner.

pub mod clock;
pub mod object;
pub mod store;
pub mod trigger;
