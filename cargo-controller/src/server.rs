//! The API server in this process, on a TCP port.

use std::{net::SocketAddr, path::Path};

use controller_apiserver::{Server, access::Tokens};
use kube::Client;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{error::Error, kubeconfig::Access};

/// A running server. Dropping it ends it, and with it every connection and object.
pub(crate) struct LocalServer {
    server: Server,
    access: Access,
    serving: JoinHandle<()>,
}

impl LocalServer {
    /// Binds the port and serves.
    ///
    /// # Errors
    /// When the token file is not as it should be, or the port cannot be bound.
    pub(crate) async fn start(listen: SocketAddr, tokens: Option<&Path>) -> Result<Self, Error> {
        let users = tokens.map(Users::read).transpose()?;
        let listener = TcpListener::bind(listen).await.map_err(|source| Error::Listen {
            address: listen,
            source,
        })?;
        let bound = listener.local_addr().map_err(Error::Server)?;
        let mut server = Server::builder().wall_clock().service_accounts(true);
        let mut token = None;
        if let Some(users) = users {
            token = Some(users.first);
            server = server.tokens(users.tokens);
        }
        let server = server.build();
        let serving = tokio::spawn({
            let server = server.clone();
            async move {
                let _ = server.serve(listener, std::future::pending()).await;
            }
        });
        Ok(Self {
            server,
            access: Access {
                url: format!("http://{bound}"),
                token,
            },
            serving,
        })
    }

    /// A client without a socket between.
    pub(crate) fn client(&self) -> Client {
        self.server.client()
    }

    /// How others reach it.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A token file, and the token that stands first in it: that user's kubeconfig is written.
struct Users {
    tokens: Tokens,
    first: String,
}

impl Users {
    fn read(path: &Path) -> Result<Self, Error> {
        let tokens = Tokens::read(path)?;
        let failed = |source| Error::Read {
            path: path.to_owned(),
            source,
        };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let lines = text.lines().map(str::trim);
        let first = lines
            .filter(|line| !line.starts_with('#'))
            .find_map(|line| Some(line.split_once(',')?.0.trim().trim_matches('"').to_owned()))
            .ok_or_else(|| Error::NoUsers(path.to_owned()))?;
        Ok(Self { tokens, first })
    }
}
