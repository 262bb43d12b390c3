//! The server over TCP: HTTP/1.1, and HTTP/2 with prior knowledge.

use std::future::Future;
use std::io;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Server;

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
                    connections.spawn(self.clone().connection(stream, stopped.clone()));
                }
                Err(error) => {
                    // Out of descriptors, as a rule: it passes when connections go.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            }
        }
        self.close_watches();
        drop(stop);
        while connections.join_next().await.is_some() {}
        Ok(())
    }

    async fn connection(self, stream: tokio::net::TcpStream, mut stopped: watch::Receiver<()>) {
        let _ = stream.set_nodelay(true);
        let service = service_fn(move |request: Request<Incoming>| {
            let server = self.clone();
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
