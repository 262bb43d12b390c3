//! The clients of an operator: one for its controllers, one for its lease.
//!
//! From the outside in, a controller's request passes the retries, the write gate, the limit on the rate and the counter. So a write that is tried again is
//! asked about again, and what is counted has left. The lease has a client without gate and without retries: the election decides
//! itself when to ask again.

use kube::{
    Client, Config,
    client::{Body, ClientBuilder, retry::RetryPolicy},
};
use tower::{ServiceBuilder, retry::RetryLayer, service_fn};

use super::RateLimit;
use crate::{
    leader::{GateLayer, WriteGate},
    metrics::Metrics,
};

/// A client for the cluster of `config`, as plain as it gets: each request leaves once.
pub(super) fn plain(mut config: Config, metrics: &Metrics) -> kube::Result<Client> {
    config.default_retry = false;
    let host = config
        .cluster_url
        .authority()
        .map_or_else(String::new, ToString::to_string);
    Ok(ClientBuilder::try_from(config)?
        .with_layer(&metrics.client_layer(&host))
        .build())
}

/// A client that sends through `plain` and asks `gate` each time. With `retries`, what the server is too busy for is sent again; with
/// `limit`, requests leave at that rate at most.
pub(super) fn gated(
    plain: Client,
    gate: &WriteGate,
    retries: Option<RetryPolicy>,
    limit: Option<RateLimit>,
) -> Client {
    let namespace = plain.default_namespace().to_owned();
    let send = service_fn(move |request: http::Request<Body>| {
        let (plain, limit) = (plain.clone(), limit.clone());
        async move {
            // Below the gate: a write whose turn comes too late is dropped while it waits.
            if let Some(limit) = limit {
                limit.pass().await;
            }
            plain.send(request).await
        }
    });
    let service = ServiceBuilder::new()
        .option_layer(retries.map(RetryLayer::new))
        .layer(GateLayer::new(gate.clone()))
        .service(send);
    Client::new(service, namespace)
}
