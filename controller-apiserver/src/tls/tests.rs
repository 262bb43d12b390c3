//! Handshakes in memory, and what the files hold.

use super::*;
use crate::access::subject;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::{TlsAcceptor, TlsConnector};

fn der(certified: &Certified) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(certified.certificate.as_bytes()).unwrap()
}

fn client_config(trusted: &Authority, identity: Option<&Certified>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(trusted.pem().as_bytes()).unwrap())
        .unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
            builder.with_client_auth_cert(vec![der(identity)], key).unwrap()
        }
    }
}

/// Shakes hands and says one byte both ways; gives the client certificate the server saw.
async fn meet(
    server: Arc<ServerConfig>,
    client: ClientConfig,
    name: &'static str,
) -> Result<Option<Vec<u8>>, String> {
    let (near, far) = tokio::io::duplex(1 << 16);
    let serving = async {
        let mut stream = TlsAcceptor::from(server)
            .accept(far)
            .await
            .map_err(|error| error.to_string())?;
        stream.write_all(b"x").await.map_err(|error| error.to_string())?;
        stream.flush().await.map_err(|error| error.to_string())?;
        let seen = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        Ok::<_, String>(seen.map(|certificate| certificate.to_vec()))
    };
    let asking = async {
        let name = ServerName::try_from(name).unwrap();
        let mut stream = TlsConnector::from(Arc::new(client))
            .connect(name, near)
            .await
            .map_err(|error| error.to_string())?;
        stream.read_u8().await.map_err(|error| error.to_string())
    };
    let (seen, answer) = tokio::join!(serving, asking);
    answer.and(seen)
}

#[tokio::test]
async fn a_client_certificate_tells_user_and_groups() {
    let authority = Authority::generate().unwrap();
    let server = authority.server(&["api.example".to_owned()]).unwrap();
    let long =
        "a group of some length that makes the subject need a long form of its length, twice over".repeat(3);
    let identity = authority
        .client("anna", &["developers", "testers", &long])
        .unwrap();
    for name in [
        "localhost",
        "127.0.0.1",
        "::1",
        "api.example",
        "kubernetes.default.svc",
    ] {
        let client = client_config(&authority, Some(&identity));
        let seen = meet(Arc::clone(&server), client, name).await.unwrap().unwrap();
        let user = subject(&seen).unwrap();
        assert_eq!(user.name, "anna");
        assert_eq!(
            user.groups,
            ["developers", "testers", &long, "system:authenticated"]
        );
    }
}

#[tokio::test]
async fn strangers_are_told_apart() {
    let (authority, other) = (Authority::generate().unwrap(), Authority::generate().unwrap());
    let server = authority.server(&[]).unwrap();
    let without = client_config(&authority, None);
    assert_eq!(meet(Arc::clone(&server), without, "localhost").await, Ok(None));
    let distrusting = client_config(&other, None);
    assert!(meet(Arc::clone(&server), distrusting, "localhost").await.is_err());
    let elsewhere = client_config(&authority, None);
    assert!(
        meet(Arc::clone(&server), elsewhere, "elsewhere.example")
            .await
            .is_err()
    );
    let forged = client_config(
        &authority,
        Some(&other.client("anna", &["system:masters"]).unwrap()),
    );
    assert!(meet(server, forged, "localhost").await.is_err());
}

#[test]
fn a_name_that_is_none_is_refused_clearly() {
    let authority = Authority::generate().unwrap();
    let error = authority.server(&["ü".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("give host names or IP addresses"), "{error}");
}

#[test]
fn a_kubeconfig_embeds_everything_and_is_private() {
    let authority = Authority::generate().unwrap();
    let config = Kubeconfig {
        name: "dev".to_owned(),
        server: "https://127.0.0.1:6443".to_owned(),
        authority: Some(authority.pem()),
        credential: Credential::Certificate(authority.client("anna", &[]).unwrap()),
        namespace: "default".to_owned(),
    };
    let folder = std::env::temp_dir().join(format!("kubeconfig-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("config");
    std::fs::write(&path, "old").unwrap();
    config.write(&path).unwrap();
    let read = kube::config::Kubeconfig::read_from(&path).unwrap();
    assert_eq!(
        read.clusters[0].cluster.as_ref().unwrap().server.as_deref(),
        Some("https://127.0.0.1:6443")
    );
    assert!(
        read.auth_infos[0]
            .auth_info
            .as_ref()
            .unwrap()
            .client_key_data
            .is_some()
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let shown = format!("{config:?}");
    assert!(!shown.contains("PRIVATE KEY"), "{shown}");
}
