//! The API server in this process, on a TCP port.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use controller_apiserver::{
    Server,
    access::{MASTERS, Tokens},
    tls::{Authority, Credential, ServerConfig},
};
use kube::Client;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{error::Error, kubeconfig::Access};

/// A running server. Dropping it ends it, and with it every connection and object.
pub(crate) struct LocalServer {
    server: Server,
    access: Access,
    serving: JoinHandle<()>,
}

/// How a server is reached, and by whom.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    pub(crate) listen: SocketAddr,
    /// The file that names users; everyone is an administrator without it.
    pub(crate) tokens: Option<&'a Path>,
    /// Https, and the names of the certificate besides localhost.
    pub(crate) https: Option<&'a Vec<String>>,
    /// Deployments and their like get Pods, which are ready after this time; without it they stay as written.
    pub(crate) workloads: Option<Duration>,
}

impl LocalServer {
    /// Binds the port and serves.
    ///
    /// # Errors
    /// When the token file is not as it should be, a name fits no certificate, or the port cannot be
    /// bound.
    pub(crate) async fn start(options: &Options<'_>) -> Result<Self, Error> {
        let users = options.tokens.map(Users::read).transpose()?;
        let tls = options.https.map(|names| Tls::generate(names)).transpose()?;
        let listener = TcpListener::bind(options.listen)
            .await
            .map_err(|source| Error::Listen {
                address: options.listen,
                source,
            })?;
        let bound = listener.local_addr().map_err(Error::Server)?;
        let mut server = Server::builder().wall_clock().service_accounts(true);
        let mut credential = Credential::None;
        if let Some(tls) = &tls {
            credential = Credential::Certificate(tls.authority.client("kubernetes-admin", &[MASTERS])?);
            server = server.authority(&tls.authority);
        }
        if let Some(ready_after) = options.workloads {
            server = server.workloads(ready_after);
        }
        if let Some(users) = users {
            credential = Credential::Token(users.first);
            server = server.tokens(users.tokens);
        }
        let server = server.build();
        let access = Access {
            url: format!("{}://{bound}", if tls.is_some() { "https" } else { "http" }),
            authority: tls.as_ref().map(|tls| tls.authority.pem()),
            credential,
        };
        let serving = tokio::spawn({
            let server = server.clone();
            async move {
                let _ = match tls {
                    Some(tls) => {
                        server
                            .serve_tls(listener, tls.config, std::future::pending())
                            .await
                    }
                    None => server.serve(listener, std::future::pending()).await,
                };
            }
        });
        Ok(Self {
            server,
            access,
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

/// An authority of its own, and what the server shows by it.
struct Tls {
    authority: Authority,
    config: Arc<ServerConfig>,
}

impl Tls {
    fn generate(names: &[String]) -> Result<Self, Error> {
        let authority = Authority::generate()?;
        let config = authority.server(names)?;
        Ok(Self { authority, config })
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
