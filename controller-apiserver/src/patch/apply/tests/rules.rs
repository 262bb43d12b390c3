//! Rules of apply that the recorded conversations touch only once.

use serde_json::{Value, json};

use crate::patch::{
    apply::{
        ApplyError, Manager, ResetFields, Target, Versions, apply, default_manager, keep_times, track_update,
    },
    typed::{Schema, builtin},
};

pub(super) const TARGET_KIND: &str = "Thing";

/// A kind with one version, `v1`.
pub(super) struct Single(Schema);

impl Versions for Single {
    fn schema(&self, api_version: &str) -> Option<Schema> {
        (api_version == "v1").then(|| self.0.clone())
    }
}

pub(super) fn single(schema: &Value) -> Single {
    Single(Schema::custom(schema))
}

struct Play {
    kind: Single,
    name: &'static str,
    builtin: bool,
}

impl Play {
    fn config_map() -> Self {
        Self {
            kind: Single(builtin("", "v1", "ConfigMap").unwrap()),
            name: "ConfigMap",
            builtin: true,
        }
    }

    fn things(schema: &Value) -> Self {
        Self {
            kind: single(schema),
            name: TARGET_KIND,
            builtin: false,
        }
    }

    fn with<T>(&self, call: impl FnOnce(&Target<'_>) -> T) -> T {
        let reset = ResetFields::none();
        call(&Target {
            kind: self.name,
            versions: &self.kind,
            reset: &reset,
            builtin: self.builtin,
        })
    }

    fn apply_at(
        &self,
        live: Option<&Value>,
        part: &Value,
        manager: &str,
        force: bool,
        second: i64,
    ) -> Result<Value, ApplyError> {
        let mut applied = json!({"apiVersion": "v1", "kind": self.name, "metadata": {"name": "a"}});
        crate::patch::merge::apply(&mut applied, part).unwrap();
        let manager = Manager {
            name: manager,
            subresource: "",
            api_version: "v1",
        };
        let now = jiff::Timestamp::from_second(second).unwrap();
        self.with(|target| apply(target, live, &applied, &manager, force, now))
    }

    fn apply(&self, live: Option<&Value>, part: &Value, manager: &str) -> Result<Value, ApplyError> {
        self.apply_at(live, part, manager, false, 0)
    }

    fn update(&self, old: Option<&Value>, new: &Value, manager: &str, second: i64) -> Value {
        let mut new = new.clone();
        let manager = Manager {
            name: manager,
            subresource: "",
            api_version: "v1",
        };
        let now = jiff::Timestamp::from_second(second).unwrap();
        self.with(|target| track_update(target, old, &mut new, &manager, now));
        new
    }
}

fn entries(object: &Value) -> &[Value] {
    object["metadata"]["managedFields"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}, "data": data})
}

#[test]
fn forgotten_ownership_returns_with_the_first_apply() {
    let play = Play::config_map();
    let created = play.update(None, &config_map(&json!({"k": "1"})), "one", 0);
    assert_eq!(entries(&created).len(), 1);
    for wiped in [json!([]), json!([{}])] {
        let mut new = created.clone();
        new["metadata"]["managedFields"] = wiped;
        let new = play.update(Some(&created), &new, "two", 0);
        assert_eq!(entries(&new), &[] as &[Value]);
        let mut changed = new.clone();
        changed["data"]["k"] = json!("2");
        let changed = play.update(Some(&new), &changed, "three", 0);
        assert_eq!(entries(&changed), &[] as &[Value]);
        let error = play
            .apply(Some(&changed), &json!({"data": {"k": "9"}}), "four")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.k"
        );
    }
}

#[test]
fn owners_in_the_body_are_refused_by_apply_and_taken_by_update() {
    let play = Play::config_map();
    let live = play.apply(None, &json!({"data": {"k": "1"}}), "one").unwrap();
    let with_owners = json!({"metadata": {"managedFields": []}});
    let error = play.apply(Some(&live), &with_owners, "one").unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (400, "metadata.managedFields must be nil")
    );

    let mut new = live.clone();
    new["metadata"]["managedFields"][0]["manager"] = json!("renamed");
    let new = play.update(Some(&live), &new, "two", 0);
    assert_eq!(entries(&new)[0]["manager"], "renamed");

    let mut broken = new.clone();
    broken["metadata"]["managedFields"][0]["operation"] = json!("Nonsense");
    let kept = play.update(Some(&new), &broken, "two", 0);
    assert_eq!(kept, new);
}

#[test]
fn another_kind_or_version_is_no_configuration_of_this_one() {
    let play = Play::config_map();
    for (part, text) in [
        (json!({"kind": "Secret"}), "invalid object type: /v1, Kind=Secret"),
        (
            json!({"apiVersion": "apps/v1"}),
            "invalid object type: apps/v1, Kind=ConfigMap",
        ),
        (
            json!({"apiVersion": null, "kind": null}),
            "invalid object type: /, Kind=",
        ),
    ] {
        let error = play.apply(None, &part, "one").unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), (400, text));
    }
}

#[test]
fn a_map_that_has_become_atomic_is_owned_as_a_whole() {
    let schema = |map_type: &str| {
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"m": {
            "type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": map_type,
        }}}}})
    };
    let live = Play::things(&schema("granular"))
        .apply(None, &json!({"spec": {"m": {"a": "1", "b": "1"}}}), "one")
        .unwrap();
    let atomic = Play::things(&schema("atomic"));
    let error = atomic
        .apply(Some(&live), &json!({"spec": {"m": {"c": "1"}}}), "two")
        .unwrap_err();
    assert_eq!(error.causes()[0].field, ".spec.m");
    let live = atomic
        .apply(Some(&live), &json!({"spec": {"m": {"a": "1"}}}), "one")
        .unwrap();
    assert_eq!(live["spec"]["m"], json!({"a": "1"}));
}

#[test]
fn untyped_parts_are_merged_by_member_and_lists_in_them_replaced() {
    let play = Play::things(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
    let live = play
        .apply(None, &json!({"spec": {"x": {"a": 1, "l": [1, 2]}}}), "one")
        .unwrap();
    let live = play
        .apply(Some(&live), &json!({"spec": {"x": {"b": 2}}}), "two")
        .unwrap();
    assert_eq!(live["spec"]["x"], json!({"a": 1, "b": 2, "l": [1, 2]}));
    let error = play
        .apply(Some(&live), &json!({"spec": {"x": {"l": [3]}}}), "two")
        .unwrap_err();
    assert_eq!(error.causes()[0].field, ".spec.x.l");
    let live = play
        .apply_at(Some(&live), &json!({"spec": {"x": "text"}}), "two", true, 0)
        .unwrap();
    assert_eq!(live["spec"], json!({"x": "text"}));
}

#[test]
fn duplicates_that_are_stored_are_lived_with() {
    let play = Play::things(
        &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"l": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "integer"}}},
        }}}}}),
    );
    let stored = json!({"apiVersion": "v1", "kind": TARGET_KIND, "metadata": {"name": "a"},
        "spec": {"l": [{"name": "d", "v": 1}, {"name": "d", "v": 2}, {"name": "e", "v": 1}]}});
    let live = play.update(None, &stored, "one", 0);
    let live = play
        .apply(Some(&live), &json!({"spec": {"l": [{"name": "f"}]}}), "two")
        .unwrap();
    assert_eq!(live["spec"]["l"].as_array().unwrap().len(), 4);
    let live = play
        .apply_at(
            Some(&live),
            &json!({"spec": {"l": [{"name": "d", "v": 9}]}}),
            "two",
            true,
            0,
        )
        .unwrap();
    assert_eq!(
        live["spec"]["l"],
        json!([{"name": "d", "v": 9}, {"name": "e", "v": 1}])
    );
}

/// kubernetes/kubernetes#118519: times alone must not make a write of what is none.
#[test]
fn times_alone_are_no_change() {
    let play = Play::config_map();
    let old = play
        .apply_at(None, &json!({"data": {"k": "1"}}), "one", false, 0)
        .unwrap();
    let mut new = old.clone();
    new["metadata"]["managedFields"][0]["time"] = json!("2030-01-01T00:00:00Z");
    let later = new.clone();
    keep_times(&old, &mut new);
    assert_eq!(new, old);
    let mut new = later.clone();
    new["data"]["k"] = json!("2");
    keep_times(&old, &mut new);
    assert_eq!(new["metadata"], later["metadata"]);
}

#[test]
fn the_oldest_updates_are_put_together() {
    let play = Play::config_map();
    let mut live = play.update(None, &config_map(&json!({"k0": "1"})), "m0", 0);
    for second in 1..14 {
        let mut new = live.clone();
        new["data"][format!("k{second}")] = json!("1");
        live = play.update(Some(&live), &new, &format!("m{second}"), second);
    }
    assert_eq!(entries(&live).len(), 10);
    let ancient = entries(&live)
        .iter()
        .find(|entry| entry["manager"] == "ancient-changes")
        .unwrap();
    assert_eq!(ancient["fieldsV1"]["f:data"].as_object().unwrap().len(), 6);
}

/// From `kubectl apply` to `kubectl apply --server-side`: the manager of the latter takes over what the
/// annotation shows it wrote itself.
#[test]
fn kubectl_moves_from_the_client_to_the_server() {
    let play = Play::config_map();
    let last = "kubectl.kubernetes.io/last-applied-configuration";
    let applied =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "1"}});
    let mut created = config_map(&json!({"k": "1"}));
    created["metadata"]["annotations"] = json!({last: applied.to_string()});
    let live = play.update(None, &created, "kubectl-client-side-apply", 0);
    let part = json!({"data": {"k": "2"}});
    assert_eq!(play.apply(Some(&live), &part, "another").unwrap_err().code(), 409);
    let live = play.apply(Some(&live), &part, "kubectl").unwrap();
    assert_eq!(live["data"], json!({"k": "2"}));
    let annotation: Value =
        serde_json::from_str(live["metadata"]["annotations"][last].as_str().unwrap()).unwrap();
    assert_eq!(annotation["data"], json!({"k": "2"}));
}

#[test]
fn the_manager_of_a_request_without_one_is_its_agent() {
    assert_eq!(default_manager("my-agent/v1.2 (linux)"), "my-agent");
    assert_eq!(default_manager("a\u{7}b"), "ab");
    assert_eq!(default_manager(&"x".repeat(300)).len(), 128);
    assert_eq!(default_manager(""), "");
}
