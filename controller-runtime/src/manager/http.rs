//! `/livez`, `/readyz`, `/metrics`, `/status`, `/status/events`, `/debug` over HTTP.
//!
//! Bound before anything else, so that a probe never meets a closed port. Nothing here asks the API server. Liveness is the
//! answer itself: a process whose runtime no longer turns does not give one.
//!
//! What tells of objects by name, or why they fail, is answered to this machine only: `/readyz` tells others how many.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::StreamExt;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Body as _, Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{Board, Reviewer, debug, here::is_from_here, readiness::Asker, reviewer::Verdict};
use crate::metrics::{CONTENT_TYPE, Metrics};

/// More clients than this wait for a place: probes and a few people need no more.
const CONNECTIONS: usize = 64;
/// So many of them may listen to what happens, which they do for as long as they like.
const LISTENERS: usize = 8;
/// Any other connection is asked to end after this time, so that its place comes back to the probes.
const CONNECTION_LIMIT: Duration = Duration::from_secs(10);
/// So long an answer under way may take to be read then.
const GRACE: Duration = Duration::from_secs(20);
/// A client that does not send its request within this time is left.
const HEADER_LIMIT: Duration = Duration::from_secs(10);

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A bound port that tells of one operator.
#[derive(Debug)]
pub struct StatusServer {
    listener: TcpListener,
    board: Board,
    metrics: Metrics,
    /// Who says who may read `/metrics`, once there is a client; `None` lets everybody.
    reviewer: Option<Arc<OnceLock<Reviewer>>>,
}

impl StatusServer {
    /// Binds the port; port 0 takes a free one.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn bind(address: SocketAddr, board: Board, metrics: Metrics) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self {
            listener,
            board,
            metrics,
            reviewer: None,
        })
    }

    /// Shows `/metrics` only to whom the reviewer lets, and to nobody before there is one.
    pub(crate) fn protect_metrics(mut self, reviewer: Arc<OnceLock<Reviewer>>) -> Self {
        self.reviewer = Some(reviewer);
        self
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until dropped.
    pub async fn serve(self) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let listeners = Arc::new(Semaphore::new(LISTENERS));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else {
                return;
            };
            let (stream, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file handles, most likely: others will be closed.
                    tracing::warn!(%error, "cannot accept a connection to the status endpoint");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let site = Site {
                board: self.board.clone(),
                metrics: self.metrics.clone(),
                reviewer: self.reviewer.clone(),
                listeners: Arc::clone(&listeners),
            };
            tokio::spawn(async move {
                let _place = place;
                site.converse(stream, peer).await;
            });
        }
    }
}

/// What one connection is answered from.
struct Site {
    board: Board,
    metrics: Metrics,
    reviewer: Option<Arc<OnceLock<Reviewer>>>,
    listeners: Arc<Semaphore>,
}

impl Site {
    /// Answers a client until it goes away; one that does not listen to what happens, no longer than the limits.
    async fn converse(self, stream: impl AsyncRead + AsyncWrite + Unpin, peer: SocketAddr) {
        let listens = AtomicBool::new(false);
        let service = service_fn(async |request: Request<Incoming>| {
            if let Some(refusal) = refusal(self.reviewer.as_deref(), &request).await {
                return Ok(refusal);
            }
            let answer = answer(&self.board, &self.metrics, &self.listeners, &request, peer);
            let endless = answer.body().size_hint().exact().is_none();
            listens.fetch_or(endless, Ordering::Relaxed);
            Ok::<_, Infallible>(answer)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_LIMIT)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        // How it ends is the client's own business, also when it goes away in the middle.
        if timeout(CONNECTION_LIMIT, &mut connection).await.is_ok() {
            return;
        }
        if listens.load(Ordering::Relaxed) {
            let _ = connection.await;
            return;
        }
        connection.as_mut().graceful_shutdown();
        let _ = timeout(GRACE, connection).await;
    }
}

/// What is answered to whom the metrics are not shown.
async fn refusal(
    reviewer: Option<&OnceLock<Reviewer>>,
    request: &Request<Incoming>,
) -> Option<Response<Body>> {
    let reviewer = reviewer.filter(|_| request.uri().path() == "/metrics")?;
    let Some(reviewer) = reviewer.get() else {
        return Some(text(
            StatusCode::SERVICE_UNAVAILABLE,
            "still starting: nobody can be asked who you are\n",
        ));
    };
    let header = request.headers().get(header::AUTHORIZATION);
    match reviewer.judge(header.and_then(|value| value.to_str().ok())).await {
        Ok(Verdict::Allowed) => None,
        Ok(Verdict::Unknown) => Some(text(
            StatusCode::UNAUTHORIZED,
            "metrics are protected: send a token of the cluster as `Authorization: Bearer …`\n",
        )),
        Ok(Verdict::Forbidden) => Some(text(
            StatusCode::FORBIDDEN,
            "metrics are protected: you lack the right to get the path /metrics\n",
        )),
        Ok(Verdict::Busy) => Some(text(
            StatusCode::TOO_MANY_REQUESTS,
            "metrics are protected, and too many new tokens were shown: try again in a moment\n",
        )),
        Err(error) => {
            tracing::warn!(%error, "the API server does not say who may read /metrics");
            Some(text(
                StatusCode::SERVICE_UNAVAILABLE,
                "the API server does not say whether you may\n",
            ))
        }
    }
}

fn answer<B>(
    board: &Board,
    metrics: &Metrics,
    listeners: &Arc<Semaphore>,
    request: &Request<B>,
    peer: SocketAddr,
) -> Response<Body> {
    let method = request.method();
    if method != Method::GET && method != Method::HEAD {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here\n");
    }
    let path = request.uri().path();
    let asker = if is_from_here(request, peer) {
        Asker::Here
    } else {
        Asker::Elsewhere
    };
    if is_for_here(path) && asker != Asker::Here {
        return text(
            StatusCode::FORBIDDEN,
            format!(
                "{path} is answered on loopback only: try `kubectl port-forward` and http://localhost:…{path}\n"
            ),
        );
    }
    match path {
        "/livez" | "/healthz" => text(StatusCode::OK, "ok\n"),
        "/readyz" => {
            let readiness = board.readiness_for(asker);
            let code = if readiness.is_ready() {
                StatusCode::OK
            } else {
                StatusCode::SERVICE_UNAVAILABLE
            };
            text(code, readiness.to_string())
        }
        "/metrics" => respond(StatusCode::OK, CONTENT_TYPE, full(metrics.encode())),
        "/status" => json(board),
        "/status/events" => match Arc::clone(listeners).try_acquire_owned() {
            Ok(place) => events(board, place),
            Err(_) => text(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("{LISTENERS} listen already, and no more can: end one of them\n"),
            ),
        },
        path if path == "/debug" || path.starts_with("/debug/") => {
            let (code, kind, body) = debug::answer(board, request.uri());
            respond(code, kind, full(body))
        }
        _ => text(
            StatusCode::NOT_FOUND,
            "here are /livez, /readyz, /metrics and, on loopback, /status, /status/events, /debug\n",
        ),
    }
}

/// What tells of objects.
fn is_for_here(path: &str) -> bool {
    let below = |root: &str| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    below("/status") || below("/debug")
}

fn text(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    respond(code, "text/plain; charset=utf-8", full(text))
}

fn json(board: &Board) -> Response<Body> {
    match serde_json::to_vec(&board.status()) {
        Ok(body) => respond(StatusCode::OK, "application/json", full(body)),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// What happens, for as long as the client listens; the place is given back with the body.
fn events(board: &Board, place: OwnedSemaphorePermit) -> Response<Body> {
    let lines = futures::stream::unfold((board.listen(), place), |(mut listener, place)| async {
        let line = listener.next().await?;
        Some((line, (listener, place)))
    });
    let body = StreamBody::new(lines.map(|line| Ok(Frame::data(line))));
    respond(StatusCode::OK, "application/x-ndjson", body.boxed_unsync())
}

fn full(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).boxed_unsync()
}

fn respond(code: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let kind = header::HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::{
        declare::{Declaration, Namespaces, Watched},
        runner::{Event, Observer, SourceChange},
        watch::Undecodable,
    };

    fn code(path: &str, host: &str, peer: [u8; 4]) -> StatusCode {
        let request = Request::get(path)
            .header(header::HOST, host)
            .body(())
            .expect("a request");
        let (board, metrics) = (Board::new("documents"), Metrics::new("documents", "1.0.0"));
        let listeners = Arc::new(Semaphore::new(1));
        answer(&board, &metrics, &listeners, &request, (peer, 40_000).into()).status()
    }

    /// Names of objects and why they fail are for this machine; what probes and scrapers read is for all.
    #[tokio::test(start_paused = true)]
    async fn what_tells_of_objects_is_answered_on_loopback_only() {
        let (near, far) = ([127, 0, 0, 1], [10, 0, 0, 7]);
        for path in [
            "/status",
            "/status/",
            "/status/events",
            "/debug",
            "/debug/why?controller=a&object=b",
        ] {
            assert_eq!(code(path, "10.0.0.1:8080", far), StatusCode::FORBIDDEN, "{path}");
            assert_eq!(code(path, "localhost", far), StatusCode::FORBIDDEN, "{path}");
            assert_eq!(code(path, "evil.example", near), StatusCode::FORBIDDEN, "{path}");
            assert_ne!(
                code(path, "localhost:8080", near),
                StatusCode::FORBIDDEN,
                "{path}"
            );
        }
        for path in ["/livez", "/healthz", "/metrics"] {
            assert_eq!(code(path, "10.0.0.1:8080", far), StatusCode::OK, "{path}");
        }
    }

    /// A probe logs what it reads, and anyone may ask.
    #[tokio::test(start_paused = true)]
    async fn readiness_names_objects_to_this_machine_only() {
        let board = Board::new("documents");
        let declaration = Declaration::new("document", Watched::new::<ConfigMap>(&()));
        board.expect(&declaration, &Namespaces::All);
        let what = Undecodable {
            uid: None,
            resource_version: None,
            message: "data.a: invalid type".to_owned(),
        };
        let change = SourceChange {
            kind: "ConfigMap",
            namespace: None,
            problem: None,
            synced: true,
            relists: 0,
            undecodable: &[((Some("docs".to_owned()), "secret-plan".to_owned()), what)].into(),
        };
        board.observe("document", &Event::Source(change));
        board.observe("document", &Event::Synced);
        for (peer, named) in [([127, 0, 0, 1], true), ([10, 0, 0, 7], false)] {
            let request = Request::get("/readyz").body(()).expect("a request");
            let (metrics, listeners) = (Metrics::new("documents", "1.0.0"), Arc::new(Semaphore::new(1)));
            let answer = answer(&board, &metrics, &listeners, &request, (peer, 40_000).into());
            assert_eq!(answer.status(), StatusCode::OK);
            let body = answer.into_body().collect().await.expect("a body").to_bytes();
            let body = String::from_utf8_lossy(&body);
            assert_eq!(body.contains("secret-plan"), named, "{body}");
            assert_eq!(body.contains("ConfigMap: 1 cannot be decoded"), !named, "{body}");
        }
    }

    /// Whoever asks and does not read, or says nothing, is left in time; who listens is not.
    #[tokio::test(start_paused = true)]
    async fn a_place_comes_back_from_everyone_but_a_listener() {
        for (request, stays) in [
            ("", false),
            ("GET /livez HTTP/1.1\r\n", false),
            ("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n", false),
            ("GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n", false),
            ("GET /status/events HTTP/1.1\r\nhost: localhost\r\n\r\n", true),
        ] {
            let site = Site {
                board: Board::new("documents"),
                metrics: Metrics::new("documents", "1.0.0"),
                reviewer: None,
                listeners: Arc::new(Semaphore::new(1)),
            };
            // The answers do not fit in, and nobody reads them.
            let (mut client, server) = tokio::io::duplex(64);
            client.write_all(request.as_bytes()).await.expect("it fits");
            let conversation = site.converse(server, ([127, 0, 0, 1], 40_000).into());
            let ended = timeout(CONNECTION_LIMIT + GRACE, conversation).await.is_ok();
            assert_eq!(ended, !stays, "{request}");
        }
    }
}
