//! What happens, as lines of JSON, for anyone who listens; nobody who listens can hold anything up.
//!
//! The last [`KEPT`] lines are kept, so that a listener who comes late reads the beginning too. One that is slower than
//! the operator is told how many lines it missed. Memory is bounded by the ring, whatever the number of listeners.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::watch;

/// How many lines a late listener still gets.
const KEPT: usize = 1024;

/// The writing end. Clones write to the same feed.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    ring: Arc<Mutex<Ring>>,
    /// The number of lines ever written.
    written: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    /// Invariant: at most [`KEPT`].
    lines: VecDeque<Bytes>,
    /// The number of the first line in `lines`; `first + lines.len()` is the number of lines ever written.
    first: u64,
}

impl Feed {
    pub(crate) fn new() -> Self {
        Self {
            ring: Arc::default(),
            written: watch::Sender::new(0),
        }
    }

    /// Writes one line.
    pub(crate) fn write(&self, value: &impl Serialize) {
        // Our own plain data: strings and numbers, which cannot fail to serialize.
        let Ok(mut line) = serde_json::to_vec(value) else {
            return;
        };
        line.push(b'\n');
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        if ring.lines.len() == KEPT {
            ring.lines.pop_front();
            ring.first += 1;
        }
        ring.lines.push_back(line.into());
        debug_assert!(ring.lines.len() <= KEPT, "the ring is bounded");
        let written = ring.first + ring.lines.len() as u64;
        self.written.send_replace(written);
    }

    /// A listener that starts with what is kept.
    pub(crate) fn listen(&self) -> Listener {
        Listener {
            ring: self.ring.clone(),
            written: self.written.subscribe(),
            next: 0,
            started: false,
        }
    }
}

/// The reading end.
#[derive(Debug)]
pub(crate) struct Listener {
    ring: Arc<Mutex<Ring>>,
    written: watch::Receiver<u64>,
    /// The number of the line to read next.
    next: u64,
    /// The first read begins with what is kept, which is no loss.
    started: bool,
}

impl Listener {
    /// The next line, or one that tells how many were missed. `None` when the feed is gone and all is read.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.read() {
                return Some(line);
            }
            let next = self.next;
            if self.written.wait_for(|written| *written > next).await.is_err() {
                return self.read();
            }
        }
    }

    fn read(&mut self) -> Option<Bytes> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let missed = ring.first.saturating_sub(self.next);
        if missed > 0 {
            self.next = ring.first;
            if self.started {
                return Some(format!("{{\"type\":\"missed\",\"lines\":{missed}}}\n").into());
            }
        }
        let index = usize::try_from(self.next - ring.first).ok()?;
        let line = ring.lines.get(index)?.clone();
        self.next += 1;
        self.started = true;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_late_listener_reads_from_the_beginning() {
        let feed = Feed::new();
        feed.write(&1);
        feed.write(&2);
        let mut listener = feed.listen();
        assert_eq!(listener.next().await.unwrap(), "1\n");
        assert_eq!(listener.next().await.unwrap(), "2\n");
        feed.write(&3);
        assert_eq!(listener.next().await.unwrap(), "3\n");
        drop(feed);
        assert_eq!(listener.next().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_listener_is_told_what_it_missed_and_memory_is_bounded() {
        let feed = Feed::new();
        feed.write(&0);
        let mut listener = feed.listen();
        assert_eq!(listener.next().await.unwrap(), "0\n");
        for line in 1..=KEPT as u64 + 5 {
            feed.write(&line);
        }
        assert_eq!(feed.ring.lock().unwrap().lines.len(), KEPT);
        assert_eq!(
            listener.next().await.unwrap(),
            "{\"type\":\"missed\",\"lines\":5}\n"
        );
        assert_eq!(listener.next().await.unwrap(), "6\n");
        // One that comes now has missed nothing it was promised.
        assert_eq!(feed.listen().next().await.unwrap(), "6\n");
    }
}
