//! What is known of each right, and when the server is asked about it. Pure.
//!
//! Each right is asked about at the start. One that is there is asked about again only after a request was refused for what
//! may be the want of it; one that is missing at growing intervals until it was granted, so that what is said stays true.

use std::{collections::BTreeMap, time::Duration};

use super::{Question, Questions, Reasons};
use crate::{Backoff, clock::Instant};

/// The first pause, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(300));

/// How long the server is left alone between questions.
pub(super) fn pauses() -> Backoff {
    Backoff::default().initial(PAUSES.0).max(PAUSES.1)
}

/// The rights of one process.
#[derive(Debug)]
pub(super) struct Rights {
    rights: BTreeMap<Question, Right>,
    pauses: Backoff,
}

#[derive(Debug)]
struct Right {
    reasons: Reasons,
    missing: bool,
    /// When to ask; `None` while there is no cause to.
    due: Option<Instant>,
    /// Not asked about before: what was refused in vain, a moment ago, for another reason than this right.
    quiet_until: Instant,
    /// Questions in a row that brought nothing new; the pause grows with them.
    vain: u32,
    /// A request was refused since it was there.
    refused: bool,
}

/// A right that came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is missing.
    Missing(String),
    /// It was missing, and is granted.
    Granted(String),
}

impl Rights {
    /// All are asked about now.
    pub(super) fn new(Questions(questions): Questions, now: Instant) -> Self {
        let right = |reasons| Right {
            reasons,
            missing: false,
            due: Some(now),
            quiet_until: now,
            vain: 0,
            refused: false,
        };
        let rights = questions.into_iter();
        Self {
            rights: rights
                .map(|(question, reasons)| (question, right(reasons)))
                .collect(),
            pauses: pauses(),
        }
    }

    /// What to ask now.
    pub(super) fn due(&self, now: Instant) -> Vec<Question> {
        let due = self.rights.iter();
        due.filter(|(_, right)| right.due.is_some_and(|due| due <= now))
            .map(|(question, _)| question.clone())
            .collect()
    }

    /// When there is something to ask next, if nothing is refused before.
    pub(super) fn next(&self) -> Option<Instant> {
        self.rights.values().filter_map(|right| right.due).min()
    }

    /// A request was refused, maybe for the want of this right.
    pub(super) fn refused(&mut self, question: &Question, now: Instant) {
        let Some(right) = self.rights.get_mut(question) else {
            return;
        };
        if right.due.is_some() {
            return;
        }
        if now >= right.quiet_until + PAUSES.1 {
            right.vain = 0;
        }
        right.refused = true;
        right.due = Some(now.max(right.quiet_until));
    }

    /// What the server said of a right; `None` when it gave no answer, which changes nothing. `roll` is a random number in `0.0..1.0`.
    pub(super) fn answered(
        &mut self,
        question: &Question,
        allowed: Option<bool>,
        now: Instant,
        roll: f64,
    ) -> Option<Change> {
        let right = self.rights.get_mut(question)?;
        let was_missing = right.missing;
        let new = allowed.is_some_and(|allowed| allowed == was_missing);
        let refused = std::mem::take(&mut right.refused);
        right.missing = allowed.map_or(was_missing, |allowed| !allowed);
        right.vain = match (new, allowed, refused) {
            (true, ..) => 1,
            // The first answer, and the one that was hoped for.
            (false, Some(true), false) => 0,
            _ => right.vain.saturating_add(1),
        };
        right.quiet_until = match right.vain {
            0 => now,
            vain => now + self.pauses.delay(vain, roll),
        };
        right.due = (allowed != Some(true)).then_some(right.quiet_until);
        let say = || question.say(&right.reasons);
        match (new, right.missing) {
            (false, _) => None,
            (true, true) => Some(Change::Missing(say())),
            (true, false) => Some(Change::Granted(say())),
        }
    }

    /// All that are missing, by name.
    pub(super) fn missing(&self) -> Vec<String> {
        let missing = self.rights.iter().filter(|(_, right)| right.missing);
        let mut missing: Vec<_> = missing
            .map(|(question, right)| question.say(&right.reasons))
            .collect();
        missing.sort();
        missing
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::{super::questions, *};
    use crate::{
        clock,
        declare::{Declaration, Namespaces, Watched},
    };

    const MINUTE: Duration = Duration::from_secs(60);

    fn rights(now: Instant) -> (Rights, Question) {
        let one = Declaration::new("one", Watched::new::<ConfigMap>(&()));
        let rights = Rights::new(questions([&one], &Namespaces::All), now);
        let first = rights.due(now).remove(0);
        (rights, first)
    }

    #[test]
    fn what_is_there_is_asked_about_only_after_a_refusal() {
        let mut now = clock::now();
        let (mut rights, list) = rights(now);
        for question in rights.due(now) {
            assert_eq!(rights.answered(&question, Some(true), now, 0.0), None);
        }
        assert_eq!(rights.next(), None, "never again by itself");
        now += MINUTE;
        rights.refused(&list, now);
        assert_eq!(rights.due(now), std::slice::from_ref(&list));
        let change = rights.answered(&list, Some(false), now, 0.0);
        assert!(matches!(change, Some(Change::Missing(_))), "{change:?}");
        rights.refused(&list, now);
        assert!(rights.due(now).is_empty(), "not at once");
        now += PAUSES.0;
        assert_eq!(rights.answered(&list, Some(false), now, 0.0), None, "said once");
        now += MINUTE;
        assert_eq!(rights.missing().len(), 1);
        let change = rights.answered(&list, Some(true), now, 0.0);
        assert!(matches!(change, Some(Change::Granted(_))), "{change:?}");
        assert_eq!((rights.missing(), rights.next()), (vec![], None));
    }

    /// A quota, a webhook and a namespace that ends refuse by 403 too: a request that is refused each second for such a reason must not be
    /// a review each second.
    #[test]
    fn refusals_for_another_reason_cost_few_questions() {
        let mut now = clock::now();
        let (mut rights, list) = rights(now);
        rights.answered(&list, Some(true), now, 0.0);
        let mut asked = 0;
        for _ in 0..3600 {
            now += Duration::from_secs(1);
            rights.refused(&list, now);
            if rights.due(now).contains(&list) {
                asked += 1;
                assert_eq!(rights.answered(&list, Some(true), now, 0.0), None);
            }
        }
        assert!((2..=18).contains(&asked), "{asked} questions in an hour");
        now += PAUSES.1 * 2;
        rights.refused(&list, now);
        assert!(rights.due(now).contains(&list), "at once after a calm spell");
    }

    #[test]
    fn without_an_answer_it_is_asked_again_and_nothing_is_said() {
        let now = clock::now();
        let (mut rights, list) = rights(now);
        assert_eq!(rights.answered(&list, None, now, 0.0), None);
        assert!(!rights.due(now).contains(&list));
        assert!(rights.due(now + PAUSES.0).contains(&list));
        assert!(rights.missing().is_empty());
    }
}
