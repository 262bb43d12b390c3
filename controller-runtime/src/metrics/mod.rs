//! Metrics: what the controllers of one process do, in numbers.
//!
//! Names, labels and buckets are Go controller-runtime's where it has the metric, so that dashboards made for it work. Every label value is
//! known from the start: a series exists with 0 before anything happens, and there is none per object.
//!
//! [`Metrics`] is an [`Observer`](crate::runner::Observer): give it to the controllers, and [`Metrics::encode`] to whoever scrapes.

mod client;
#[cfg(test)]
mod dashboard_tests;
mod labels;
mod process;
mod queues;
mod reconciles;
mod registry;
#[cfg(test)]
mod tests;

pub use client::{CountRequests, CountRequestsLayer};
pub use registry::{CONTENT_TYPE, Metrics};
