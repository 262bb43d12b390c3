//! The write gate: no mutating request leaves this process after its leadership may have ended.
//!
//! It belongs *below* the client's retries, so that a write begun as leader and tried again after the loss does not leave either.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use http::{Method, Request, Response};
use tokio::time::{Instant, timeout_at};
use tower::{BoxError, Layer, Service};

use crate::clock;

/// What the gate lets through. Pure: `now` is an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// Everything: there is no election.
    Open,
    /// Reads only.
    Closed,
    /// Writes too, before this moment.
    Until(Instant),
}

impl Passage {
    /// When a write that leaves now must be over; `None` for never.
    pub(super) fn limit(self, now: Instant) -> Result<Option<Instant>, GateRefusal> {
        match self {
            Self::Open => Ok(None),
            Self::Until(deadline) if now < deadline => Ok(Some(deadline)),
            Self::Until(_) | Self::Closed => Err(GateRefusal::NotLeading),
        }
    }
}

/// Lets mutating requests pass only while this process may write. Clones share one state.
///
/// ```
/// use controller_runtime::leader::WriteGate;
///
/// let gate = WriteGate::closed();
/// assert!(gate.check().is_err());
/// ```
#[derive(Clone, Debug)]
pub struct WriteGate {
    passage: Arc<Mutex<Passage>>,
}

/// Why a write did not leave, or was given up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GateRefusal {
    /// This process does not lead.
    #[error("write refused: this process is not the leader (any more)")]
    NotLeading,
    /// The answer did not come before the leadership may have ended.
    #[error("write given up: its answer did not come before this process's leadership may have ended")]
    DeadlinePassed,
}

impl WriteGate {
    /// A gate for a process without election: everything passes, always.
    pub fn open() -> Self {
        Self {
            passage: Arc::new(Mutex::new(Passage::Open)),
        }
    }

    /// A gate for a process that does not lead yet.
    pub fn closed() -> Self {
        Self {
            passage: Arc::new(Mutex::new(Passage::Closed)),
        }
    }

    /// Writes pass before `deadline`.
    pub fn pass_until(&self, deadline: Instant) {
        self.set(Passage::Until(deadline));
    }

    /// No write passes from now on.
    pub fn close(&self) {
        self.set(Passage::Closed);
    }

    /// Whether a write may leave now.
    ///
    /// # Errors
    ///
    /// [`GateRefusal::NotLeading`] when it may not.
    pub fn check(&self) -> Result<(), GateRefusal> {
        self.limit().map(|_| ())
    }

    /// When a request that leaves now must be over; `None` for never. Reads pass always.
    ///
    /// # Errors
    /// [`GateRefusal::NotLeading`] when it may not leave.
    pub(crate) fn lets(&self, method: &Method, path: &str) -> Result<Option<Instant>, GateRefusal> {
        if is_mutating(method, path) {
            self.limit()
        } else {
            Ok(None)
        }
    }

    /// When a write that leaves now must be over; `None` for never.
    fn limit(&self) -> Result<Option<Instant>, GateRefusal> {
        let passage = *self.passage.lock().unwrap_or_else(PoisonError::into_inner);
        passage.limit(clock::now())
    }

    /// Waits for the answer of a write, for as long as this process may write: a renewal meanwhile gives it more time.
    async fn until_over<T>(
        &self,
        mut deadline: Instant,
        answer: impl Future<Output = T>,
    ) -> Result<T, GateRefusal> {
        let mut answer = std::pin::pin!(answer);
        loop {
            if let Ok(answer) = timeout_at(deadline, &mut answer).await {
                return Ok(answer);
            }
            match self.limit() {
                Ok(Some(later)) => deadline = later,
                Ok(None) => return Ok(answer.await),
                Err(_) => return Err(GateRefusal::DeadlinePassed),
            }
        }
    }

    fn set(&self, passage: Passage) {
        *self.passage.lock().unwrap_or_else(PoisonError::into_inner) = passage;
    }
}

/// A write by its method, but for the reviews, which store nothing and which a standby asks too.
fn is_mutating(method: &Method, path: &str) -> bool {
    let reads = [Method::GET, Method::HEAD, Method::OPTIONS];
    let review =
        path.starts_with("/apis/authorization.k8s.io/") || path.starts_with("/apis/authentication.k8s.io/");
    !reads.contains(method) && !review
}

/// Puts a [`WriteGate`] around a client's service.
#[derive(Clone, Debug)]
pub struct GateLayer {
    gate: WriteGate,
}

impl GateLayer {
    /// A layer that asks `gate` before each mutating request.
    pub fn new(gate: WriteGate) -> Self {
        Self { gate }
    }
}

impl<S> Layer<S> for GateLayer {
    type Service = GatedService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        GatedService {
            gate: self.gate.clone(),
            inner,
        }
    }
}

/// A service behind a [`WriteGate`].
#[derive(Clone, Debug)]
pub struct GatedService<S> {
    gate: WriteGate,
    inner: S,
}

impl<S, B, R> Service<Request<B>> for GatedService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    R: Send + 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let limit = match self.gate.lets(request.method(), request.uri().path()) {
            Ok(limit) => limit,
            Err(refusal) => return Box::pin(async move { Err(refusal.into()) }),
        };
        let (gate, answer) = (self.gate.clone(), self.inner.call(request));
        Box::pin(async move {
            match limit {
                None => answer.await.map_err(Into::into),
                Some(deadline) => gate.until_over(deadline, answer).await?.map_err(Into::into),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use tower::{
        ServiceBuilder, ServiceExt,
        retry::{Policy, RetryLayer},
        service_fn,
    };

    use super::*;

    fn request(method: Method, path: &str) -> Request<()> {
        Request::builder()
            .method(method)
            .uri(path)
            .body(())
            .expect("a valid request")
    }

    #[tokio::test(start_paused = true)]
    async fn writes_pass_only_before_the_deadline_and_reads_always() {
        let gate = WriteGate::closed();
        let service = ServiceBuilder::new()
            .layer(GateLayer::new(gate.clone()))
            .service(service_fn(|_: Request<()>| async {
                Ok::<_, BoxError>(Response::new(()))
            }));
        let send = |method, path| service.clone().oneshot(request(method, path));

        assert!(send(Method::GET, "/api/v1/pods").await.is_ok());
        assert!(
            send(
                Method::POST,
                "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
            )
            .await
            .is_ok()
        );
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let refused = send(method, "/api/v1/pods").await.expect_err("not leading");
            assert_eq!(refused.downcast_ref(), Some(&GateRefusal::NotLeading));
        }
        gate.pass_until(clock::now() + Duration::from_secs(12));
        assert!(send(Method::PATCH, "/api/v1/pods").await.is_ok());
        tokio::time::advance(Duration::from_secs(12)).await;
        assert!(send(Method::PATCH, "/api/v1/pods").await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_hangs_is_given_up_at_the_deadline() {
        let gate = WriteGate::closed();
        let service = ServiceBuilder::new()
            .layer(GateLayer::new(gate.clone()))
            .service(service_fn(|_: Request<()>| {
                std::future::pending::<Result<Response<()>, BoxError>>()
            }));
        let start = clock::now();
        gate.pass_until(start + Duration::from_secs(12));
        let given_up = service
            .oneshot(request(Method::PUT, "/api/v1/pods/a"))
            .await
            .expect_err("nobody answers");
        assert_eq!(given_up.downcast_ref(), Some(&GateRefusal::DeadlinePassed));
        assert_eq!(clock::now() - start, Duration::from_secs(12));
    }

    /// A webhook may take longer than a lease: a leader that is well waits for it.
    #[tokio::test(start_paused = true)]
    async fn a_renewal_gives_a_write_that_is_under_way_more_time() {
        let slow = service_fn(|_: Request<()>| async {
            tokio::time::sleep(Duration::from_secs(25)).await;
            Ok::<_, BoxError>(Response::new(()))
        });
        for (renewals, answered) in [(3, true), (1, false)] {
            let gate = WriteGate::closed();
            let service = ServiceBuilder::new()
                .layer(GateLayer::new(gate.clone()))
                .service(slow);
            let start = clock::now();
            gate.pass_until(start + Duration::from_secs(10));
            let (answer, ()) = tokio::join!(service.oneshot(request(Method::PUT, "/api/v1/pods/a")), async {
                for renewal in 1..=renewals {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    gate.pass_until(start + Duration::from_secs(renewal * 5 + 10));
                }
            });
            assert_eq!(answer.is_ok(), answered, "{renewals} renewals: {answer:?}");
            if !answered {
                assert_eq!(clock::now() - start, Duration::from_secs(15));
            }
        }
        // Taken by force: what is under way is given up when its time is over, as before.
        let gate = WriteGate::closed();
        gate.pass_until(clock::now() + Duration::from_secs(10));
        let service = ServiceBuilder::new()
            .layer(GateLayer::new(gate.clone()))
            .service(slow);
        let (answer, ()) = tokio::join!(service.oneshot(request(Method::PUT, "/api/v1/pods/a")), async {
            gate.close();
        });
        let given_up = answer.expect_err("it does not lead");
        assert_eq!(given_up.downcast_ref(), Some(&GateRefusal::DeadlinePassed));
    }

    /// Tries again every five seconds, whatever the error.
    #[derive(Clone)]
    struct Stubborn;

    impl<R> Policy<Request<()>, R, BoxError> for Stubborn {
        type Future = tokio::time::Sleep;

        fn retry(&mut self, _: &mut Request<()>, result: &mut Result<R, BoxError>) -> Option<Self::Future> {
            let refused = result
                .as_ref()
                .err()
                .is_some_and(|error| error.is::<GateRefusal>());
            (result.is_err() && !refused).then(|| tokio::time::sleep(Duration::from_secs(5)))
        }

        fn clone_request(&mut self, _: &Request<()>) -> Option<Request<()>> {
            Some(request(Method::PUT, "/api/v1/pods/a"))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_begun_as_leader_and_retried_after_the_loss_does_not_leave() {
        let gate = WriteGate::closed();
        gate.pass_until(clock::now() + Duration::from_secs(12));
        let left = Arc::new(AtomicUsize::new(0));
        let seen = left.clone();
        let service = ServiceBuilder::new()
            .layer(RetryLayer::new(Stubborn))
            .layer(GateLayer::new(gate))
            .service(service_fn(move |_: Request<()>| {
                seen.fetch_add(1, Ordering::SeqCst);
                async { Err::<Response<()>, BoxError>("the server is unavailable".into()) }
            }));
        let refused = service
            .oneshot(request(Method::PUT, "/api/v1/pods/a"))
            .await
            .expect_err("leadership ended");
        assert_eq!(refused.downcast_ref(), Some(&GateRefusal::NotLeading));
        assert_eq!(
            left.load(Ordering::SeqCst),
            3,
            "at 0 s, 5 s and 10 s, not at 15 s"
        );
    }
}
