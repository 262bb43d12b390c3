//! One registry for all controllers of a process.

use std::{fmt, sync::Arc};

use prometheus_client::{
    encoding::text,
    metrics::{family::Family, gauge::Gauge as Number, info::Info},
    registry::Registry,
};

use super::{
    client::{CountRequestsLayer, Requests},
    labels::{OfBuild, OfLease},
    process::Process,
    queues::Queues,
    reconciles::Reconciles,
};
use crate::{
    declare::Declaration,
    runner::{Event, Gauge, Observer},
};

/// The media type of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics of one operator. Clones share them.
///
/// ```
/// use controller_runtime::metrics::Metrics;
///
/// let metrics = Metrics::new("documents", "1.2.0");
/// metrics.set_leading("documents", true);
/// assert!(metrics.encode().contains(r#"leader_election_master_status{name="documents"} 1"#));
/// ```
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    reconciles: Reconciles,
    queues: Queues,
    requests: Requests,
    leading: Family<OfLease, Number>,
}

impl Metrics {
    /// The metrics of the operator `name` in this version.
    pub fn new(name: &str, version: &str) -> Self {
        let mut registry = Registry::default();
        let reconciles = Reconciles::register(&mut registry);
        let queues = Queues::register(&mut registry);
        let requests = Requests::default();
        registry.register(
            "rest_client_requests",
            "Requests to the API server",
            requests.clone(),
        );
        let leading = Family::default();
        registry.register(
            "leader_election_master_status",
            "1 if this process leads by the lease of this name",
            leading.clone(),
        );
        let build = OfBuild {
            operator: name.to_owned(),
            version: version.to_owned(),
            runtime_version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        registry.register("controller_runtime_build", "What runs", Info::new(build));
        registry.register_collector(Box::new(Process));
        Self {
            registry: Arc::new(registry),
            reconciles,
            queues,
            requests,
            leading,
        }
    }

    /// Makes all series of a controller, so that a rate is right from the first event on.
    pub fn expect(&self, declaration: &Declaration) {
        let kinds: Vec<_> = declaration
            .watched()
            .map(|watched| watched.resource.kind.as_str())
            .collect();
        self.reconciles
            .expect(&declaration.name, declaration.config.concurrency.into(), &kinds);
        self.queues.expect(&declaration.name);
    }

    /// A controller that has ended runs again.
    pub fn restarted(&self, controller: &str) {
        self.reconciles.restarted(controller);
    }

    /// Says whether this process leads by the lease `name`.
    pub fn set_leading(&self, name: &str, leads: bool) {
        self.leading
            .get_or_create(&OfLease {
                name: name.to_owned(),
            })
            .set(i64::from(leads));
    }

    /// A layer that counts the requests which a client sends to `host`.
    pub fn client_layer(&self, host: &str) -> CountRequestsLayer {
        CountRequestsLayer {
            requests: self.requests.clone(),
            host: host.to_owned(),
        }
    }

    /// All metrics as text, of the media type [`CONTENT_TYPE`].
    pub fn encode(&self) -> String {
        let mut buffer = String::new();
        if let Err(error) = text::encode(&mut buffer, &self.registry) {
            tracing::error!(%error, "metrics could not be written");
        }
        buffer
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Observer for Metrics {
    fn observe(&self, controller: &str, event: &Event<'_>) {
        match event {
            Event::Started(started) => self.queues.started(controller, started),
            Event::Finished(finished) => {
                self.queues.finished(controller, finished);
                self.reconciles.finished(controller, finished);
            }
            Event::Circle(_) => self.reconciles.circle(controller),
            Event::Source(change) => {
                self.reconciles.source(controller, change);
            }
            Event::MapperPanicked { .. } => self.reconciles.mapper_panicked(controller),
            _ => {}
        }
    }

    fn queue(&self, controller: &str, gauge: &Gauge) {
        self.queues.queue(controller, gauge);
    }
}
