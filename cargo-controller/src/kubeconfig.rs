//! A kubeconfig file for a server of ours.
//!
//! It is JSON, which is YAML: nothing to escape wrongly. A file that someone else wrote is never replaced.

use std::{fs, io, path::Path};

use controller_apiserver::tls::{Credential, Kubeconfig};
use serde_json::Value;

use crate::error::Error;

const NAME: &str = "cargo-controller";

/// How a client reaches a server.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// `http://host:port`, or `https://…`.
    pub(crate) url: String,
    /// The certificate of an https server's authority, PEM.
    pub(crate) authority: Option<String>,
    /// How to log in.
    pub(crate) credential: Credential,
}

impl Access {
    fn kubeconfig(&self) -> Value {
        let kubeconfig = Kubeconfig {
            name: NAME.to_owned(),
            server: self.url.clone(),
            authority: self.authority.clone(),
            credential: self.credential.clone(),
            namespace: "default".to_owned(),
        };
        kubeconfig.to_value()
    }

    /// Writes the file, readable by its owner only.
    ///
    /// # Errors
    /// When a file is there that we did not write, or on any I/O error.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        let failed = |source: io::Error| Error::Write {
            path: path.to_owned(),
            source,
        };
        match fs::read_to_string(path) {
            Ok(text) if !is_ours(&text) => return Err(Error::ForeignKubeconfig(path.to_owned())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        // Written beside and renamed, so that a reader never sees half a file.
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        serde_json::to_writer_pretty(&mut file, &self.kubeconfig()).map_err(|e| failed(e.into()))?;
        file.persist(path).map_err(|e| failed(e.error))?;
        Ok(())
    }
}

/// A file of ours holds one cluster, of our name.
fn is_ours(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|config| {
        config["clusters"]
            .as_array()
            .is_some_and(|clusters| clusters.len() == 1)
            && config["clusters"][0]["name"] == NAME
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(url: &str) -> Access {
        Access {
            url: url.to_owned(),
            authority: None,
            credential: Credential::Token("t".to_owned()),
        }
    }

    #[test]
    fn kube_reads_what_is_written_and_a_second_write_replaces_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        access("http://127.0.0.1:1").write(&path).unwrap();
        access("http://127.0.0.1:2").write(&path).unwrap();
        let config = kube::config::Kubeconfig::read_from(&path).unwrap();
        assert_eq!(
            config.clusters[0].cluster.as_ref().unwrap().server.as_deref(),
            Some("http://127.0.0.1:2")
        );
        assert_eq!(config.current_context.as_deref(), Some(NAME));
    }

    #[test]
    fn a_file_of_someone_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let theirs = "apiVersion: v1\nkind: Config\nclusters: [{name: production}]\n";
        fs::write(&path, theirs).unwrap();
        let error = access("http://127.0.0.1:1").write(&path).unwrap_err();
        assert!(
            error.to_string().contains("was not written by cargo controller"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
    }
}
