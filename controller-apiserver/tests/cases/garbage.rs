//! kubernetes-sigs/controller-runtime#1459, #880: no cascading deletion, and namespaces stuck for ever.

use serde_json::{Value, json};

use crate::{CONFIG_MAP, Cluster, Kind, LEASE, WIDGET};

fn owner_of(owner: &Value, block: bool) -> Value {
    json!({"ownerReferences": [{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": block,
    }]})
}

/// Owner and dependent, of kinds that differ.
const PAIRS: [(Kind, Kind); 3] = [(WIDGET, CONFIG_MAP), (CONFIG_MAP, LEASE), (LEASE, WIDGET)];

async fn family(cluster: &Cluster, (owner, child): (Kind, Kind), finalizers: Value) -> Value {
    let parent = cluster.post(owner.path, owner.object("p", 0, json!({}))).await;
    let mut metadata = owner_of(&parent, true);
    metadata["finalizers"] = finalizers;
    let first = cluster.post(child.path, child.object("c", 0, metadata)).await;
    cluster
        .post(child.path, child.object("cc", 0, owner_of(&first, false)))
        .await;
    cluster.settle().await;
    parent
}

#[tokio::test(start_paused = true)]
async fn background_takes_the_dependents_after_the_owner() {
    for pair in PAIRS {
        let cluster = Cluster::new().await;
        family(&cluster, pair, json!([])).await;
        let (code, answer) = cluster.delete(&pair.0.item("p"), json!({})).await;
        assert_eq!((code, answer["kind"].as_str()), (200, Some("Status")));
        assert_eq!(cluster.get(&pair.1.item("c")).await.0, 200, "not at once");
        cluster.settle().await;
        for name in ["c", "cc"] {
            assert_eq!(cluster.get(&pair.1.item(name)).await.0, 404, "{pair:?} {name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn foreground_holds_the_owner_until_its_dependents_are_gone() {
    for pair in PAIRS {
        let cluster = Cluster::new().await;
        family(&cluster, pair, json!(["x.io/hold"])).await;
        let options = json!({"propagationPolicy": "Foreground"});
        let (_, marked) = cluster.delete(&pair.0.item("p"), options).await;
        assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
        cluster.settle().await;
        let (code, child) = cluster.get(&pair.1.item("c")).await;
        assert_eq!(code, 200);
        assert!(child["metadata"]["deletionTimestamp"].is_string(), "{pair:?}");
        assert_eq!(cluster.get(&pair.0.item("p")).await.0, 200, "the owner waits");
        let mut left = child["metadata"]["finalizers"].clone();
        left.as_array_mut().unwrap().retain(|f| f != "x.io/hold");
        cluster
            .merge(&pair.1.item("c"), json!({"metadata": {"finalizers": left}}))
            .await;
        cluster.settle().await;
        assert_eq!(cluster.get(&pair.1.item("c")).await.0, 404);
        assert_eq!(cluster.get(&pair.0.item("p")).await.0, 404);
    }
}

#[tokio::test(start_paused = true)]
async fn orphans_lose_their_owner_and_stay() {
    for pair in PAIRS {
        let cluster = Cluster::new().await;
        family(&cluster, pair, json!([])).await;
        cluster
            .delete(&pair.0.item("p"), json!({"propagationPolicy": "Orphan"}))
            .await;
        cluster.settle().await;
        assert_eq!(cluster.get(&pair.0.item("p")).await.0, 404);
        let (code, child) = cluster.get(&pair.1.item("c")).await;
        assert_eq!(code, 200, "{pair:?}");
        assert!(child["metadata"].get("ownerReferences").is_none());
        assert_eq!(cluster.get(&pair.1.item("cc")).await.0, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dependent_of_nobody_goes_and_one_of_an_unknown_kind_stays() {
    let cluster = Cluster::new().await;
    let reference = |kind: &str, api_version: &str| {
        json!({"ownerReferences": [{
            "apiVersion": api_version, "kind": kind, "name": "nobody",
            "uid": "11111111-2222-3333-4444-555555555555",
        }]})
    };
    let path = CONFIG_MAP.path;
    cluster
        .post(path, CONFIG_MAP.object("lost", 0, reference("ConfigMap", "v1")))
        .await;
    cluster
        .post(
            path,
            CONFIG_MAP.object("unknown", 0, reference("Gadget", "y.io/v1")),
        )
        .await;
    cluster.settle().await;
    assert_eq!(cluster.get(&CONFIG_MAP.item("lost")).await.0, 404);
    assert_eq!(
        cluster.get(&CONFIG_MAP.item("unknown")).await.0,
        200,
        "nothing is deleted on a guess"
    );
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_when_its_content_is_gone() {
    let cluster = Cluster::new().await;
    cluster
        .post("/api/v1/namespaces", json!({"metadata": {"name": "x"}}))
        .await;
    for kind in [CONFIG_MAP, WIDGET] {
        let path = kind.path.replace("/default/", "/x/");
        cluster.post(&path, kind.object("plain", 0, json!({}))).await;
        cluster
            .post(
                &path,
                kind.object("held", 0, json!({"finalizers": ["x.io/hold"]})),
            )
            .await;
    }
    cluster.delete("/api/v1/namespaces/x", json!({})).await;
    cluster.settle().await;
    let (_, namespace) = cluster.get("/api/v1/namespaces/x").await;
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let path = CONFIG_MAP.path.replace("/default/", "/x/");
    let late = CONFIG_MAP.object("late", 0, json!({}));
    assert_eq!(
        cluster.send("POST", &path, "application/json", &late).await.0,
        403
    );
    for kind in [CONFIG_MAP, WIDGET] {
        let path = kind.path.replace("/default/", "/x/");
        assert_eq!(cluster.get(&format!("{path}/plain")).await.0, 404);
        assert_eq!(cluster.get("/api/v1/namespaces/x").await.0, 200);
        cluster
            .merge(&format!("{path}/held"), json!({"metadata": {"finalizers": []}}))
            .await;
        cluster.settle().await;
    }
    assert_eq!(cluster.get("/api/v1/namespaces/x").await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_definition_takes_its_objects_with_it() {
    let cluster = Cluster::new().await;
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.x.io";
    cluster
        .post(
            WIDGET.path,
            WIDGET.object("held", 0, json!({"finalizers": ["x.io/hold"]})),
        )
        .await;
    let watch = cluster.watch(WIDGET.path).await;
    cluster.delete(definition, json!({})).await;
    cluster.settle().await;
    assert_eq!(cluster.get(definition).await.0, 200, "an object holds it");
    let late = WIDGET.object("late", 0, json!({}));
    assert_eq!(
        cluster
            .send("POST", WIDGET.path, "application/json", &late)
            .await
            .0,
        403
    );
    cluster
        .merge(&WIDGET.item("held"), json!({"metadata": {"finalizers": []}}))
        .await;
    cluster.settle().await;
    assert_eq!(cluster.get(definition).await.0, 404);
    assert_eq!(cluster.get(WIDGET.path).await.0, 404);
    assert_eq!(watch.take().await.last().unwrap(), "DELETED held");
}

/// A definition that is deleted and made again begins anew: without the old objects, and for new watches.
#[tokio::test(start_paused = true)]
async fn a_definition_that_comes_back_has_none_of_its_old_objects() {
    let cluster = Cluster::new().await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let path = format!("{definitions}/widgets.x.io");
    let (_, mut definition) = cluster.get(&path).await;
    cluster
        .post(WIDGET.path, WIDGET.object("old", 0, json!({})))
        .await;
    let before = cluster.watch(WIDGET.path).await;
    cluster.delete(&path, json!({})).await;
    cluster.settle().await;
    assert_eq!(before.take().await.last().unwrap(), "DELETED old");
    assert_eq!(cluster.get(WIDGET.path).await.0, 404);

    definition["metadata"] = json!({"name": "widgets.x.io"});
    definition.as_object_mut().unwrap().remove("status");
    cluster.post(definitions, definition).await;
    cluster.settle().await;
    let (code, list) = cluster.get(WIDGET.path).await;
    assert_eq!((code, &list["items"]), (200, &json!([])));
    let after = cluster.watch(WIDGET.path).await;
    let made = cluster
        .post(WIDGET.path, WIDGET.object("old", 0, json!({})))
        .await;
    assert_eq!(made["metadata"]["generation"], 1);
    cluster.settle().await;
    assert_eq!(after.take().await, ["ADDED old"]);
    assert_eq!(before.take().await, [""; 0], "the old watch has ended");
}

/// Puts an object under a further owner.
async fn adopt(cluster: &Cluster, item: &str, owner: &Value, block: bool) {
    let (code, answer) = cluster
        .merge(item, json!({"metadata": owner_of(owner, block)}))
        .await;
    assert_eq!(code, 200, "{answer}");
}

/// An owner that waits for its dependents takes those along that it does not wait for: in the foreground, when they have dependents.
#[tokio::test(start_paused = true)]
async fn foreground_goes_on_below_a_dependent_that_does_not_block() {
    for (owner, child) in PAIRS {
        let cluster = Cluster::new().await;
        let parent = cluster.post(owner.path, owner.object("a", 0, json!({}))).await;
        let middle = cluster
            .post(child.path, child.object("b", 0, owner_of(&parent, false)))
            .await;
        let mut held = owner_of(&middle, true);
        held["finalizers"] = json!(["x.io/hold"]);
        cluster.post(child.path, child.object("c", 0, held)).await;
        cluster.settle().await;
        cluster
            .delete(&owner.item("a"), json!({"propagationPolicy": "Foreground"}))
            .await;
        cluster.settle().await;
        assert_eq!(cluster.get(&owner.item("a")).await.0, 404, "nothing blocks it");
        let (_, middle) = cluster.get(&child.item("b")).await;
        assert_eq!(
            middle["metadata"]["finalizers"],
            json!(["foregroundDeletion"]),
            "{owner:?} {child:?}"
        );
        cluster
            .merge(&child.item("c"), json!({"metadata": {"finalizers": null}}))
            .await;
        cluster.settle().await;
        for name in ["b", "c"] {
            assert_eq!(cluster.get(&child.item(name)).await.0, 404, "{name}");
        }
    }
}

/// Owners that block each other in a circle, of two objects and of more, do not wait for ever.
#[tokio::test(start_paused = true)]
async fn a_circle_of_blocking_owners_is_broken() {
    for (first, others) in PAIRS {
        for length in 2..5 {
            let cluster = Cluster::new().await;
            let begin = cluster.post(first.path, first.object("o0", 0, json!({}))).await;
            let mut last = begin;
            for number in 1..length {
                let metadata = owner_of(&last, true);
                let object = others.object(&format!("o{number}"), 0, metadata);
                last = cluster.post(others.path, object).await;
            }
            adopt(&cluster, &first.item("o0"), &last, true).await;
            cluster.settle().await;
            cluster
                .delete(&first.item("o0"), json!({"propagationPolicy": "Foreground"}))
                .await;
            cluster.settle().await;
            assert_eq!(cluster.get(&first.item("o0")).await.0, 404, "{first:?} {length}");
            for number in 1..length {
                let (code, left) = cluster.get(&others.item(&format!("o{number}"))).await;
                assert_eq!(code, 404, "{first:?} {length}: {left}");
            }
        }
    }
}
