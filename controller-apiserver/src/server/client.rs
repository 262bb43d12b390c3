//! The server without a socket.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower::BoxError;

use super::{Body, Server};
use crate::access::{Peer, User};

/// The server as a tower service: what a `kube::Client` is made of, and what layers go around.
#[derive(Clone, Debug)]
pub struct Service {
    server: Server,
    agent: Option<String>,
    peer: Peer,
}

impl Server {
    /// A client of this server, in memory. It must be made inside a tokio runtime.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }

    /// A client that names itself, so that the journal and `managedFields` can tell it apart.
    pub fn client_named(&self, agent: impl Into<String>) -> kube::Client {
        kube::Client::new(self.service().named(agent), "default")
    }

    /// A client that acts as a user and names itself.
    pub fn client_as_named(&self, user: User, agent: impl Into<String>) -> kube::Client {
        let service = Service {
            agent: Some(agent.into()),
            ..self.service_as(user)
        };
        kube::Client::new(service, "default")
    }

    /// A client that acts as a user, whatever credentials the server knows.
    pub fn client_as(&self, user: User) -> kube::Client {
        kube::Client::new(self.service_as(user), "default")
    }

    /// The server as a tower service, for clients with layers of their own. Requests without
    /// credentials are the administrator's.
    pub fn service(&self) -> Service {
        self.service_as(User::admin())
    }

    /// The server as a tower service whose requests are those of a user.
    pub fn service_as(&self, user: User) -> Service {
        Service {
            server: self.clone(),
            agent: None,
            peer: Peer::User(user),
        }
    }
}

impl Service {
    /// The same, with this `User-Agent`: the journal, `managedFields` and faults tell it apart by it.
    #[must_use]
    pub fn named(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }
}

impl<B> tower::Service<Request<B>> for Service
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if let Some(agent) = self.agent.as_deref().and_then(|agent| agent.parse().ok()) {
            request.headers_mut().insert(http::header::USER_AGENT, agent);
        }
        if !request.headers().contains_key(http::header::AUTHORIZATION) {
            request.extensions_mut().insert(self.peer.clone());
        }
        let server = self.server.clone();
        Box::pin(async move { server.handle(request).await.map_err(BoxError::from) })
    }
}

/// The connection was cut, by a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("connection reset by peer")]
pub struct Disconnected;
