//! Requests to the API server, counted in the client.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Request, Response};
use prometheus_client::metrics::{counter::Counter, family::Family};
use tower::{Layer, Service};

use super::labels::OfRequest;

pub(super) type Requests = Family<OfRequest, Counter>;

/// Counts a client's requests by code, method and host. Made by [`Metrics::client_layer`](super::Metrics::client_layer).
#[derive(Clone, Debug)]
pub struct CountRequestsLayer {
    pub(super) requests: Requests,
    pub(super) host: String,
}

/// A service whose requests are counted.
#[derive(Clone, Debug)]
pub struct CountRequests<S> {
    layer: CountRequestsLayer,
    inner: S,
}

impl<S> Layer<S> for CountRequestsLayer {
    type Service = CountRequests<S>;

    fn layer(&self, inner: S) -> Self::Service {
        CountRequests {
            layer: self.clone(),
            inner,
        }
    }
}

impl<S, B, R> Service<Request<B>> for CountRequests<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
    S::Error: 'static,
    R: 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let method = request.method().to_string();
        let CountRequestsLayer { requests, host } = self.layer.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = match &answer {
                Ok(answer) => answer.status().as_str().to_owned(),
                // As client-go: a request that was not answered.
                Err(_) => "<error>".to_owned(),
            };
            requests.get_or_create(&OfRequest { code, method, host }).inc();
            answer
        })
    }
}
