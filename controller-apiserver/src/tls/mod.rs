//! HTTPS without set-up: an authority made at start, a server certificate, and client certificates.
//!
//! The authority lives as long as the process and signs what the server shows and what clients may
//! present; nobody else is trusted. Keys stay in memory, or go into files that only their owner may
//! read ([`write_private`]). Not modelled: certificates or keys from outside, revocation.

mod client;
mod kubeconfig;

pub use kubeconfig::{Credential, Kubeconfig, write_private};
pub use tokio_rustls::rustls::ServerConfig;

use ::ring::rand;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use std::fmt;
use std::sync::Arc;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring as provider_of_ring};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;

/// What every server certificate names, beside the names given.
const SERVER_NAMES: &[&str] = &[
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
];

/// Why certificates cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A name that no certificate can carry.
    #[error("certificate: {0}; give host names or IP addresses")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library refuses what was made.
    #[error("TLS: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
    /// The TLS library cannot verify clients by this authority.
    #[error("TLS client certificates: {0}")]
    Clients(#[from] tokio_rustls::rustls::server::VerifierBuilderError),
}

/// A certificate and its key, both PEM.
#[derive(Clone)]
pub struct Certified {
    /// For everybody.
    pub certificate: String,
    /// For its owner only.
    pub key: String,
}

impl fmt::Debug for Certified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certified")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

/// A certificate authority of its own.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Authority").field(&self.pem()).finish()
    }
}

impl Authority {
    /// A new authority with a new key.
    ///
    /// # Errors
    /// The system has no randomness to give.
    pub fn generate() -> Result<Self, TlsError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name("kubernetes");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    /// A key that nobody can guess, for [`ServerBuilder::signing_key`](crate::ServerBuilder::signing_key).
    ///
    /// # Errors
    /// The system has no randomness to give.
    pub fn random_key() -> Result<[u8; 32], TlsError> {
        let key = rand::generate(&rand::SystemRandom::new()).map_err(|_| rcgen::Error::RingUnspecified)?;
        Ok(key.expose())
    }

    /// The authority's own certificate, PEM: what clients are to trust.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate that authenticates `user` as a member of `groups`.
    ///
    /// # Errors
    /// The system has no randomness to give.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<Certified, TlsError> {
        let params = leaf("", ExtendedKeyUsagePurpose::ClientAuth, &[])?;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0)?;
        let certificate = client::with_subject(certificate.der(), user, groups, self.0.key())?;
        Ok(Certified {
            certificate: pem(&certificate),
            key: key.serialize_pem(),
        })
    }

    /// The TLS side of a server under `names` (and localhost): client certificates of this
    /// authority are accepted, none is demanded; HTTP/1.1 and HTTP/2 by ALPN.
    ///
    /// # Errors
    /// A name that is neither host name nor IP address.
    pub fn server(&self, names: &[String]) -> Result<Arc<ServerConfig>, TlsError> {
        let names: Vec<&str> = SERVER_NAMES
            .iter()
            .copied()
            .chain(names.iter().map(String::as_str))
            .collect();
        let params = leaf("kube-apiserver", ExtendedKeyUsagePurpose::ServerAuth, &names)?;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0)?;
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone())?;
        let provider = Arc::new(provider());
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(clients)
            .with_single_cert(vec![certificate.der().clone()], private_key(&key))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn leaf(
    common_name: &str,
    usage: ExtendedKeyUsagePurpose,
    names: &[&str],
) -> Result<CertificateParams, TlsError> {
    let mut params = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    params.distinguished_name = name(common_name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// The one cryptography this server uses, whatever the process has installed as its default.
fn provider() -> CryptoProvider {
    provider_of_ring::default_provider()
}

fn private_key(key: &KeyPair) -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(key.serialize_der().into())
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

/// RFC 7468, with lines of 64 characters.
fn pem(der: &[u8]) -> String {
    let encoded = BASE64.encode(der);
    let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text + "-----END CERTIFICATE-----\n"
}

#[cfg(test)]
mod tests;
