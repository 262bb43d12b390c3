//! How many replicas the sets of a Deployment have next.
//!
//! Source: "Rolling Update Deployment" in the Kubernetes documentation.

use serde_json::Value;

/// One `ReplicaSet`, as far as a rollout looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set {
    /// What it is asked for.
    pub(super) wanted: i64,
    /// The Pods it has.
    pub(super) has: i64,
    /// Its Pods that are available.
    pub(super) available: i64,
}

/// What a Deployment asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) replicas: i64,
    /// How many more Pods than replicas there may be, and how many fewer available ones; `None`
    /// where all old ones go before a new one comes.
    pub(super) rolling: Option<(i64, i64)>,
}

impl Plan {
    pub(super) fn of(deployment: &Value) -> Self {
        let spec = &deployment["spec"];
        let replicas = spec["replicas"]
            .as_i64()
            .unwrap_or(1)
            .clamp(0, i64::from(i32::MAX));
        if spec["strategy"]["type"] == "Recreate" {
            return Self {
                replicas,
                rolling: None,
            };
        }
        let rolling = &spec["strategy"]["rollingUpdate"];
        let surge = resolve(&rolling["maxSurge"], replicas, true);
        let unavailable = resolve(&rolling["maxUnavailable"], replicas, false);
        // Without either nothing could move.
        let unavailable = if surge == 0 {
            unavailable.max(1)
        } else {
            unavailable
        };
        Self {
            replicas,
            rolling: Some((surge, unavailable.min(replicas))),
        }
    }

    /// The next numbers: that of the new set, and those of the old ones, oldest first.
    pub(super) fn next(self, new: Option<Set>, old: &[Set]) -> (i64, Vec<i64>) {
        let has_new = new.map_or(0, |new| new.wanted);
        let Some((surge, unavailable)) = self.rolling else {
            let empty = old.iter().all(|set| set.wanted == 0 && set.has == 0);
            return (if empty { self.replicas } else { has_new }, vec![0; old.len()]);
        };
        let total = has_new + old.iter().map(|set| set.wanted).sum::<i64>();
        let room = (self.replicas + surge - total).max(0);
        let next_new = self.replicas.min(has_new + room);
        let mut next: Vec<i64> = old.iter().map(|set| set.wanted).collect();
        let available = new.map_or(0, |new| new.available);
        let least = self.replicas - unavailable;
        // Pods asked for in the new set may all turn out bad: they do not count until they are available.
        let missing = (has_new - available).max(0);
        let mut spare = total - least - missing;
        for (number, set) in next.iter_mut().zip(old) {
            let bad = (set.wanted - set.available).clamp(0, spare.max(0));
            *number -= bad;
            spare -= bad;
        }
        let left: i64 = old
            .iter()
            .zip(&next)
            .map(|(set, next)| set.available.min(*next))
            .sum();
        let mut spare = (available + left - least).max(0);
        for number in &mut next {
            let go = spare.min(*number);
            *number -= go;
            spare -= go;
        }
        (next_new, next)
    }
}

/// A number, or a percentage of the replicas.
fn resolve(value: &Value, replicas: i64, up: bool) -> i64 {
    let percent = match value {
        Value::Number(number) => return number.as_i64().unwrap_or_default().clamp(0, i64::from(i32::MAX)),
        Value::String(text) => text.trim_end_matches('%').parse::<i64>().unwrap_or(25),
        _ => 25,
    };
    let hundredths = replicas.saturating_mul(percent.max(0));
    if up {
        hundredths.saturating_add(99) / 100
    } else {
        hundredths / 100
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn total(sets: &[Set]) -> i64 {
        sets.iter().map(|set| set.wanted).sum()
    }

    proptest! {
        /// A rollout stays in its bounds at each step, whichever Pods are available, and ends when all are.
        #[test]
        fn a_rollout_stays_in_bounds_and_ends(
            replicas in 0_i64..20,
            surge in 0_i64..5,
            unavailable in 0_i64..5,
            broken in proptest::collection::vec(0_i64..4, 0..30),
            split in 0_i64..20,
        ) {
            let unavailable = if surge == 0 { unavailable.max(1) } else { unavailable }.min(replicas.max(1));
            let plan = Plan { replicas, rolling: Some((surge, unavailable)) };
            let set = |wanted: i64| Set { wanted, has: wanted, available: wanted };
            let split = split.min(replicas);
            let mut old = vec![set(split), set(replicas - split)];
            let mut new = set(0);
            for step in 0..200 {
                let (next, rest) = plan.next(Some(new), &old);
                let least = replicas - unavailable;
                let before = new.available + old.iter().map(|set| set.available).sum::<i64>();
                let lost = broken.get(step).copied().unwrap_or_default();
                new = Set { wanted: next, has: next, available: (next - lost).max(new.available.min(next)) };
                for (set, wanted) in old.iter_mut().zip(rest) {
                    prop_assert!(wanted >= 0 && wanted <= set.wanted);
                    *set = Set { wanted, has: wanted, available: set.available.min(wanted) };
                }
                prop_assert!(new.wanted <= replicas);
                prop_assert!(new.wanted + total(&old) <= replicas + surge);
                let after = new.available + old.iter().map(|set| set.available).sum::<i64>();
                prop_assert!(after >= least.min(before), "{after} of {least}, {before} before");
            }
            prop_assert_eq!((new.wanted, total(&old)), (replicas, 0));
        }
    }

    #[test]
    fn percentages_round_up_for_more_and_down_for_fewer() {
        let plan = |spec: Value| Plan::of(&json!({"spec": spec})).rolling;
        assert_eq!(plan(json!({"replicas": 10})), Some((3, 2)));
        let spec =
            json!({"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "1%"}}});
        assert_eq!(plan(spec), Some((0, 1)), "one, for nothing could move");
        assert_eq!(plan(json!({"strategy": {"type": "Recreate"}})), None);
    }
}
