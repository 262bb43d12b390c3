//! The file that tells kubectl and every client library where a server is and how to log in.
//!
//! Format: Kubernetes documentation, "Organizing Cluster Access Using kubeconfig Files". Everything
//! is embedded, so that the file works from any directory. It holds secrets: write it by
//! [`write_private`], and never log it.

use super::Certified;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};
use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;

/// How a client proves who it is.
#[derive(Clone)]
pub enum Credential {
    /// Not at all.
    None,
    /// A bearer token.
    Token(String),
    /// A client certificate.
    Certificate(Certified),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Token(_) => "Token",
            Self::Certificate(_) => "Certificate",
        })
    }
}

/// One server, one user, one context.
#[derive(Clone, Debug)]
pub struct Kubeconfig {
    /// The name of cluster, user and context.
    pub name: String,
    /// `http://…` or `https://…`.
    pub server: String,
    /// The certificate authority of an https server, PEM.
    pub authority: Option<String>,
    /// The user's credential.
    pub credential: Credential,
    /// The namespace when a command names none.
    pub namespace: String,
}

impl Kubeconfig {
    /// The file as JSON, which is YAML as well.
    pub fn to_value(&self) -> Value {
        let mut cluster = Map::from_iter([("server".to_owned(), json!(self.server))]);
        if let Some(authority) = &self.authority {
            cluster.insert(
                "certificate-authority-data".to_owned(),
                json!(BASE64.encode(authority)),
            );
        }
        let user = match &self.credential {
            Credential::None => json!({}),
            Credential::Token(token) => json!({"token": token}),
            Credential::Certificate(certified) => json!({
                "client-certificate-data": BASE64.encode(&certified.certificate),
                "client-key-data": BASE64.encode(&certified.key),
            }),
        };
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.name, "cluster": cluster}],
            "users": [{"name": self.name, "user": user}],
            "contexts": [{
                "name": self.name,
                "context": {"cluster": self.name, "user": self.name, "namespace": self.namespace},
            }],
            "current-context": self.name,
            "preferences": {},
        })
    }

    /// Writes the file, readable by its owner only.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        write_private(path, &format!("{:#}\n", self.to_value()))
    }
}

/// Writes a file that only its owner can read, from its first byte on. An existing file is
/// replaced as a whole, never seen half-written, and does not lend its permissions.
///
/// # Errors
/// The file cannot be written.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".new");
    let unfinished = Path::new(&unfinished);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Left over by a process that was killed; create_new then makes sure the mode is ours.
    let _ = std::fs::remove_file(unfinished);
    options.open(unfinished)?.write_all(text.as_bytes())?;
    std::fs::rename(unfinished, path)
}
