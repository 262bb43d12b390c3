//! Reads an operator's status endpoint.

use std::{net::SocketAddr, path::Path, time::Duration};

use futures::{AsyncBufReadExt, TryStreamExt};
use kube::{Client, Config};
use tokio::sync::mpsc;

use super::wire::{Happening, Status};
use crate::error::Error;

/// How many happenings may wait to be told; the operator is told to wait by the connection itself.
const WAITING: usize = 256;

/// The status endpoint of one running operator.
#[derive(Clone)]
pub(crate) struct Endpoint {
    client: Client,
    address: SocketAddr,
}

impl Endpoint {
    /// Waits until the operator has written where it listens. Never ends by itself.
    pub(crate) async fn find(file: &Path) -> Result<Self, Error> {
        loop {
            if let Ok(text) = tokio::fs::read_to_string(file).await
                && let Ok(address) = text.trim().parse()
            {
                return Self::at(address);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn at(address: SocketAddr) -> Result<Self, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Client(error.to_string());
        let url = format!("http://{address}").parse().map_err(|e| failed(&e))?;
        let mut config = Config::new(url);
        // The stream of happenings is silent while nothing happens.
        config.read_timeout = None;
        let client = Client::try_from(config).map_err(|e| failed(&e))?;
        Ok(Self { client, address })
    }

    /// The page that tells why an object ran.
    pub(crate) fn page(&self) -> String {
        format!("http://{}/debug", self.address)
    }

    /// How everything is; `None` while the operator does not answer.
    pub(crate) async fn status(&self) -> Option<Status> {
        let asked = self.client.request::<Status>(get("/status"));
        tokio::time::timeout(Duration::from_secs(2), asked)
            .await
            .ok()?
            .ok()
    }

    /// What happens, from the operator's start. Ends with the operator.
    pub(crate) fn happenings(&self) -> mpsc::Receiver<Happening> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let client = self.client.clone();
        tokio::spawn(async move {
            let Ok(stream) = client.request_stream(get("/status/events")).await else {
                return;
            };
            let mut lines = stream.lines();
            while let Ok(Some(line)) = lines.try_next().await {
                if let Ok(happening) = serde_json::from_str(&line)
                    && sender.send(happening).await.is_err()
                {
                    return;
                }
            }
        });
        receiver
    }
}

fn get(path: &str) -> http::Request<Vec<u8>> {
    let mut request = http::Request::new(Vec::new());
    *request.uri_mut() = path.parse().unwrap_or_default();
    request
}
