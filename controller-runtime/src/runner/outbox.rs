//! Results on their way to whoever polls the controller.

use std::{collections::VecDeque, time::Duration};

use crate::clock::Instant;

/// How many results wait; older ones give way.
const CAPACITY: usize = 8192;
/// While results wait, they are handed on for so long before new ones are made: a turn is then worth its cost.
const PAUSE: Duration = Duration::from_micros(250);
/// From so many results on, …
const MANY: usize = 256;
/// … they are handed on for so long.
const BURST: Duration = Duration::from_millis(100);
/// Who takes results at this pace is handed so many between two looks at the clock, which cost as much as the results.
const QUICK: (Duration, u32) = (Duration::from_micros(20), 15);

/// A bounded buffer of results.
///
/// A consumer that keeps up sees every result. One that does not loses the oldest, which is told once; it never holds a
/// reconcile back for longer than a burst.
#[derive(Debug)]
pub(super) struct Outbox<R> {
    results: VecDeque<R>,
    /// When new results were made last.
    turned: Option<Instant>,
    /// When the clock was looked at last, if results waited then.
    looked: Option<Instant>,
    /// So many results are handed on before it is looked at again.
    unwatched: u32,
    lost: u64,
}

impl<R> Outbox<R> {
    pub(super) fn new() -> Self {
        Self {
            results: VecDeque::new(),
            turned: None,
            looked: None,
            unwatched: 0,
            lost: 0,
        }
    }

    pub(super) fn push(&mut self, result: R) {
        if self.results.len() == CAPACITY {
            self.results.pop_front();
            if self.lost == 0 {
                tracing::warn!("results are read more slowly than they come: the oldest are dropped");
            }
            self.lost += 1;
        }
        self.results.push_back(result);
    }

    pub(super) fn pop(&mut self) -> Option<R> {
        self.results.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// The time, if it is time to make new results.
    pub(super) fn wants_more(&mut self, clock: impl FnOnce() -> Instant) -> Option<Instant> {
        let waiting = self.results.len();
        if waiting > 0 && self.unwatched > 0 {
            self.unwatched -= 1;
            return None;
        }
        let now = clock();
        let (pace, most) = QUICK;
        let quick = waiting > 0 && self.looked.is_some_and(|looked| now - looked < pace);
        self.unwatched = if quick { most } else { 0 };
        self.looked = (waiting > 0).then_some(now);
        let pause = match waiting {
            0 => Duration::ZERO,
            1..MANY => PAUSE,
            _ => BURST,
        };
        if self.turned.is_some_and(|turned| now - turned < pause) {
            return None;
        }
        self.turned = Some(now);
        Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn a_consumer_that_keeps_up_loses_nothing() {
        let (mut outbox, now) = (Outbox::new(), clock::now());
        let (mut made, mut seen) = (0, 0);
        while seen < 100_000 {
            if outbox.wants_more(|| now).is_some() {
                for _ in 0..1024 {
                    outbox.push(made);
                    made += 1;
                }
            }
            assert_eq!(outbox.pop(), Some(seen));
            seen += 1;
        }
    }

    #[test]
    fn a_slow_consumer_loses_the_oldest_and_holds_nothing_back() {
        let (mut outbox, mut now) = (Outbox::new(), clock::now());
        for number in 0..100_000 {
            assert!(
                outbox.wants_more(|| now).is_some(),
                "after a second at the latest"
            );
            outbox.push(number);
            now += Duration::from_secs(1);
        }
        assert_eq!(outbox.pop(), Some(100_000 - CAPACITY));
        assert_eq!(outbox.lost, 100_000 - CAPACITY as u64);
    }
}
