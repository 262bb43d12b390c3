//! Children: complete sets, no needless requests, nobody else's objects.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret, ServiceAccount},
};
use kube::{
    ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::json;

use super::world::{Notes, World, config_map, labelled, secret, service_account};
use crate::{Action, controller, reconcile::Children};

/// An account's label `files` lists the `ConfigMap`s that it owns, `name=content` joined by `_`.
#[controller(name = "files", owns(ConfigMap))]
async fn reconcile(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    children: Children,
) -> Result<Action, kube::Error> {
    notes.note(account.name_any());
    let files = account
        .labels()
        .get("files")
        .map(String::as_str)
        .unwrap_or_default();
    let set = files.split('_').filter(|file| !file.is_empty()).map(|file| {
        let (name, content) = file.split_once('.').unwrap_or((file, ""));
        config_map(name, &[("content", content)])
    });
    children
        .apply(set)
        .await
        .inspect_err(|error| notes.note(error.to_string()))?;
    Ok(Action::await_change())
}

async fn files(world: &World) -> BTreeMap<String, String> {
    let all = world
        .api::<ConfigMap>()
        .list(&ListParams::default())
        .await
        .unwrap();
    all.items
        .into_iter()
        .map(|file| (file.name_any(), file.data.unwrap()["content"].clone()))
        .collect()
}

fn writes(world: &World) -> usize {
    world.writes_of("files")
}

#[tokio::test(start_paused = true)]
async fn the_set_is_made_changed_and_pruned_with_one_request_per_difference() {
    let world = World::new().await;
    let notes = Notes::default();
    let account = world
        .create(&labelled(service_account("web"), "files", "a.1_b.1"))
        .await;
    let running = world.start(reconcile::controller(notes.clone())).await;
    assert_eq!(
        files(&world).await,
        [("a".into(), "1".into()), ("b".into(), "1".into())].into()
    );
    assert_eq!(writes(&world), 2);
    assert_eq!(notes.take(), ["web"], "its own writes do not wake it");

    world.label::<ServiceAccount>("web", "files", "b.2_c.1").await;
    assert_eq!(
        files(&world).await,
        [("b".into(), "2".into()), ("c".into(), "1".into())].into()
    );
    assert_eq!(writes(&world), 5, "one changed, one made, one deleted");
    assert_eq!(notes.take(), ["web"]);

    let child = world.api::<ConfigMap>().get("b").await.unwrap();
    assert_eq!(child.owner_references()[0].uid, account.uid().unwrap());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_on_a_converged_cluster_writes_nothing() {
    let world = World::new().await;
    let notes = Notes::default();
    for name in ["x", "y", "z"] {
        world
            .create(&labelled(
                service_account(name),
                "files",
                &format!("{name}1.1_{name}2.2"),
            ))
            .await;
    }
    let running = world.start(reconcile::controller(notes.clone())).await;
    assert_eq!(writes(&world), 6);
    running.stop().await;
    let running = world.start(reconcile::controller(notes.clone())).await;
    assert_eq!(notes.take().len(), 6, "three before and three after the restart");
    assert_eq!(writes(&world), 6);
    world.advance(Duration::from_secs(3600)).await;
    assert_eq!(writes(&world), 6);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_others_change_is_put_right_and_what_others_add_is_left() {
    let world = World::new().await;
    let notes = Notes::default();
    world
        .create(&labelled(service_account("web"), "files", "a.1"))
        .await;
    let running = world.start(reconcile::controller(notes.clone())).await;
    let patch = json!({ "data": { "content": "theirs", "more": "theirs" } });
    world
        .api::<ConfigMap>()
        .patch("a", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    world.settle().await;
    let child = world.api::<ConfigMap>().get("a").await.unwrap().data.unwrap();
    assert_eq!(child["content"], "1");
    assert_eq!(child["more"], "theirs");
    assert_eq!(world.events("TookOver").await.len(), 1, "a take-over is told");

    world
        .api::<ConfigMap>()
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    world.settle().await;
    assert_eq!(files(&world).await.len(), 1, "a deleted child is made again");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn objects_of_others_and_of_nobody_are_refused() {
    let world = World::new().await;
    let notes = Notes::default();
    world.create(&config_map("nobodys", &[("content", "keep")])).await;
    world
        .create(&labelled(service_account("web"), "files", "nobodys.1_mine.1"))
        .await;
    let running = world.start(reconcile::controller(notes.clone())).await;
    let heard = notes.take();
    assert!(
        heard[1].contains("ConfigMap nobodys exists and belongs to nobody"),
        "{heard:?}"
    );
    let expected = [("nobodys".into(), "keep".into()), ("mine".into(), "1".into())].into();
    assert_eq!(
        files(&world).await,
        expected,
        "the others of the set are written all the same"
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn children_of_plain_functions_can_be_tested_without_a_controller() {
    let world = World::new().await;
    let account = world
        .create(&labelled(service_account("web"), "files", "a.1"))
        .await;
    let children = Children::new(world.client.clone(), "files", &account)
        .knowing(&crate::store::Store::<ConfigMap>::from_objects([]));
    reconcile(Arc::new(account), Arc::default(), children.clone())
        .await
        .unwrap();
    assert_eq!(files(&world).await.len(), 1);

    let refused = children.apply([secret("s")]).await.unwrap_err();
    assert!(refused.to_string().contains("add `owns(Secret)`"), "{refused}");
    let mut elsewhere = config_map("a", &[]);
    elsewhere.metadata.namespace = Some("other".into());
    let refused = children.apply([elsewhere]).await.unwrap_err();
    assert!(refused.to_string().contains("in namespace other"), "{refused}");
    assert_eq!(
        world
            .api::<Secret>()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        0
    );
}

/// Two keys as texts, one of which is also there as data.
#[controller(name = "texts", owns(Secret))]
async fn texts(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    children: Children,
) -> Result<Action, kube::Error> {
    let mut secret = secret(&account.name_any());
    let text = |key: &str, text: &str| (key.to_owned(), text.to_owned());
    secret.string_data = Some([text("user", "gr\u{fc}n"), text("both", "text")].into());
    secret.data = Some([("both".to_owned(), ByteString(b"data".to_vec()))].into());
    children.apply([secret]).await?;
    notes.note(account.name_any());
    Ok(Action::await_change())
}

/// A server takes `stringData` and never gives it back: it must not look as if it were missing.
#[tokio::test(start_paused = true)]
async fn texts_of_a_secret_are_written_once() {
    let world = World::new().await;
    let notes = Notes::default();
    world.create(&service_account("web")).await;
    let running = world.start(texts::controller(notes.clone())).await;
    let data = world.api::<Secret>().get("web").await.unwrap().data.unwrap();
    assert_eq!(data["user"].0, "gr\u{fc}n".as_bytes());
    assert_eq!(data["both"].0, b"text", "a text goes before data");
    assert_eq!(world.writes_of("texts"), 1);
    world.label::<ServiceAccount>("web", "some", "change").await;
    running.stop().await;
    let running = world.start(texts::controller(notes.clone())).await;
    assert_eq!(
        notes.take().len(),
        3,
        "it ran at the start, at a change, and at the restart"
    );
    assert_eq!(world.writes_of("texts"), 1);
    running.stop().await;
}

/// A child as a release of yesterday applied it: with these owners.
async fn applied(world: &World, name: &str, owners: serde_json::Value) {
    let child = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "ownerReferences": owners },
        "data": { "content": "1" },
    });
    world
        .api::<ConfigMap>()
        .patch(name, &PatchParams::apply("files"), &Patch::Apply(&child))
        .await
        .unwrap();
}

/// kubernetes-sigs/controller-runtime#699: a child of an older version of its owner was refused as somebody else's.
#[tokio::test(start_paused = true)]
async fn the_version_in_a_childs_owner_reference_is_renewed_in_place() {
    let world = World::new().await;
    let notes = Notes::default();
    let owner = world
        .create(&labelled(service_account("web"), "files", "a.1"))
        .await;
    let friend = world.create(&service_account("friend")).await;
    let reference = |account: &ServiceAccount, version: &str, controller: bool| {
        json!({
            "apiVersion": version, "kind": "ServiceAccount", "name": account.name_any(), "uid": account.uid(),
            "controller": controller,
        })
    };
    applied(&world, "a", json!([reference(&owner, "v1alpha1", true)])).await;
    let others = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "a", "ownerReferences": [reference(&friend, "v1", false)] },
    });
    world
        .api::<ConfigMap>()
        .patch("a", &PatchParams::apply("somebody"), &Patch::Apply(&others))
        .await
        .unwrap();
    let running = world.start(reconcile::controller(notes.clone())).await;
    assert!(notes.take().iter().all(|note| !note.contains("belongs to")));
    let child = world.api::<ConfigMap>().get("a").await.unwrap();
    let mut owners: Vec<_> = child
        .owner_references()
        .iter()
        .map(|owner| (owner.name.clone(), owner.api_version.clone()))
        .collect();
    owners.sort();
    let expected =
        [("friend", "v1"), ("web", "v1")].map(|(name, version)| (name.to_owned(), version.to_owned()));
    assert_eq!(owners, expected, "ours is renewed, the other one stays");
    let before = writes(&world);
    world.advance(Duration::from_secs(60)).await;
    assert_eq!(writes(&world), before, "once");
    running.stop().await;
}

/// RedHatInsights/clowder#118: an owner that is not marked as the controller is woken, but does not own enough to write.
#[tokio::test(start_paused = true)]
async fn an_owner_without_the_controller_flag_is_woken_and_may_not_write() {
    let world = World::new().await;
    let notes = Notes::default();
    let owner = world
        .create(&labelled(service_account("web"), "files", "a.2"))
        .await;
    let reference =
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "name": "web", "uid": owner.uid() });
    applied(&world, "a", json!([reference])).await;
    let running = world.start(reconcile::controller(notes.clone())).await;
    let heard = notes.take();
    assert!(
        heard[1].contains("ConfigMap a exists and belongs to nobody"),
        "{heard:?}"
    );
    world.label::<ConfigMap>("a", "changed", "yes").await;
    assert_eq!(
        notes.take().first().map(String::as_str),
        Some("web"),
        "it is woken"
    );
    assert_eq!(files(&world).await["a"], "1");
    running.stop().await;
}
