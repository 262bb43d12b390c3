//! Kubernetes controllers: watcher, reflector, triggers, queue and runner.

pub mod clock;
pub mod declare;
pub mod object;
pub mod reconcile;
pub mod store;
pub mod trigger;
