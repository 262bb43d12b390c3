//! How far a ready key stands back for its level.
//!
//! Keys run in the order of `ready since + penalty(level)`. So an urgent key overtakes the keys that became ready
//! up to that long before it, and none that waited longer: however many urgent keys arrive, each key is overtaken
//! only by those that became ready within its penalty.

use std::time::Duration;

use crate::trigger::Level;

/// How much longer ago a key of this level must have become ready to run before a deletion.
pub(super) const fn penalty(level: Level) -> Duration {
    Duration::from_millis(match level {
        Level::Initial => 10_000,
        Level::Bulk => 8_000,
        Level::Requeue => 4_000,
        Level::Retry => 3_000,
        Level::Related => 2_000,
        Level::Metadata => 1_000,
        Level::Spec => 500,
        Level::Explicit => 250,
        Level::Deletion => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_level_stands_back_for_less() {
        let penalties = Level::ALL.map(penalty);
        assert!(
            Level::ALL.is_sorted() && penalties.is_sorted_by(|low, high| low > high),
            "{penalties:?}"
        );
        assert_eq!(penalties.last(), Some(&Duration::ZERO));
    }
}
