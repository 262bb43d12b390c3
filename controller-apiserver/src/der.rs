//! Just enough DER (ITU-T X.690) to read a certificate's subject, and to write another into it.

pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(crate) const UTF8_STRING: u8 = 0x0c;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
/// The explicit tag around a certificate's version, absent in version 1.
pub(crate) const VERSION: u8 = 0xa0;

/// The rest of a sequence of elements.
#[derive(Clone, Copy)]
pub(crate) struct Der<'a>(pub(crate) &'a [u8]);

impl<'a> Der<'a> {
    /// Tag and content of the next element.
    pub(crate) fn next(&mut self) -> Option<(u8, &'a [u8])> {
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

    /// The content of the next element, if it has this tag.
    pub(crate) fn expect(&mut self, wanted: u8) -> Option<&'a [u8]> {
        self.next()
            .and_then(|(tag, content)| (tag == wanted).then_some(content))
    }
}

/// One element.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut element = vec![tag];
    let length = content.len().to_be_bytes();
    let leading = length.iter().take_while(|octet| **octet == 0).count();
    match &length[leading..] {
        [] => element.push(0),
        [short @ ..=0x7f] => element.push(*short),
        octets => {
            element.push(0x80 | u8::try_from(octets.len()).unwrap_or(u8::MAX));
            element.extend(octets);
        }
    }
    element.extend(content);
    element
}
