//! Uids, as far as they are compared.

use std::{hash::BuildHasher, num::NonZeroU64};

use foldhash::quality::FixedState;

/// The fingerprint of a uid, kept and compared in place of its text.
///
/// Different uids have the same one with a chance of one in 2⁶⁴. The server makes uids up, so nobody can seek for two of
/// one fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uid(NonZeroU64);

impl Uid {
    pub(crate) fn of(text: &str) -> Self {
        let hash = FixedState::default().hash_one(text);
        Self(NonZeroU64::new(hash).unwrap_or(NonZeroU64::MIN))
    }

    /// A hash of the uid.
    pub(crate) const fn hash(self) -> u64 {
        self.0.get()
    }
}
