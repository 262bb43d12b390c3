//! The `Status` extractor, and `status(conditions)`: one write at the end of a run, if anything differs.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::Resource;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{FromReconcile, Reconciler, Run};
use crate::declare::Declaration;

/// What the reconciled object's status is to say.
///
/// Nothing is sent by `set`: the runtime writes once when the function has ended, together with the conditions if
/// there are any, and only if it differs from what is stored. A failed run writes, too.
///
/// ```
/// use controller_runtime::reconcile::Status;
/// use serde_json::json;
///
/// let status = Status::new();
/// status.set(json!({ "rendered": 3 }));
/// assert_eq!(status.wanted(), json!({ "rendered": 3 }));
/// ```
#[derive(Clone, Default)]
pub struct Status {
    wanted: Arc<Mutex<Map<String, Value>>>,
    /// The generation and the time of the run.
    generation: Option<i64>,
    now: Timestamp,
}

impl Status {
    /// Nothing is wanted yet. Also for tests of plain functions, which look at [`wanted`](Self::wanted).
    pub fn new() -> Self {
        Self::default()
    }

    /// Wants these fields; a field that is `null` goes, one that is not mentioned stays. Conditions are wanted each by its
    /// type: those that are not mentioned stay, too. What cannot be a JSON object is logged and ignored.
    pub fn set(&self, fields: impl Serialize) {
        match serde_json::to_value(fields) {
            Ok(Value::Object(mut fields)) => {
                let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(Value::Array(conditions)) = fields.get_mut("conditions").map(Value::take) {
                    fields.remove("conditions");
                    for condition in conditions {
                        want(&mut wanted, condition);
                    }
                }
                wanted.extend(fields);
            }
            Ok(_) => tracing::error!("a status is an object: what was set is ignored"),
            Err(error) => tracing::error!(%error, "a status that cannot be serialized is ignored"),
        }
    }

    /// Wants this condition: what it is called, whether it holds (`None`: nobody knows), a word for programs and a
    /// sentence for people.
    ///
    /// The times and the generation are added when it is written, and other conditions stay as they are.
    ///
    /// ```
    /// use controller_runtime::reconcile::Status;
    ///
    /// let status = Status::new();
    /// status.condition("Available", false, "NoReplicas", "0 of 3 replicas are available");
    /// assert_eq!(status.wanted()["conditions"][0]["status"], "False");
    /// ```
    pub fn condition(
        &self,
        r#type: impl Into<String>,
        holds: impl Into<Option<bool>>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) {
        let said = Said::new(r#type, holds, reason, message);
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        want(&mut wanted, said.into_value());
    }

    /// A condition for a list inside of the status, such as those of a parent of an `HTTPRoute`: it says what
    /// [`condition`](Self::condition) would, and is put where it belongs by [`set`](Self::set).
    ///
    /// `before` are the conditions that stand there now: the time is theirs unless the status of this one changes. Of a
    /// `Status` made by [`new`](Self::new) it is the beginning of 1970.
    ///
    /// ```
    /// use controller_runtime::reconcile::Status;
    /// use serde_json::json;
    ///
    /// let status = Status::new();
    /// let accepted = status.inner_condition(&[], "Accepted", true, "Accepted", "");
    /// status.set(json!({ "parents": [{ "name": "gateway", "conditions": [accepted] }] }));
    /// assert_eq!(status.wanted()["parents"][0]["conditions"][0]["status"], "True");
    /// ```
    #[must_use]
    pub fn inner_condition(
        &self,
        before: &[Condition],
        r#type: impl Into<String>,
        holds: impl Into<Option<bool>>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Condition {
        let said = Said::new(r#type, holds, reason, message);
        let same = before
            .iter()
            .find(|before| before.type_ == said.r#type && before.status == said.status);
        Condition {
            last_transition_time: same.map_or(Time(self.now), |same| same.last_transition_time.clone()),
            type_: said.r#type,
            status: said.status.to_owned(),
            reason: said.reason,
            message: said.message,
            observed_generation: self.generation,
        }
    }

    /// What was set.
    pub fn wanted(&self) -> Value {
        Value::Object(self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl<R: Reconciler> FromReconcile<R> for Status
where
    R::Object: Serialize,
{
    fn from_reconcile(run: &Run<R>) -> Self {
        run.read_status.get_or_init(|| read_status);
        Self {
            generation: run.object.meta().generation,
            now: run.shared.origin.wall(),
            ..run.status.clone()
        }
    }

    fn declare(declaration: &mut Declaration) {
        declaration.uses.status = true;
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Status").field(&self.wanted()).finish()
    }
}

/// How the stored status is read.
pub(super) type ReadStatus<K> = fn(&K) -> Value;

pub(super) fn read_status<K: Serialize>(object: &K) -> Value {
    let object = serde_json::to_value(object).unwrap_or_default();
    object.get("status").cloned().unwrap_or_default()
}

/// What a condition says, without the times and the generation that the runtime adds.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) r#type: String,
    /// `True`, `False` or `Unknown`.
    pub(super) status: &'static str,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Said {
    fn new(
        r#type: impl Into<String>,
        holds: impl Into<Option<bool>>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            r#type: r#type.into(),
            status: match holds.into() {
                Some(true) => "True",
                Some(false) => "False",
                None => "Unknown",
            },
            reason: reason.into(),
            message: message.into(),
        }
    }

    fn into_value(self) -> Value {
        json!({ "type": self.r#type, "status": self.status, "reason": self.reason, "message": self.message })
    }
}

/// Completes what is wanted by `Ready` and the generation that it is about. Pure.
pub(super) fn with_ready(wanted: &mut Map<String, Value>, ready: Said, generation: Option<i64>) {
    want(wanted, ready.into_value());
    if let Some(generation) = generation {
        wanted.insert("observedGeneration".to_owned(), json!(generation));
    }
}

/// Puts the wanted conditions into the stored ones, by type, with the times and generations they miss. Pure.
///
/// The API conventions: a time is that of the last change of the status alone.
pub(super) fn with_conditions(
    wanted: &mut Map<String, Value>,
    stored: &Value,
    generation: Option<i64>,
    now: &str,
) {
    let Some(Value::Array(mine)) = wanted.get_mut("conditions").map(Value::take) else {
        return;
    };
    let mut all = match stored.get("conditions") {
        Some(Value::Array(stored)) => Value::Array(stored.clone()),
        _ => json!([]),
    };
    for mut condition in mine {
        let before = all
            .as_array()
            .into_iter()
            .flatten()
            .find(|before| before["type"] == condition["type"]);
        if condition["lastTransitionTime"].is_null() {
            condition["lastTransitionTime"] = before
                .filter(|before| before["status"] == condition["status"])
                .map_or_else(|| json!(now), |before| before["lastTransitionTime"].clone());
        }
        if let Some(generation) = generation
            && condition["observedGeneration"].is_null()
        {
            condition["observedGeneration"] = json!(generation);
        }
        put(&mut all, condition);
    }
    if all.as_array().is_some_and(Vec::is_empty) {
        wanted.remove("conditions");
    } else {
        wanted.insert("conditions".to_owned(), all);
    }
}

/// Wants a condition, beside those of other types that are wanted already.
fn want(wanted: &mut Map<String, Value>, condition: Value) {
    let conditions = wanted.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    put(conditions, condition);
}

/// Puts a condition into a list of them: in the place of the one of its type, or at the end.
fn put(conditions: &mut Value, condition: Value) {
    let Value::Array(conditions) = conditions else {
        return;
    };
    match conditions
        .iter_mut()
        .find(|other| other["type"] == condition["type"])
    {
        Some(place) => *place = condition,
        None => conditions.push(condition),
    }
}

/// Whether a merge of `wanted` would change `stored`. Pure.
pub(super) fn changes(wanted: &Value, stored: &Value) -> bool {
    match (wanted, stored) {
        (Value::Null, stored) => !stored.is_null(),
        (Value::Object(wanted), Value::Object(stored)) => wanted
            .iter()
            .any(|(key, wanted)| changes(wanted, stored.get(key).unwrap_or(&Value::Null))),
        (Value::Object(wanted), _) => wanted.values().any(|wanted| !wanted.is_null()),
        (wanted, stored) => wanted != stored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(status: &'static str) -> Said {
        Said {
            r#type: "Ready".into(),
            status,
            reason: "Why".into(),
            message: "because".into(),
        }
    }

    /// What is stored after a write of `wanted` and `Ready` over `stored`, at `now`.
    fn written(wanted: &Status, status: &'static str, stored: &Value, generation: i64, now: &str) -> Value {
        let Value::Object(mut wanted) = wanted.wanted() else {
            panic!("a status is an object")
        };
        with_ready(&mut wanted, ready(status), Some(generation));
        with_conditions(&mut wanted, stored, Some(generation), now);
        Value::Object(wanted)
    }

    #[test]
    fn the_same_again_changes_nothing() {
        let status = Status::new();
        status.condition("Printed", None, "NoPrinter", "nobody knows");
        let stored = written(&status, "True", &Value::Null, 3, "t1");
        assert_eq!(stored["observedGeneration"], 3);
        assert!(!changes(&written(&status, "True", &stored, 3, "t2"), &stored));
        let other = written(&status, "False", &stored, 3, "t2");
        assert!(changes(&other, &stored));
        let times: Vec<_> = other["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["lastTransitionTime"])
            .collect();
        assert_eq!(times, ["t1", "t2"], "only a change of the status moves the time");
    }

    #[test]
    fn conditions_of_others_stay() {
        let stored = json!({ "conditions": [{ "type": "Theirs", "status": "True" }] });
        let status = Status::new();
        // A status that is set as a whole has an empty list.
        status.set(json!({ "conditions": [], "observedGeneration": null }));
        let merged = written(&status, "True", &stored, 7, "t1");
        assert_eq!(merged["conditions"][0], stored["conditions"][0]);
        assert_eq!(merged["conditions"][1]["type"], "Ready");
        assert_eq!(merged["observedGeneration"], 7);
    }

    #[test]
    fn a_condition_of_ones_own_may_bring_its_time() {
        let status = Status::new();
        status
            .set(json!({ "conditions": [{ "type": "Own", "status": "True", "lastTransitionTime": "t0" }] }));
        status.condition("Other", true, "R", "");
        let merged = written(&status, "True", &Value::Null, 1, "t1");
        assert_eq!(merged["conditions"][0]["lastTransitionTime"], "t0");
        assert_eq!(merged["conditions"][1]["lastTransitionTime"], "t1");
        assert_eq!(merged["conditions"][1]["observedGeneration"], 1);
    }

    #[test]
    fn an_inner_condition_keeps_its_time_while_its_status_stays() {
        let at = |seconds, generation| Status {
            generation: Some(generation),
            now: Timestamp::from_second(seconds).unwrap(),
            ..Status::new()
        };
        let first = at(1, 1).inner_condition(&[], "Accepted", false, "NoParent", "");
        let later = at(2, 2).inner_condition(
            std::slice::from_ref(&first),
            "Accepted",
            false,
            "NotAllowed",
            "not here",
        );
        assert_eq!(later.last_transition_time, first.last_transition_time);
        assert_eq!(
            (
                later.reason.as_str(),
                later.message.as_str(),
                later.observed_generation
            ),
            ("NotAllowed", "not here", Some(2))
        );
        let other = at(3, 2).inner_condition(&[later], "Accepted", true, "Accepted", "");
        assert_eq!(other.last_transition_time, Time(at(3, 2).now));
        let stranger = at(4, 2).inner_condition(&[other], "ResolvedRefs", true, "ResolvedRefs", "");
        assert_eq!(stranger.last_transition_time, Time(at(4, 2).now));
    }

    #[test]
    fn merges_are_compared_as_merges() {
        let stored = json!({ "a": 1, "b": { "c": [1, 2] } });
        assert!(!changes(
            &json!({ "a": 1, "x": null, "b": { "c": [1, 2] } }),
            &stored
        ));
        assert!(changes(&json!({ "a": null }), &stored));
        assert!(changes(&json!({ "b": { "c": [1] } }), &stored));
        assert!(!changes(&json!({ "new": { "x": null } }), &stored));
    }
}
