//! Client certificates: a subject of one user and any number of groups.
//!
//! The certificate library writes at most one organization into a subject, so a certificate it made
//! gets its subject replaced and is signed again.

use super::TlsError;
use crate::access::{COMMON_NAME, ORGANIZATION};
use crate::der::{self, BIT_STRING, Der, OBJECT_IDENTIFIER, SEQUENCE, SET, UTF8_STRING, VERSION};
use rcgen::{KeyPair, SigningKey};

/// The certificate with its subject replaced, signed by `authority`; DER.
pub(super) fn with_subject(
    certificate: &[u8],
    user: &str,
    groups: &[&str],
    authority: &KeyPair,
) -> Result<Vec<u8>, TlsError> {
    let (body, algorithm) =
        rewritten(certificate, &subject(user, groups)).ok_or(rcgen::Error::CouldNotParseCertificate)?;
    let mut signature = vec![0];
    signature.extend(authority.sign(&body)?);
    let parts = [body, algorithm, der::element(BIT_STRING, &signature)].concat();
    Ok(der::element(SEQUENCE, &parts))
}

/// The part to be signed, and the name of the algorithm to sign it with.
fn rewritten(certificate: &[u8], subject: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut outer = Der(Der(certificate).expect(SEQUENCE)?);
    let mut fields = Der(outer.expect(SEQUENCE)?);
    let algorithm = der::element(SEQUENCE, outer.expect(SEQUENCE)?);
    let (mut body, mut place) = (Vec::new(), 0);
    while let Some((tag, content)) = fields.next() {
        // Serial number, signature, issuer and validity stand between version and subject.
        if place == 5 {
            body.extend(subject);
        } else {
            body.extend(der::element(tag, content));
        }
        debug_assert!(place > 0 || tag == VERSION);
        place += 1;
    }
    (place > 5).then(|| (der::element(SEQUENCE, &body), algorithm))
}

fn subject(user: &str, groups: &[&str]) -> Vec<u8> {
    let attribute = |kind: &[u8], value: &str| {
        let pair = [
            der::element(OBJECT_IDENTIFIER, kind),
            der::element(UTF8_STRING, value.as_bytes()),
        ]
        .concat();
        der::element(SET, &der::element(SEQUENCE, &pair))
    };
    let organizations = groups.iter().map(|group| attribute(ORGANIZATION, group));
    let names: Vec<Vec<u8>> = organizations.chain([attribute(COMMON_NAME, user)]).collect();
    der::element(SEQUENCE, &names.concat())
}
