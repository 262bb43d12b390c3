//! The server over TCP: HTTP/1.1 and HTTP/2 (by prior knowledge, or by ALPN under TLS).

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::Server;
use crate::access::Peer;

/// How long a client may take to shake hands.
const HANDSHAKE: Duration = Duration::from_secs(10);

impl Server {
    /// Serves connections until `shutdown` is ready; then watches end, and requests under way finish.
    ///
    /// # Errors
    ///
    /// None that concern one connection only; today none at all.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops all connections.
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        self.accept(listener, None, shutdown).await
    }

    /// As [`serve`](Self::serve), by https. Client certificates that `tls` accepts name their user
    /// ([`Authority::server`](crate::tls::Authority::server) makes such a configuration).
    ///
    /// # Errors
    ///
    /// As [`serve`](Self::serve).
    ///
    /// # Cancel safety
    ///
    /// As [`serve`](Self::serve).
    pub async fn serve_tls(
        &self,
        listener: TcpListener,
        tls: Arc<ServerConfig>,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()> {
        self.accept(listener, Some(TlsAcceptor::from(tls)), shutdown)
            .await
    }

    async fn accept(
        &self,
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let (stop, stopped) = watch::channel(());
        let mut connections = JoinSet::new();
        tokio::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut shutdown => break,
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    let (server, stopped) = (self.clone(), stopped.clone());
                    match tls.clone() {
                        Some(tls) => connections.spawn(server.handshake(stream, tls, stopped)),
                        None => connections.spawn(server.connection(stream, Peer::Unknown, stopped)),
                    };
                }
                Err(error) => {
                    // Out of descriptors, as a rule: it passes when connections go.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        self.close_watches();
        drop(stop);
        while connections.join_next().await.is_some() {}
        Ok(())
    }

    /// Finds out by TLS who connects, then serves the connection.
    async fn handshake(self, stream: TcpStream, tls: TlsAcceptor, mut stopped: watch::Receiver<()>) {
        let shaken = tokio::select! {
            biased;
            shaken = tokio::time::timeout(HANDSHAKE, tls.accept(stream)) => shaken,
            _ = stopped.changed() => return,
        };
        match shaken {
            Ok(Ok(stream)) => {
                let certificates = stream.get_ref().1.peer_certificates();
                let peer = match certificates.and_then(<[_]>::first) {
                    Some(certificate) => Peer::Certificate(certificate.to_vec()),
                    None => Peer::Unknown,
                };
                self.connection(stream, peer, stopped).await;
            }
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    async fn connection<S>(self, stream: S, peer: Peer, mut stopped: watch::Receiver<()>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(move |mut request: Request<Incoming>| {
            let server = self.clone();
            request.extensions_mut().insert(peer.clone());
            async move { server.handle(request).await }
        });
        let builder = auto::Builder::new(TokioExecutor::new());
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => Some(ended),
            _ = stopped.changed() => None,
        };
        let ended = if let Some(ended) = ended {
            ended
        } else {
            connection.as_mut().graceful_shutdown();
            connection.await
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        }
    }
}
