//! The clients of an operator: one for its controllers, one for its lease.
//!
//! From the outside in, a controller's request passes the retries, the write gate, the limit on the rate and the counter. So a write that is tried again is
//! asked about again, and what is counted has left. What comes back with 403 is told to the access check. The lease has a client without gate and without retries: the election decides
//! itself when to ask again.

use kube::{
    Client, Config,
    client::{Body, ClientBuilder, retry::RetryPolicy},
};
use tower::{ServiceBuilder, retry::RetryLayer, service_fn};

use super::RateLimit;
use crate::{
    leader::{GateLayer, WriteGate},
    manager::access::Refusals,
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

/// A client that sends through `plain`, asks `gate` each time and tells `refusals` the answers. With `retries`, what the server is too busy for is sent again; with
/// `limit`, requests leave at that rate at most.
pub(super) fn gated(
    plain: Client,
    gate: &WriteGate,
    retries: Option<RetryPolicy>,
    limit: Option<RateLimit>,
    refusals: &Refusals,
) -> Client {
    let namespace = plain.default_namespace().to_owned();
    let refusals = refusals.clone();
    let send = service_fn(move |request: http::Request<Body>| {
        let (plain, limit, refusals) = (plain.clone(), limit.clone(), refusals.clone());
        let (method, uri) = (request.method().clone(), request.uri().clone());
        async move {
            // Below the gate: a write whose turn comes too late is dropped while it waits.
            if let Some(limit) = limit {
                limit.pass().await;
            }
            let answer = plain.send(request).await?;
            refusals.answered(&method, &uri, answer.status());
            Ok::<_, kube::Error>(answer)
        }
    });
    let service = ServiceBuilder::new()
        .option_layer(retries.map(RetryLayer::new))
        .layer(GateLayer::new(gate.clone()))
        .service(send);
    Client::new(service, namespace)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        time::Instant,
    };

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20 * 60);

    /// Answers one request, after a long time.
    async fn answer_late(listener: TcpListener) {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        tokio::time::sleep(PATIENCE).await;
        let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"late"}}"#;
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all((head + body).as_bytes()).await.unwrap();
    }

    /// kube-rs/kube#1945: a watch that is silent for too long is given up by its own clock. Were it by a limit on all that the
    /// client reads, this call would fail with it. Time is paused: it jumps to whichever limit comes first.
    #[tokio::test(start_paused = true)]
    async fn a_call_that_takes_long_is_not_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut config = Config::new(url.parse().unwrap());
        config.connect_timeout = None;
        let plain = plain(config, &Metrics::new("test", "0")).unwrap();
        let client = gated(plain, &WriteGate::open(), None, None);
        tokio::spawn(answer_late(listener));
        let asked = Instant::now();
        let map = Api::<ConfigMap>::namespaced(client, "docs")
            .get("late")
            .await
            .unwrap();
        assert_eq!(map.metadata.name.as_deref(), Some("late"));
        assert!(asked.elapsed() >= PATIENCE);
    }
}
