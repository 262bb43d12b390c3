//! The identity in a client certificate: common name is the user, organizations are its groups.
//!
//! Kubernetes documentation, "X.509 client certificates". Only the subject is read (DER, RFC 5280
//! section 4.1); that the certificate is genuine is for the TLS layer to verify before.

use super::User;
use ring::digest;
use std::fmt::Write as _;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const EXPLICIT_VERSION: u8 = 0xa0;
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

/// The user a certificate names; `None` if it names none or is no certificate.
pub fn subject(certificate: &[u8]) -> Option<User> {
    let mut outer = Der(certificate);
    let mut fields = Der(Der(outer.expect(SEQUENCE)?).expect(SEQUENCE)?);
    let (tag, _) = fields.next()?;
    // After the optional version: serial number, signature, issuer, validity.
    let skipped = if tag == EXPLICIT_VERSION { 4 } else { 3 };
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

/// The rest of a sequence of DER elements.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// Tag and content of the next element.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let [tag, first, rest @ ..] = self.0 else {
            return None;
        };
        let (length, rest) = match usize::from(*first) {
            short @ ..=0x7f => (short, rest),
            // A certificate is far below 2^32 octets; an indefinite length is not DER.
            long @ 0x81..=0x84 => {
                let (octets, rest) = rest.split_at_checked(long - 0x80)?;
                (
                    octets
                        .iter()
                        .fold(0, |length, octet| length << 8 | usize::from(*octet)),
                    rest,
                )
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }

    fn expect(&mut self, wanted: u8) -> Option<&'a [u8]> {
        self.next()
            .and_then(|(tag, content)| (tag == wanted).then_some(content))
    }
}
