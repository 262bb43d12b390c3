//! Finds the keys that run in circles, and slows them. Pure: `now` is an argument.
//!
//! A run that ends where it began, because its own writes (or what they move others to write) wake it again, looks at first
//! like one that follows a busy object. What tells them apart is what happens when the key *waits*: in a circle the run
//! itself is a link, and nothing changes until it runs; a rollout, a bulk change or a user go on regardless. So:
//!
//! 1. *Counting*: runs in a row, each woken by the same object that changed at once after the run before.
//! 2. *Testing*, after enough of those: the key waits a little. A change that comes meanwhile acquits it and lets it run at
//!    once. Silence, and a change right after the run that follows, is evidence.
//! 3. *Slowed*, after enough evidence: the wait doubles with each further circle. A change that comes while the key waits is
//!    somebody's who does not depend on it: it runs early, and the wait is halved. Quiet ends it.

use std::{collections::HashMap, time::Duration};

use super::HotLoop;
use crate::clock::Instant;

/// A change later than this after a run is no answer to it.
const PROMPT: Duration = Duration::from_secs(1);
/// The shortest time in which an answer is expected, however fast they came before.
const SHORTEST_REACTION: Duration = Duration::from_millis(100);
/// The first and shortest wait.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// So many tests have to speak against a key.
const TESTS: u32 = 3;
/// A key that was acquited has to do that much more to be tested again.
const PATIENCE: u32 = 2;
/// … and no more than this times the limit.
const MOST_PATIENCE: u32 = 16;
/// Tracks are looked through when there are more than twice as many as after the last time, and more than this.
const FEW: usize = 512;

/// A number for a key or an object; two with the same number are taken for one, which costs a wait at worst.
pub(crate) type Number = u64;

/// The keys of one controller that may run in circles.
#[derive(Debug)]
pub(crate) struct Guard {
    limits: HotLoop,
    /// Keys that a change woke a short time ago, and those that are slowed.
    tracks: HashMap<Number, Track>,
    look_through_at: usize,
}

/// What is known of one key.
#[derive(Clone, Debug)]
struct Track {
    phase: Phase,
    /// The object whose changes are counted.
    suspect: Number,
    /// Runs in a row that the suspect woke at once after the run before.
    cycles: u32,
    /// So many make the key suspicious.
    needed: u32,
    /// The longest time from the end of a run to the suspect's change.
    reaction: Duration,
    /// When the last run ended, or the track began.
    ended: Instant,
    running: bool,
    /// A run was seen since the track began.
    ran: bool,
    /// What changed since the last run began.
    came: Came,
    /// The key waits.
    wait: Option<Wait>,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    time: Duration,
    until: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Counting,
    /// So many tests spoke against it.
    Testing(u32),
    Slowed(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Nothing,
    /// The suspect, at once after the last run; maybe others, too.
    Suspect,
    /// Another object, at once after the last run.
    Other(Number),
    /// Something that does not answer the last run.
    Late,
}

/// A key has been found to run in circles, so far as timing tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accusation {
    /// So many runs in a row.
    pub(crate) cycles: u32,
    /// How long it waits from now on, at first.
    pub(crate) delay: Duration,
}

/// A key that is slowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slowed {
    pub(crate) cycles: u32,
    pub(crate) delay: Duration,
}

impl Guard {
    pub(crate) fn new(limits: HotLoop) -> Self {
        Self {
            limits,
            tracks: HashMap::new(),
            look_through_at: FEW,
        }
    }

    /// `object` changed, which wakes `key`. Gives the moment before which the key shall not run for it.
    pub(crate) fn changed(&mut self, key: Number, object: Number, now: Instant) -> Option<Instant> {
        if self.limits.cycles == 0 {
            return None;
        }
        self.look_through(now);
        let (needed, longest) = (self.limits.cycles, self.longest());
        let fresh = || Track::new(object, needed, now);
        let track = self.tracks.entry(key).or_insert_with(fresh);
        if track.is_over(now) {
            *track = fresh();
        }
        let after = if track.running {
            Duration::ZERO
        } else {
            now.saturating_duration_since(track.ended)
        };
        let prompt = after <= track.window();
        match track.phase {
            Phase::Counting => {
                if !prompt {
                    track.restart(object);
                }
            }
            Phase::Testing(_) if prompt => track.wait(track.pause(longest), now),
            Phase::Testing(_) => track.acquit(object, needed),
            Phase::Slowed(delay) if prompt && object == track.suspect => track.wait(delay, now),
            Phase::Slowed(_) if prompt => track.wait(FIRST_DELAY, now),
            Phase::Slowed(delay) => track.ease(delay, object),
        }
        track.note(object, after, prompt);
        track.hold().filter(|hold| *hold > now)
    }

    /// A run of `key` begins.
    pub(crate) fn started(&mut self, key: Number, now: Instant) -> Option<Accusation> {
        let longest = self.longest();
        let track = self.tracks.get_mut(&key)?;
        let came = std::mem::replace(&mut track.came, Came::Nothing);
        let waited = track.wait.take();
        let answers = came == Came::Suspect && track.ran;
        (track.running, track.ran) = (true, true);
        match (track.phase, came) {
            // Asked for by a requeue or by someone; or not an answer to the run before.
            (_, Came::Nothing | Came::Late) => {}
            (Phase::Counting | Phase::Testing(_), Came::Other(object)) => track.restart(object),
            (Phase::Slowed(delay), Came::Other(object)) => track.ease(delay, object),
            (_, Came::Suspect) if !answers => {}
            (Phase::Counting, Came::Suspect) => {
                track.cycles = track.cycles.saturating_add(1);
                if track.cycles >= track.needed {
                    track.phase = Phase::Testing(0);
                }
            }
            (Phase::Testing(tests), Came::Suspect) => {
                if waited.is_none_or(|wait| wait.until > now) {
                    return None;
                }
                track.cycles = track.cycles.saturating_add(1);
                track.phase = Phase::Testing(tests + 1);
                if tests + 1 >= TESTS {
                    let (cycles, delay) = (track.cycles, FIRST_DELAY.min(longest));
                    track.phase = Phase::Slowed(delay);
                    return Some(Accusation { cycles, delay });
                }
            }
            (Phase::Slowed(delay), Came::Suspect) => {
                track.cycles = track.cycles.saturating_add(1);
                if waited.is_some_and(|wait| wait.until <= now && wait.time >= delay) {
                    track.phase = Phase::Slowed((delay * 2).min(longest));
                }
            }
        }
        None
    }

    /// The run of `key` is over. Gives the moment before which it shall not run for what changed meanwhile: it waits as long
    /// after its end as it would have, had the change come then.
    pub(crate) fn finished(&mut self, key: Number, now: Instant) -> Option<Instant> {
        let track = self.tracks.get_mut(&key)?;
        (track.running, track.ended) = (false, now);
        if let Some(wait) = &mut track.wait {
            wait.until = now + wait.time;
        }
        track.hold()
    }

    /// What changed shows that the key makes progress, whatever the timing says: it has to do much more to be tested again.
    pub(crate) fn acquit(&mut self, key: Number) {
        let limit = self.limits.cycles;
        if let Some(track) = self.tracks.get_mut(&key) {
            let cycles = track.cycles;
            track.acquit(track.suspect, limit);
            track.cycles = cycles;
            track.needed = cycles.saturating_mul(PATIENCE);
        }
    }

    /// The object is gone.
    pub(crate) fn gone(&mut self, key: Number) {
        self.tracks.remove(&key);
    }

    /// Nothing is tracked: no step has anything to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.tracks.is_empty()
    }

    /// Whether a key is slowed.
    pub(crate) fn slowed(&self, key: Number, now: Instant) -> Option<Slowed> {
        let track = self.tracks.get(&key)?;
        match track.phase {
            Phase::Slowed(delay) if !track.is_over(now) => Some(Slowed {
                cycles: track.cycles,
                delay,
            }),
            _ => None,
        }
    }

    /// How many keys are slowed.
    pub(crate) fn count(&self, now: Instant) -> usize {
        let slowed = |track: &&Track| matches!(track.phase, Phase::Slowed(_)) && !track.is_over(now);
        self.tracks.values().filter(slowed).count()
    }

    fn longest(&self) -> Duration {
        self.limits.max_delay.max(FIRST_DELAY)
    }

    /// Forgets what is over, now and then: O(1) for each change.
    fn look_through(&mut self, now: Instant) {
        if self.tracks.len() < self.look_through_at {
            return;
        }
        self.tracks.retain(|_, track| !track.is_over(now));
        self.tracks.shrink_to(FEW.max(self.tracks.len() * 2));
        self.look_through_at = FEW.max(self.tracks.len() * 2);
    }

    /// How many keys are watched.
    pub(crate) fn len(&self) -> usize {
        self.tracks.len()
    }
}

impl Track {
    fn new(suspect: Number, needed: u32, now: Instant) -> Self {
        Self {
            phase: Phase::Counting,
            suspect,
            cycles: 0,
            needed,
            reaction: Duration::ZERO,
            ended: now,
            running: false,
            ran: false,
            came: Came::Nothing,
            wait: None,
        }
    }

    /// Counts anew, with this object.
    fn restart(&mut self, suspect: Number) {
        self.phase = Phase::Counting;
        self.suspect = suspect;
        self.cycles = 0;
        self.reaction = Duration::ZERO;
        self.came = Came::Nothing;
        self.wait = None;
    }

    /// It was under test and is not in a circle.
    fn acquit(&mut self, suspect: Number, limit: u32) {
        self.restart(suspect);
        let most = limit.saturating_mul(MOST_PATIENCE);
        self.needed = self.needed.saturating_mul(PATIENCE).min(most);
    }

    /// Something came that does not depend on the key's runs: it runs early, and waits less from now on.
    fn ease(&mut self, delay: Duration, object: Number) {
        if delay / 2 < FIRST_DELAY {
            self.restart(object);
        } else {
            self.phase = Phase::Slowed(delay / 2);
            self.wait = None;
        }
    }

    /// Makes the key wait so long, if it does not wait less already.
    fn wait(&mut self, time: Duration, now: Instant) {
        let until = now + time;
        if self.wait.is_none_or(|wait| wait.until > until) {
            self.wait = Some(Wait { time, until });
        }
    }

    fn hold(&self) -> Option<Instant> {
        self.wait.map(|wait| wait.until)
    }

    /// A change came so long after the end of the last run.
    fn note(&mut self, object: Number, after: Duration, prompt: bool) {
        if !prompt || self.came == Came::Late {
            self.came = Came::Late;
        } else if object != self.suspect {
            if self.came == Came::Nothing {
                self.came = Came::Other(object);
            }
        } else if self.came != Came::Suspect {
            self.came = Came::Suspect;
            if self.phase == Phase::Counting && self.ran {
                self.reaction = self.reaction.max(after);
            }
        }
    }

    /// In this time after a run an answer to it is expected.
    fn window(&self) -> Duration {
        match self.phase {
            Phase::Counting => PROMPT,
            Phase::Testing(_) | Phase::Slowed(_) => (self.reaction * 2).max(SHORTEST_REACTION),
        }
    }

    /// How long the key is made to wait in a test: long enough that whoever changes the object anyway does so meanwhile.
    fn pause(&self, longest: Duration) -> Duration {
        (self.window() * 3).max(FIRST_DELAY).min(longest)
    }

    /// Nothing has come for so long that the past says nothing any more.
    fn is_over(&self, now: Instant) -> bool {
        let quiet = now.saturating_duration_since(self.ended);
        let memory = match self.phase {
            Phase::Counting => PROMPT,
            Phase::Testing(_) => PROMPT * 6,
            Phase::Slowed(delay) => PROMPT + delay * 2,
        };
        !self.running && self.hold().is_none_or(|hold| hold < now) && quiet > memory
    }
}
