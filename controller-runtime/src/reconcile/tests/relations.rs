//! References, fallible mappers, external triggers, kinds known at run time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
    time::Duration,
};

use controller_apiserver::{Fault, Verb, When};
use futures::{Stream, StreamExt, stream};
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret, ServiceAccount},
};
use kube::{
    ResourceExt,
    api::DeleteParams,
    core::{DynamicObject, PartialObjectMeta},
    discovery::ApiResource,
};

use super::world::{Notes, World, config_map, labelled, secret, service_account};
use crate::{Action, controller, declare::Runnable, object::ObjectRef, store::Store};

fn secret_of(account: &ServiceAccount) -> Option<String> {
    account.labels().get("secret").cloned()
}

/// Notes whether the object sees the Secret that it names.
fn tell_secret(account: &ServiceAccount, notes: &Notes, secrets: &Store<Secret>) -> Action {
    let found = secret_of(account).and_then(|name| secrets.get(&name)).is_some();
    notes.note(format!("{} {found}", account.name_any()));
    Action::await_change()
}

#[controller(name = "users", references(Secret, secret_of), predicates(labels))]
async fn use_secret(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    secrets: Store<Secret>,
) -> Result<Action, kube::Error> {
    Ok(tell_secret(&account, &notes, &secrets))
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

#[controller(name = "deaf", references(Secret, secret_of), predicates(finalizers))]
async fn deaf(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    secrets: Store<Secret>,
) -> Result<Action, kube::Error> {
    Ok(tell_secret(&account, &notes, &secrets))
}

/// kube-rs/kube#1682: what is named is looked at, too, when it is the referring field that changes.
#[tokio::test(start_paused = true)]
async fn one_that_names_another_runs_whatever_its_predicates_say() {
    let world = World::new().await;
    let notes = Notes::default();
    world.create(&secret("one")).await;
    world.create(&service_account("a")).await;
    let running = world.start(deaf::controller(notes.clone())).await;
    notes.take();
    world.label::<ServiceAccount>("a", "secret", "one").await;
    assert_eq!(notes.take(), ["a true"]);
    world.label::<ServiceAccount>("a", "other", "label").await;
    assert_eq!(notes.take(), [""; 0], "it names what it named");
    world.label::<ServiceAccount>("a", "secret", "two").await;
    assert_eq!(notes.take(), ["a false"]);
    running.stop().await;
}

#[controller(
    name = "lean",
    references(Secret, secret_of, referenced_only),
    predicates(labels),
    backoff(initial = "1s", jitter = 0)
)]
async fn lean(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    secrets: Store<Secret>,
) -> Result<Action, kube::Error> {
    let of = |secret: &Secret| secret.string_data.is_none() && secret.data.is_some();
    let whole = secret_of(&account)
        .and_then(|name| secrets.get(&name))
        .map(|secret| of(&secret));
    notes.note(format!("{} {whole:?} of {}", account.name_any(), secrets.len()));
    Ok(Action::await_change())
}

fn filled(name: &str) -> Secret {
    let mut secret = secret(name);
    secret.data = Some([("key".to_owned(), ByteString(b"value".to_vec()))].into());
    secret
}

fn reads_of_secrets(world: &World) -> usize {
    let journal = world.server.journal();
    let reads = journal
        .entries()
        .iter()
        .filter(|entry| (entry.verb, &*entry.resource, &*entry.user_agent) == ("get", "secrets", "lean"));
    reads.count()
}

#[tokio::test(start_paused = true)]
async fn only_what_is_referenced_is_read_and_held_whole_and_no_longer_than_that() {
    let world = World::new().await;
    let notes = Notes::default();
    for name in ["one", "two", "three", "four"] {
        world.create(&filled(name)).await;
    }
    for (account, secret) in [("a", "one"), ("b", "one"), ("c", "late")] {
        world
            .create(&labelled(service_account(account), "secret", secret))
            .await;
    }
    let running = world.start(lean::controller(notes.clone())).await;
    let mut first = notes.take();
    first.sort();
    assert_eq!(first.len(), 3);
    assert_eq!(first[..2], ["a Some(true) of 1", "b Some(true) of 1"]);
    assert!(first[2].starts_with("c None"), "{first:?}");
    assert_eq!(reads_of_secrets(&world), 1, "those who share it read it once");

    world.label::<Secret>("two", "some", "change").await;
    assert_eq!(notes.take(), [""; 0], "nobody names it");
    world.label::<Secret>("one", "some", "change").await;
    assert_eq!(notes.take().len(), 2);
    assert_eq!(reads_of_secrets(&world), 2);

    world.create(&filled("late")).await;
    world.settle().await;
    assert_eq!(notes.take(), ["c Some(true) of 2"], "it appears late");
    world.label::<ServiceAccount>("c", "secret", "two").await;
    assert_eq!(notes.take(), ["c Some(true) of 2"], "what was left is let go");
    world
        .api::<Secret>()
        .delete("one", &DeleteParams::default())
        .await
        .unwrap();
    world.settle().await;
    let mut vanished = notes.take();
    vanished.sort();
    assert_eq!(vanished, ["a None of 1", "b None of 1"]);
    world
        .api::<ServiceAccount>()
        .delete("c", &DeleteParams::default())
        .await
        .unwrap();
    world.label::<ServiceAccount>("a", "secret", "four").await;
    assert_eq!(
        notes.take(),
        ["a Some(true) of 1"],
        "that of the deleted account is let go, too"
    );
    assert_eq!(reads_of_secrets(&world), 5);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_not_taken_for_absent() {
    let world = World::new().await;
    let notes = Notes::default();
    world.create(&filled("one")).await;
    world
        .create(&labelled(service_account("a"), "secret", "one"))
        .await;
    let reading = When::verb(Verb::Get).resource("secrets").times(2);
    world.server.faults().inject(reading, Fault::status(500));
    let running = world.start(lean::controller(notes.clone())).await;
    assert_eq!(notes.take(), [""; 0], "no run without it");
    world.advance(Duration::from_secs(10)).await;
    assert_eq!(notes.take(), ["a Some(true) of 1"]);
    running.stop().await;
}

#[test]
fn who_reads_what_is_referenced_needs_the_right_to() {
    let declared = lean::controller(Notes::default());
    let verbs = |plural: &str| -> Vec<String> {
        let needs = declared.declaration().needs();
        let of = needs.into_iter().filter(|need| need.resource == plural);
        of.map(|need| need.verb).collect()
    };
    assert_eq!(verbs("secrets"), ["list", "watch", "get"]);
    assert_eq!(verbs("serviceaccounts"), ["list", "watch"]);
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

/// Of the secrets that could not be mapped at first, one makes the mapper panic each time.
static PANICS: AtomicUsize = AtomicUsize::new(0);

fn explosive(secret: &Secret) -> Result<Vec<ObjectRef<ServiceAccount>>, String> {
    match PANICS.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Err("no luck".to_owned()),
        _ => {
            assert_ne!(secret.name_any(), "a", "a panic of the mapper");
            Ok(vec![ObjectRef::new(&secret.name_any()).within("docs")])
        }
    }
}

#[controller(name = "explosive", watches(Secret, try_map(explosive)))]
async fn exploded(account: Arc<ServiceAccount>, notes: Arc<Notes>) -> Result<Action, kube::Error> {
    notes.note(account.name_any());
    Ok(Action::await_change())
}

/// kubernetes-sigs/controller-runtime#1996: the second try of one must not take that of the others with it.
#[tokio::test(start_paused = true)]
async fn a_mapper_that_panics_owes_no_less() {
    let world = World::new().await;
    let notes = Notes::default();
    for name in ["a", "b", "c"] {
        world.create(&service_account(name)).await;
    }
    let running = world.start(exploded::controller(notes.clone())).await;
    notes.take();
    for name in ["a", "b"] {
        world.create(&secret(name)).await;
    }
    world.settle().await;
    assert_eq!(notes.take(), [""; 0]);
    world.advance(Duration::from_secs(30)).await;
    assert_eq!(notes.take(), ["b"]);
    world.create(&secret("c")).await;
    world.advance(Duration::from_secs(30)).await;
    assert_eq!(notes.take(), ["c"]);
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

fn shaky_account(_: &ServiceAccount, _: &ServiceAccount) -> bool {
    panic!("provoked")
}

fn shaky_map(_: &ConfigMap, _: &ConfigMap) -> bool {
    panic!("provoked")
}

fn to_account(map: &ConfigMap) -> [ObjectRef<ServiceAccount>; 1] {
    [ObjectRef::new(&map.name_any()).within("docs")]
}

#[controller(
    name = "shaky",
    predicates(shaky_account),
    watches(ConfigMap, map(to_account), predicates(shaky_map))
)]
async fn shaky(account: Arc<ServiceAccount>, notes: Arc<Notes>) -> Result<Action, kube::Error> {
    notes.note(account.name_any());
    Ok(Action::await_change())
}

/// A run too many is safe; a change that is lost is not.
#[tokio::test(start_paused = true)]
async fn a_change_whose_predicate_panics_passes() {
    let world = World::new().await;
    let notes = Notes::default();
    world.create(&service_account("a")).await;
    world.create(&config_map("a", &[])).await;
    let running = world.start(shaky::controller(notes.clone())).await;
    notes.take();
    world.label::<ServiceAccount>("a", "some", "label").await;
    assert_eq!(notes.take(), ["a"], "its own change");
    world.label::<ConfigMap>("a", "some", "label").await;
    assert_eq!(notes.take(), ["a"], "a related object's");
    running.stop().await;
}
