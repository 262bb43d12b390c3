//! How spans travel: the connector that kube makes, which trusts what the system trusts, on the operator's runtime.
//!
//! The thread that sends spans belongs to no runtime, and hyper needs one: each request is a task of the operator's.

use std::{pin::Pin, time::Duration};

use kube::{Config, client::ConfigExt as _};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response, hyper::HyperClient};
use tokio::runtime::Handle;

/// A client whose requests take so long at most.
///
/// # Errors
/// When the certificates that the system trusts cannot be read, or there is no runtime.
pub(super) fn client(limit: Duration) -> Result<impl HttpClient + 'static, String> {
    let nowhere = Config::new(http::Uri::from_static("http://localhost"));
    let connector = nowhere
        .rustls_https_connector()
        .map_err(|error| error.to_string())?;
    Ok(OnRuntime {
        client: HyperClient::new(connector, limit, None),
        runtime: Handle::try_current().map_err(|error| error.to_string())?,
    })
}

#[derive(Debug)]
struct OnRuntime<C> {
    client: C,
    runtime: Handle,
}

impl<C: HttpClient + Clone + 'static> HttpClient for OnRuntime<C> {
    fn send_bytes<'this, 'sending>(
        &'this self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sending>>
    where
        'this: 'sending,
        Self: 'sending,
    {
        let client = self.client.clone();
        let sent = self
            .runtime
            .spawn(async move { client.send_bytes(request).await });
        Box::pin(async move { sent.await? })
    }
}
