//! The server's clock and its source of identifiers: the only places where time and chance enter.
//!
//! Time is an epoch plus what tokio's clock has run since the start, so a paused tokio clock pauses
//! the server. Chance is one seeded generator. Both make a run repeatable.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
pub(crate) use tokio::time::Instant;

/// The present of tokio's clock, for what only measures how long something takes.
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// The server's time.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    epoch: Timestamp,
    start: Instant,
}

impl Clock {
    pub(crate) fn starting_at(epoch: Timestamp) -> Self {
        let start = instant();
        Self { epoch, start }
    }

    /// The epoch of servers in tests: a fixed day, so that two runs write the same timestamps.
    pub(crate) fn fixed_epoch() -> Timestamp {
        Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// The present, for servers that people talk to.
    #[expect(clippy::disallowed_methods, reason = "the one place that looks at it")]
    pub(crate) fn wall_epoch() -> Timestamp {
        Timestamp::now()
    }

    pub(crate) fn now(&self) -> Timestamp {
        let run = SignedDuration::try_from(self.start.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.checked_add(run).unwrap_or(Timestamp::MAX)
    }

    /// Moves the server's time against tokio's, as when somebody sets the machine's clock.
    pub(crate) fn jump(&mut self, by: SignedDuration) {
        self.epoch = self.epoch.saturating_add(by).unwrap_or(self.epoch);
    }
}

/// A time as metadata carries it: UTC, whole seconds.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Identifiers from a seed.
#[derive(Debug)]
pub(crate) struct Identifiers(fastrand::Rng);

impl Identifiers {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A uid in the form of a random UUID (RFC 9562, version 4).
    pub(crate) fn uid(&mut self) -> String {
        let bits = (self.0.u128(..) & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        let mut uid = String::with_capacity(36);
        for (i, part) in [0..8, 8..12, 12..16, 16..20, 20..32].into_iter().enumerate() {
            let dash = if i == 0 { "" } else { "-" };
            let _ = write!(uid, "{dash}{}", &hex[part]);
        }
        uid
    }

    /// A name from a `generateName` prefix: cut to 58 characters, five random ones behind.
    pub(crate) fn name(&mut self, prefix: &str) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut name: String = prefix.chars().take(58).collect();
        for _ in 0..5 {
            name.push(char::from(ALPHABET[self.0.usize(..ALPHABET.len())]));
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_have_the_form_of_version_4() {
        let mut ids = Identifiers::seeded(1);
        for _ in 0..100 {
            let uid = ids.uid();
            assert_eq!(uid.len(), 36);
            assert_eq!(uid.as_bytes()[14], b'4', "{uid}");
            assert!(b"89ab".contains(&uid.as_bytes()[19]), "{uid}");
        }
    }

    #[test]
    fn one_seed_gives_one_sequence() {
        let draw = |seed| {
            let mut ids = Identifiers::seeded(seed);
            (ids.uid(), ids.name("pre-"), ids.uid())
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn generated_names_fit_a_label() {
        let name = Identifiers::seeded(1).name(&"x".repeat(80));
        assert_eq!(name.len(), 63);
    }
}
