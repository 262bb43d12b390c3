//! References, fallible mappers, external triggers, kinds known at run time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::{
    ResourceExt,
    api::DeleteParams,
    core::{DynamicObject, PartialObjectMeta},
    discovery::ApiResource,
};

use super::world::{Notes, World, config_map, labelled, secret, service_account};
use crate::{Action, controller, object::ObjectRef, store::Store};

fn secret_of(account: &ServiceAccount) -> Option<String> {
    account.labels().get("secret").cloned()
}

#[controller(name = "users", references(Secret, secret_of), predicates(labels))]
async fn use_secret(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    secrets: Store<Secret>,
) -> Result<Action, kube::Error> {
    let found = secret_of(&account).and_then(|name| secrets.get(&name)).is_some();
    notes.note(format!("{} {found}", account.name_any()));
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn exactly_those_that_name_an_object_run_when_it_comes_or_goes() {
    let world = World::new().await;
    let notes = Notes::default();
    world
        .create(&labelled(service_account("a"), "secret", "one"))
        .await;
    world
        .create(&labelled(service_account("b"), "secret", "two"))
        .await;
    world.create(&service_account("c")).await;
    let running = world.start(use_secret::controller(notes.clone())).await;
    notes.take();
    world.create(&secret("one")).await;
    world.settle().await;
    assert_eq!(notes.take(), ["a true"]);
    world.label::<ServiceAccount>("b", "secret", "one").await;
    assert_eq!(notes.take(), ["b true"]);
    world
        .api::<Secret>()
        .delete("one", &DeleteParams::default())
        .await
        .unwrap();
    world.settle().await;
    let mut woken = notes.take();
    woken.sort();
    assert_eq!(woken, ["a false", "b false"]);
    world.create(&secret("two")).await;
    world.settle().await;
    assert_eq!(notes.take(), [""; 0], "nobody names it any more");
    running.stop().await;
}

static FAILURES: AtomicU32 = AtomicU32::new(0);

fn unreliable(secret: &Secret) -> Result<Vec<ObjectRef<ServiceAccount>>, String> {
    if FAILURES.fetch_add(1, Ordering::Relaxed) < 2 {
        return Err("no luck".to_owned());
    }
    Ok(vec![ObjectRef::new(&secret.name_any()).within("docs")])
}

#[controller(name = "unlucky", watches(Secret, try_map(unreliable)))]
async fn unlucky(account: Arc<ServiceAccount>, notes: Arc<Notes>) -> Result<Action, kube::Error> {
    notes.note(account.name_any());
    Ok(Action::await_change())
}

/// kubernetes-sigs/controller-runtime#1996: errors of mappers were lost.
#[tokio::test(start_paused = true)]
async fn what_a_mapper_could_not_map_is_mapped_later() {
    let world = World::new().await;
    let notes = Notes::default();
    world.create(&service_account("a")).await;
    let running = world.start(unlucky::controller(notes.clone())).await;
    notes.take();
    world.create(&secret("a")).await;
    world.settle().await;
    assert_eq!(notes.take(), [""; 0]);
    world.advance(Duration::from_secs(30)).await;
    assert_eq!(notes.take(), ["a"]);
    running.stop().await;
}

fn bell(_notes: Arc<Notes>) -> impl Stream<Item = ObjectRef<ServiceAccount>> + Send {
    let ring = stream::once(tokio::time::sleep(Duration::from_secs(10)));
    ring.map(|()| ObjectRef::new("a").within("docs"))
        .chain(stream::pending())
}

#[controller(name = "bells", on(bell))]
async fn bells(account: Arc<ServiceAccount>, notes: Arc<Notes>) -> Result<Action, kube::Error> {
    notes.note(account.name_any());
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_keys_wakes_their_objects() {
    let world = World::new().await;
    let notes = Notes::default();
    world.create(&service_account("a")).await;
    let running = world.start(bells::controller(notes.clone())).await;
    notes.take();
    world.advance(Duration::from_secs(11)).await;
    assert_eq!(notes.take(), ["a"]);
    running.stop().await;
}

#[controller(name = "dynamic", selector(labels = "app=web"))]
async fn dynamic(object: Arc<DynamicObject>, notes: Arc<Notes>) -> Result<Action, kube::Error> {
    notes.note(object.name_any());
    Ok(Action::await_change())
}

#[controller(name = "partial")]
async fn partial(
    object: Arc<PartialObjectMeta<ConfigMap>>,
    notes: Arc<Notes>,
) -> Result<Action, kube::Error> {
    notes.note(object.name_any());
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn kinds_known_at_run_time_and_metadata_alone_are_reconciled() {
    let world = World::new().await;
    let notes = Notes::default();
    world
        .create(&labelled(config_map("web", &[]), "app", "web"))
        .await;
    world.create(&config_map("other", &[])).await;
    let kind = ApiResource::erase::<ConfigMap>(&());
    let running = world.start(dynamic::controller(kind, notes.clone())).await;
    assert_eq!(notes.take(), ["web"]);
    running.stop().await;
    let running = world.start(partial::controller(notes.clone())).await;
    assert_eq!(notes.take().len(), 2);
    running.stop().await;
}
