//! The clients of an operator: one for its controllers, one for its lease.
//!
//! From the outside in, a controller's request passes the retries, the write gate, the limit on the rate and the counter. So a write that is tried again is
//! asked about again, and what is counted has left; one that had to wait for its turn is asked about once more below the limit. What comes back with 403 is told to the access check. The lease has a client without gate and without retries: the election decides
//! itself when to ask again.

use kube::{
    Client, Config,
    client::{Body, ClientBuilder, retry::RetryPolicy},
};
use tower::{BoxError, ServiceBuilder, retry::RetryLayer, service_fn};

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

/// A client that sends through `plain` and tells `refusals` the answers.
pub(super) fn heard(plain: Client, refusals: &Refusals) -> Client {
    let (namespace, refusals) = (plain.default_namespace().to_owned(), refusals.clone());
    let send = service_fn(move |request: http::Request<Body>| {
        let (plain, refusals) = (plain.clone(), refusals.clone());
        let (method, uri) = (request.method().clone(), request.uri().clone());
        async move {
            let answer = plain.send(request).await?;
            refusals.answered(&method, &uri, answer.status());
            Ok::<_, BoxError>(answer)
        }
    });
    Client::new(send, namespace)
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
    let below = gate.clone();
    let send = service_fn(move |request: http::Request<Body>| {
        let (plain, limit, gate) = (plain.clone(), limit.clone(), below.clone());
        let (method, uri) = (request.method().clone(), request.uri().clone());
        async move {
            if let Some(limit) = limit {
                limit.pass().await;
                // The leadership may have ended while the write waited for its turn.
                gate.lets(&method, uri.path())?;
            }
            Ok::<_, BoxError>(plain.send(request).await?)
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
    use std::{
        convert::Infallible,
        sync::{Arc, Mutex},
        time::Duration,
    };

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        time::Instant,
    };

    use super::*;
    use crate::{clock, leader::GateRefusal};

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

    /// The client's own retries are above the gate: what is tried again after the loss does not leave.
    #[tokio::test(start_paused = true)]
    async fn a_write_that_is_tried_again_asks_the_gate_again() {
        let left = Arc::new(Mutex::new(0));
        let noted = Arc::clone(&left);
        let gate = WriteGate::closed();
        let closes = gate.clone();
        let busy = service_fn(move |_: http::Request<Body>| {
            let mut left = noted.lock().expect("not poisoned");
            *left += 1;
            if *left == 2 {
                closes.close();
            }
            async {
                let answer = http::Response::builder().status(503).body(Body::empty());
                Ok::<_, Infallible>(answer.expect("an answer"))
            }
        });
        gate.pass_until(clock::now() + Duration::from_secs(3600));
        let plain = Client::new(busy, "default");
        let client = gated(plain, &gate, Some(RetryPolicy::server_retry()), None);
        let request = http::Request::builder()
            .method("PATCH")
            .uri("/api/v1/namespaces/a/pods/b");
        let refused = client.send(request.body(Body::empty()).expect("a request")).await;
        let kube::Error::Service(error) = refused.expect_err("it does not lead") else {
            panic!("not by the gate")
        };
        assert_eq!(error.downcast_ref(), Some(&GateRefusal::NotLeading));
        assert_eq!(*left.lock().expect("not poisoned"), 2);
    }

    /// Whatever the write, and however the leadership ends while it waits for its turn: only reads leave afterwards.
    #[tokio::test(start_paused = true)]
    async fn a_write_that_waits_for_its_turn_does_not_leave_after_the_lease_is_lost() {
        let left = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&left);
        let server = service_fn(move |request: http::Request<Body>| {
            noted.lock().expect("not poisoned").push(request.method().clone());
            async { Ok::<_, Infallible>(http::Response::new(Body::empty())) }
        });
        let plain = Client::new(server, "default");
        for method in ["POST", "PUT", "PATCH", "DELETE", "GET"] {
            let gate = WriteGate::closed();
            gate.pass_until(clock::now() + Duration::from_secs(60));
            let limit = RateLimit::new(0.1, 1).expect("a rate");
            let client = gated(plain.clone(), &gate, None, Some(limit));
            let send = || {
                let request = http::Request::builder()
                    .method(method)
                    .uri("/api/v1/namespaces/a/pods/b");
                client.send(request.body(Body::empty()).expect("a request"))
            };
            send().await.expect("the first leaves at once");
            let (second, ()) = tokio::join!(send(), async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                gate.close();
            });
            let reads = method == "GET";
            assert_eq!(second.is_ok(), reads, "{method}");
            assert_eq!(
                left.lock().expect("not poisoned").drain(..).count(),
                1 + usize::from(reads),
                "{method}"
            );
            if let Err(kube::Error::Service(refused)) = second {
                assert_eq!(refused.downcast_ref(), Some(&GateRefusal::NotLeading), "{method}");
            }
        }
    }
}
