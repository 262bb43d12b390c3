//! The identity in a client certificate: common name is the user, organizations are its groups.
//!
//! Kubernetes documentation, "X.509 client certificates". Only the subject is read (RFC 5280
//! section 4.1); that the certificate is genuine is for the TLS layer to verify before.

use super::User;
use crate::der::{Der, OBJECT_IDENTIFIER, SEQUENCE, SET, VERSION};
use ring::digest;
use std::fmt::Write as _;

/// Object identifier of the attribute that holds the user's name.
pub(crate) const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// Object identifier of the attributes that hold its groups.
pub(crate) const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

/// The user a certificate names; `None` if it names none or is no certificate.
pub fn subject(certificate: &[u8]) -> Option<User> {
    let mut outer = Der(certificate);
    let mut fields = Der(Der(outer.expect(SEQUENCE)?).expect(SEQUENCE)?);
    let (tag, _) = fields.next()?;
    // After the optional version: serial number, signature, issuer, validity.
    let skipped = if tag == VERSION { 4 } else { 3 };
    for _ in 0..skipped {
        fields.next()?;
    }
    let (mut name, mut groups) = (String::new(), Vec::new());
    let mut relative_names = Der(fields.expect(SEQUENCE)?);
    while let Some((SET, set)) = relative_names.next() {
        let mut attributes = Der(set);
        while let Some((SEQUENCE, attribute)) = attributes.next() {
            let mut attribute = Der(attribute);
            let kind = attribute.expect(OBJECT_IDENTIFIER)?;
            let (_, value) = attribute.next()?;
            let value = std::str::from_utf8(value).ok()?.to_owned();
            match kind {
                COMMON_NAME => name = value,
                ORGANIZATION => groups.push(value),
                _ => {}
            }
        }
    }
    if name.is_empty() {
        return None;
    }
    let mut user = User::new(name, groups);
    user.extra.insert(
        "authentication.kubernetes.io/credential-id".to_owned(),
        vec![format!("X509SHA256={}", fingerprint(certificate))],
    );
    Some(user)
}

fn fingerprint(certificate: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, certificate);
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
