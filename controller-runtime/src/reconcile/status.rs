//! The `Status` extractor, and `status(conditions)`: one write at the end of a run, if anything differs.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

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
}

impl Status {
    /// Nothing is wanted yet. Also for tests of plain functions, which look at [`wanted`](Self::wanted).
    pub fn new() -> Self {
        Self::default()
    }

    /// Wants these fields; a field that is `null` goes, one that is not mentioned stays. What cannot be a JSON object is
    /// logged and ignored.
    pub fn set(&self, fields: impl Serialize) {
        match serde_json::to_value(fields) {
            Ok(Value::Object(fields)) => {
                self.wanted
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(fields);
            }
            Ok(_) => tracing::error!("a status is an object: what was set is ignored"),
            Err(error) => tracing::error!(%error, "a status that cannot be serialized is ignored"),
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
        run.status.clone()
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

/// What the `Ready` condition says.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) holds: bool,
    pub(super) reason: String,
    pub(super) message: String,
}

/// Completes `wanted` by the condition and the generation that it is about. Pure.
pub(super) fn with_ready(
    wanted: &mut Map<String, Value>,
    ready: &Ready,
    stored: &Value,
    generation: Option<i64>,
    now: &str,
) {
    let status = if ready.holds { "True" } else { "False" };
    let listed = wanted.get("conditions").or_else(|| stored.get("conditions"));
    let mut conditions = listed.and_then(Value::as_array).cloned().unwrap_or_default();
    let place = conditions
        .iter()
        .position(|condition| condition["type"] == "Ready");
    let before = place.map(|place| &conditions[place]);
    // The API conventions: the time is that of the last change of the status alone.
    let since = before
        .filter(|before| before["status"] == status)
        .and_then(|before| before["lastTransitionTime"].as_str())
        .unwrap_or(now)
        .to_owned();
    let mut condition = json!({
        "type": "Ready",
        "status": status,
        "reason": ready.reason,
        "message": ready.message,
        "lastTransitionTime": since,
    });
    if let Some(generation) = generation {
        condition["observedGeneration"] = json!(generation);
        wanted.insert("observedGeneration".to_owned(), json!(generation));
    }
    match place {
        Some(place) => conditions[place] = condition,
        None => conditions.push(condition),
    }
    wanted.insert("conditions".to_owned(), Value::Array(conditions));
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

    fn ready(ready: bool) -> Ready {
        Ready {
            holds: ready,
            reason: "Why".into(),
            message: "because".into(),
        }
    }

    #[test]
    fn the_same_again_changes_nothing() {
        let mut wanted = Map::new();
        with_ready(&mut wanted, &ready(true), &Value::Null, Some(3), "t1");
        let stored = Value::Object(wanted);
        let mut again = Map::new();
        with_ready(&mut again, &ready(true), &stored, Some(3), "t2");
        assert!(!changes(&Value::Object(again.clone()), &stored));
        with_ready(&mut again, &ready(false), &stored, Some(3), "t2");
        assert!(changes(&Value::Object(again.clone()), &stored));
        assert_eq!(again["conditions"][0]["lastTransitionTime"], "t2");
    }

    #[test]
    fn conditions_of_others_stay() {
        let stored = json!({ "conditions": [{ "type": "Theirs", "status": "True" }] });
        let mut wanted = Map::new();
        with_ready(&mut wanted, &ready(true), &stored, None, "t1");
        assert_eq!(wanted["conditions"][0]["type"], "Theirs");
        assert_eq!(wanted["conditions"][1]["type"], "Ready");
        assert!(!wanted.contains_key("observedGeneration"));
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
