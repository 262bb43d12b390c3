//! What a workload owns: its Pods and `ReplicaSet`s, made, counted and deleted.

use std::time::Duration;

use serde_json::{Value, json};

use crate::builtin;
use crate::controllers::garbage;
use crate::object::{at, is_terminating, meta, meta_mut, meta_str, str_at};
use crate::state::State;
use crate::write::Propagation;

/// The most Pods of one workload at a time: whatever it asks for, its Pods fit in memory.
pub(super) const MOST: usize = 1000;

/// An object with a place.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub(super) key: String,
    pub(super) uid: String,
    pub(super) object: Value,
}

impl Owned {
    /// The object at a place, unless it is gone.
    pub(super) fn at(state: &State, collection: &str, key: &str) -> Option<Self> {
        let stored = state.store.get(collection, key)?;
        Some(Self {
            key: key.to_owned(),
            uid: stored.uid.to_string(),
            object: stored.value(),
        })
    }

    pub(super) fn name(&self) -> &str {
        meta_str(&self.object, "name")
    }

    pub(super) fn label(&self, key: &str) -> &str {
        meta(&self.object)
            .and_then(|meta| meta.get("labels")?.get(key)?.as_str())
            .unwrap_or_default()
    }

    pub(super) fn phase(&self) -> &str {
        str_at(&self.object, "status.phase")
    }

    /// Neither done nor on its way out.
    pub(super) fn is_active(&self) -> bool {
        !is_terminating(&self.object) && !matches!(self.phase(), "Succeeded" | "Failed")
    }

    pub(super) fn is_ready(&self) -> bool {
        self.object["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    }

    /// A number; numbers of the API have 32 bits, and sums of them cannot overflow here.
    pub(super) fn number(&self, path: &str, default: i64) -> i64 {
        let most = i64::from(i32::MAX);
        let found = at(&self.object, path).and_then(Value::as_i64);
        found.unwrap_or(default).clamp(-most, most)
    }

    pub(super) fn generation(&self) -> i64 {
        self.number("metadata.generation", 0)
    }
}

/// What this owner controls in a collection, in the order of names.
pub(super) fn owned(state: &State, owner: &Owned, collection: &str) -> Vec<Owned> {
    let controls = |object: &Value| {
        meta(object)
            .and_then(|meta| meta.get("ownerReferences")?.as_array())
            .into_iter()
            .flatten()
            .any(|reference| reference["uid"] == owner.uid.as_str() && reference["controller"] == true)
    };
    state
        .work
        .dependents(&owner.uid)
        .into_iter()
        .filter(|(place, _)| &**place == collection)
        .filter_map(|(_, key)| Owned::at(state, collection, &key))
        .filter(|owned| controls(&owned.object))
        .collect()
}

/// How Pods stand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) all: i64,
    pub(super) ready: i64,
    pub(super) available: i64,
}

/// Counts Pods; those that are ready are available after some time, when the owner looks again.
pub(super) fn count(state: &mut State, pods: &[Owned], owner: &Owned, collection: &str) -> Counts {
    let mut counts = Counts::default();
    for pod in pods {
        counts.all += 1;
        counts.ready += i64::from(pod.is_ready());
        counts.available += i64::from(is_available(state, pod, owner, collection));
    }
    counts
}

fn is_available(state: &mut State, pod: &Owned, owner: &Owned, collection: &str) -> bool {
    let wait = u64::try_from(owner.number("spec.minReadySeconds", 0)).unwrap_or_default();
    let Some(since) = state.simulation.ready_since(&pod.uid, pod.is_ready()) else {
        return false;
    };
    let at = since + Duration::from_secs(wait);
    if at <= state.simulation.now {
        return true;
    }
    state.simulation.wake(at, collection, &owner.key);
    false
}

/// Makes an object that the owner controls.
pub(super) fn make(
    state: &mut State,
    owner: &Owned,
    kind: (&str, &str),
    collection: &str,
    name: &str,
    mut object: Value,
) {
    let namespace = meta_str(&owner.object, "namespace").to_owned();
    let living = state
        .store
        .get("namespaces", &namespace)
        .is_some_and(|stored| !is_terminating(&stored.value()));
    let key = format!("{namespace}/{name}");
    if !living || state.store.get(collection, &key).is_some() {
        return;
    }
    let uid = state.ids.uid();
    let now = state.now();
    let reference = json!([{
        "apiVersion": kind.0, "kind": kind.1, "name": owner.name(), "uid": owner.uid,
        "controller": true, "blockOwnerDeletion": true,
    }]);
    let metadata = meta_mut(&mut object);
    metadata.insert("name".into(), name.into());
    metadata.insert("namespace".into(), namespace.into());
    metadata.insert("uid".into(), uid.into());
    metadata.insert("creationTimestamp".into(), now.into());
    metadata.insert("generation".into(), 1.into());
    metadata.insert("ownerReferences".into(), reference);
    state.put_at(collection, &key, object, 0);
}

/// Makes a Pod of the owner's template, under a generated name unless it has one.
pub(super) fn make_pod(
    state: &mut State,
    owner: &Owned,
    kind: (&str, &str),
    name: Option<String>,
    edit: impl FnOnce(&mut Value),
) {
    let template = &owner.object["spec"]["template"];
    let mut pod = json!({"metadata": {}, "spec": template["spec"]});
    for part in ["labels", "annotations"] {
        if template["metadata"][part].is_object() {
            pod["metadata"][part] = template["metadata"][part].clone();
        }
    }
    let name = name.unwrap_or_else(|| {
        let prefix = format!("{}-", owner.name());
        pod["metadata"]["generateName"] = prefix.clone().into();
        state.ids.name(&prefix)
    });
    edit(&mut pod);
    crate::defaults::apply("", "v1", "Pod", &mut pod);
    if state.accounts {
        let place = format!(
            "{}/{}",
            meta_str(&owner.object, "namespace"),
            builtin::account_of(&pod)
        );
        let Some(account) = state.store.get("serviceaccounts", &place).map(|a| a.value()) else {
            // As on a cluster, no Pod comes without its account; the owner looks again in a while.
            let at = state.simulation.now + Duration::from_secs(1);
            let collection = collection_of(kind.1);
            state.simulation.wake(at, collection, &owner.key);
            return;
        };
        let volume = state.ids.name("kube-api-access-");
        builtin::attach(&mut pod, &account, &volume);
    }
    builtin::admit(&mut pod);
    if let Some(pods) = state.registry.get("", "v1", "pods") {
        pod["status"] = builtin::first_status(pods, &pod);
    }
    make(state, owner, kind, "pods", &name, pod);
}

fn collection_of(kind: &str) -> &'static str {
    match kind {
        "StatefulSet" => super::STATEFUL_SETS,
        "DaemonSet" => super::DAEMON_SETS,
        "Job" => super::JOBS,
        _ => super::REPLICA_SETS,
    }
}

/// Deletes a Pod or `ReplicaSet`.
pub(super) fn delete(state: &mut State, collection: &str, owned: &Owned) {
    garbage::delete(state, collection, &owned.key, Propagation::Background);
}

/// Writes a status.
pub(super) fn set_status(state: &mut State, collection: &str, key: &str, status: Value) {
    garbage::change(state, collection, key, |object| object["status"] = status);
}

/// Sets a condition; its transition time stays while its status does.
pub(super) fn set_condition(
    conditions: &mut Vec<Value>,
    kind: &str,
    status: bool,
    reason: &str,
    message: &str,
    now: &str,
) {
    let status = if status { "True" } else { "False" };
    let mut new = json!({"type": kind, "status": status, "lastTransitionTime": now});
    if !reason.is_empty() {
        new["reason"] = reason.into();
        new["message"] = message.into();
    }
    match conditions.iter_mut().find(|old| old["type"] == kind) {
        Some(old) => {
            if old["status"] == status {
                new["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = new;
        }
        None => conditions.push(new),
    }
}

/// The conditions an object has.
pub(super) fn conditions(object: &Value) -> Vec<Value> {
    object["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

/// A short name for a template: the same for the same value, whatever the order of its fields.
pub(super) fn hash(template: &Value) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut left = mix(template, 0xcbf2_9ce4_8422_2325);
    let mut text = String::new();
    for _ in 0..10 {
        let at = usize::try_from(left % ALPHABET.len() as u64).unwrap_or_default();
        text.push(char::from(ALPHABET[at]));
        left /= ALPHABET.len() as u64;
    }
    text
}

fn mix(value: &Value, seed: u64) -> u64 {
    let bytes = |seed: u64, bytes: &[u8]| {
        bytes.iter().fold(seed, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    match value {
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(field, _)| *field);
            let folded = fields
                .into_iter()
                .fold(bytes(seed, b"{"), |hash, (field, value)| {
                    mix(value, bytes(bytes(hash, field.as_bytes()), b":"))
                });
            bytes(folded, b"}")
        }
        Value::Array(items) => {
            let folded = items.iter().fold(bytes(seed, b"["), |hash, item| mix(item, hash));
            bytes(folded, b"]")
        }
        other => bytes(seed, other.to_string().as_bytes()),
    }
}
