//! References when the watch breaks: exactly those run that something happened to, each once, however they hear of it.
//!
//! One story is played for each way to hold what is referenced, by a watch that lasts and by the list that follows a lost one.

use std::{collections::BTreeMap, fmt::Write, sync::Arc, time::Duration};

use controller_apiserver::{Fault, When};
use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::{NamespaceResourceScope, PartialObjectMeta},
};
use serde_json::{Value, json};

use super::world::{Notes, Running, World, config_map};
use crate::{
    Action, controller,
    declare::Runnable,
    object::{Object, ObjectRef},
    reconcile::Declared,
    store::Store,
};

/// What an account names: `docs/x vault/y`.
const NAMES: &str = "example.com/names";

fn named<T: Resource<DynamicType = ()>>(account: &ServiceAccount) -> Vec<ObjectRef<T>> {
    let names = account.annotations().get(NAMES).cloned().unwrap_or_default();
    let keys = names.split_whitespace().filter_map(|key| key.split_once('/'));
    keys.map(|(namespace, name)| ObjectRef::new(name).within(namespace))
        .collect()
}

/// The account, and the marks of the secrets that it names: `docs/a x=1 y=-`.
fn seen<T: Object + Resource<DynamicType = ()>>(account: &ServiceAccount, secrets: &Store<T>) -> String {
    let namespace = account.namespace().unwrap_or_default();
    let mut text = format!("{namespace}/{}", account.name_any());
    for key in named::<T>(account) {
        let mark = secrets
            .get(&key)
            .and_then(|secret| secret.labels().get("mark").cloned());
        write!(text, " {}={}", key.name, mark.as_deref().unwrap_or("-")).unwrap();
    }
    text
}

#[controller(name = "whole", references(Secret, named))]
async fn whole(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    secrets: Store<Secret>,
) -> Result<Action, kube::Error> {
    notes.note(seen(&account, &secrets));
    Ok(Action::await_change())
}

#[controller(name = "sparse", references(Secret, named, metadata_only))]
async fn sparse(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    secrets: Store<PartialObjectMeta<Secret>>,
) -> Result<Action, kube::Error> {
    notes.note(seen(&account, &secrets));
    Ok(Action::await_change())
}

#[controller(name = "lean", references(Secret, named, referenced_only))]
async fn lean(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    secrets: Store<Secret>,
) -> Result<Action, kube::Error> {
    notes.note(seen(&account, &secrets));
    Ok(Action::await_change())
}

/// What is done to the server. Keys are `namespace/name`.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// A secret is marked; it is made if it is not there.
    Mark(&'static str, &'static str),
    /// A secret goes.
    Lose(&'static str),
    /// An account names these from now on; it is made if it is not there.
    Point(&'static str, &'static str),
    /// An account goes.
    Leave(&'static str),
}
use Change::{Leave, Lose, Mark, Point};

/// How the controller hears of a change.
#[derive(Clone, Copy, Debug)]
enum Hears {
    /// By the watches that are open.
    ByWatch,
    /// Its watches break before the change and come back after the history is compacted: 410, and a new list.
    ByList,
}

struct Stage {
    world: World,
    notes: Notes,
    controller: String,
    running: Running,
}

impl Stage {
    async fn new(make: fn(Notes) -> Declared, before: &[Change]) -> Self {
        let world = World::new().await;
        for name in ["vault", "other"] {
            let mut namespace = Namespace::default();
            namespace.metadata.name = Some(name.to_owned());
            let all = Api::all(world.client.clone());
            all.create(&PostParams::default(), &namespace).await.unwrap();
        }
        for change in before {
            make_change(&world, *change).await;
        }
        let notes = Notes::default();
        let controller = make(notes.clone());
        let name = controller.declaration().name.clone();
        let running = world.start(controller).await;
        Self {
            world,
            notes,
            controller: name,
            running,
        }
    }

    /// Makes the changes, waits until the controller has heard of them and rests, and tells who ran.
    async fn after(&self, changes: &[Change], hears: Hears) -> Vec<String> {
        match hears {
            Hears::ByWatch => {
                for change in changes {
                    make_change(&self.world, *change).await;
                }
            }
            Hears::ByList => self.miss(changes).await,
        }
        self.world.settle().await;
        self.notes.take()
    }

    async fn miss(&self, changes: &[Change]) {
        let server = &self.world.server;
        let outage = server
            .faults()
            .inject(When::any().agent(&self.controller), Fault::Disconnect);
        server.close_watches();
        self.world.settle().await;
        for change in changes {
            make_change(&self.world, *change).await;
        }
        // Somebody else's write: no watch is at the latest revision any more.
        let stranger = config_map(&format!("stranger-{}", server.revision()), &[]);
        self.world.create(&stranger).await;
        server.compact();
        assert_eq!(self.notes.len(), 0, "nothing can be known yet");
        let before = server.journal().entries().len();
        server.faults().remove(outage);
        self.world.advance(Duration::from_secs(120)).await;
        let journal = server.journal();
        for resource in ["secrets", "serviceaccounts"] {
            let mut later = journal.entries()[before..]
                .iter()
                .filter(|entry| entry.user_agent == self.controller && entry.resource == resource);
            assert!(
                later.any(|entry| entry.verb == "list" || entry.query.contains("sendInitialEvents")),
                "{resource} were listed anew"
            );
        }
    }
}

/// One request for each, so that there is one change to hear of.
async fn make_change(world: &World, change: Change) {
    match change {
        Mark(key, mark) => put::<Secret>(world, key, json!({ "labels": { "mark": mark } })).await,
        Point(key, names) => {
            put::<ServiceAccount>(world, key, json!({ "annotations": { NAMES: names } })).await;
        }
        Lose(key) => delete::<Secret>(world, key).await,
        Leave(key) => delete::<ServiceAccount>(world, key).await,
    }
}

async fn put<K: Known>(world: &World, key: &str, mut metadata: Value) {
    let (namespace, name) = key.split_once('/').unwrap();
    metadata["name"] = json!(name);
    let object = json!({ "apiVersion": "v1", "kind": K::kind(&()), "metadata": metadata });
    let api = Api::<K>::namespaced(world.client.clone(), namespace);
    let params = PatchParams::apply("test");
    api.patch(name, &params, &Patch::Apply(&object)).await.unwrap();
}

async fn delete<K: Known>(world: &World, key: &str) {
    let (namespace, name) = key.split_once('/').unwrap();
    let api = Api::<K>::namespaced(world.client.clone(), namespace);
    api.delete(name, &DeleteParams::default()).await.unwrap();
}

trait Known: Object + Resource<Scope = NamespaceResourceScope, DynamicType = ()> {}
impl<K: Object + Resource<Scope = NamespaceResourceScope, DynamicType = ()>> Known for K {}

const BEFORE: &[Change] = &[
    Mark("docs/x", "1"),
    Mark("docs/z", "1"),
    Mark("vault/y", "1"),
    Point("docs/a", "docs/x"),
    Point("docs/b", "docs/x vault/y"),
    Point("other/c", "vault/y"),
    Point("docs/d", "docs/late"),
    Point("docs/e", ""),
    // Of the same name as what others name, and not there.
    Point("other/f", "other/x"),
];

/// A change, and exactly who runs for it, once each, with what it sees.
type Step = (Change, &'static [&'static str]);

const STORY: &[Step] = &[
    (Mark("vault/y", "2"), &["docs/b x=1 y=2", "other/c y=2"]),
    (Mark("docs/late", "1"), &["docs/d late=1"]),
    (Lose("docs/x"), &["docs/a x=-", "docs/b x=- y=2"]),
    (Mark("other/x", "1"), &["other/f x=1"]),
    (Mark("docs/x", "2"), &["docs/a x=2", "docs/b x=2 y=2"]),
    (Point("docs/a", "docs/z"), &["docs/a z=1"]),
    (Mark("docs/x", "3"), &["docs/b x=3 y=2"]),
    (Mark("docs/z", "2"), &["docs/a z=2"]),
    (Point("docs/e", "vault/y docs/z"), &["docs/e y=2 z=2"]),
    (
        Lose("vault/y"),
        &["docs/b x=3 y=-", "docs/e y=- z=2", "other/c y=-"],
    ),
    (Point("docs/b", ""), &["docs/b"]),
    (Mark("vault/y", "3"), &["docs/e y=3 z=2", "other/c y=3"]),
    (Leave("docs/e"), &[]),
    (Mark("docs/z", "3"), &["docs/a z=3"]),
    (Mark("docs/x", "4"), &[]),
    (Mark("docs/unnamed", "1"), &[]),
    (Point("docs/new", "docs/unnamed"), &["docs/new unnamed=1"]),
];

async fn play(make: fn(Notes) -> Declared, hears: Hears) {
    let stage = Stage::new(make, BEFORE).await;
    assert_eq!(
        sorted(stage.notes.take()),
        [
            "docs/a x=1",
            "docs/b x=1 y=1",
            "docs/d late=-",
            "docs/e",
            "other/c y=1",
            "other/f x=-"
        ],
        "the first list runs each once"
    );
    assert_eq!(
        stage.after(&[], hears).await,
        [""; 0],
        "a list that differs in nothing wakes nobody"
    );
    for (change, expected) in STORY {
        let ran = sorted(stage.after(&[*change], hears).await);
        assert_eq!(ran, *expected, "{} after {change:?}, {hears:?}", stage.controller);
    }
    stage.running.stop().await;
}

fn sorted(mut notes: Vec<String>) -> Vec<String> {
    notes.sort();
    notes
}

#[tokio::test(start_paused = true)]
async fn by_the_watch_exactly_those_run_that_it_concerns() {
    play(whole::controller, Hears::ByWatch).await;
}

#[tokio::test(start_paused = true)]
async fn after_lost_history_exactly_those_run_that_it_concerns() {
    play(whole::controller, Hears::ByList).await;
}

#[tokio::test(start_paused = true)]
async fn with_metadata_alone_exactly_those_run_that_it_concerns() {
    play(sparse::controller, Hears::ByWatch).await;
    play(sparse::controller, Hears::ByList).await;
}

#[tokio::test(start_paused = true)]
async fn with_only_what_is_referenced_exactly_those_run_that_it_concerns() {
    play(lean::controller, Hears::ByWatch).await;
    play(lean::controller, Hears::ByList).await;
}

/// What was replaced while nobody listened is another object, though all that can be read of it is as before.
#[tokio::test(start_paused = true)]
async fn one_that_was_made_anew_during_an_outage_wakes_once() {
    for make in [whole::controller, sparse::controller, lean::controller] {
        let stage = Stage::new(make, BEFORE).await;
        stage.notes.take();
        let anew = [Lose("vault/y"), Mark("vault/y", "1")];
        let ran = sorted(stage.after(&anew, Hears::ByList).await);
        assert_eq!(ran, ["docs/b x=1 y=1", "other/c y=1"]);
        let anew = [Leave("other/c"), Point("other/c", "docs/z")];
        assert_eq!(stage.after(&anew, Hears::ByList).await, ["other/c z=1"]);
        let ran = stage.after(&[Mark("vault/y", "2")], Hears::ByList).await;
        assert_eq!(
            ran,
            ["docs/b x=1 y=2"],
            "the account that is gone left nothing behind"
        );
        stage.running.stop().await;
    }
}

/// What the server holds.
#[derive(Default)]
struct Model {
    secrets: BTreeMap<&'static str, &'static str>,
    accounts: BTreeMap<&'static str, &'static str>,
}

impl Model {
    fn change(&mut self, change: Change) {
        match change {
            Mark(key, mark) => drop(self.secrets.insert(key, mark)),
            Lose(key) => drop(self.secrets.remove(key)),
            Point(key, names) => drop(self.accounts.insert(key, names)),
            Leave(key) => drop(self.accounts.remove(key)),
        }
    }

    /// What the account would see if it ran now.
    fn sees(&self, account: &str) -> String {
        let mut text = account.to_owned();
        for key in self.accounts[account].split_whitespace() {
            let name = key.split_once('/').unwrap().1;
            write!(text, " {name}={}", self.secrets.get(key).unwrap_or(&"-")).unwrap();
        }
        text
    }

    /// Whether a change may wake the account.
    fn concerns(&self, change: Change, account: &str) -> bool {
        match change {
            Mark(key, _) | Lose(key) => self
                .accounts
                .get(account)
                .is_some_and(|names| names.split_whitespace().any(|name| name == key)),
            Point(key, _) | Leave(key) => key == account,
        }
    }
}

fn random_change(model: &Model, rng: &mut fastrand::Rng) -> Change {
    let secrets = ["docs/x", "docs/z", "vault/y", "other/x", "docs/late"];
    let accounts = ["docs/a", "docs/b", "other/c", "docs/d", "vault/e"];
    let names = [
        "",
        "docs/x",
        "vault/y",
        "docs/x vault/y",
        "other/x docs/late",
        "docs/z",
    ];
    let marks = ["1", "2", "3", "4"];
    let (secret, account) = (
        secrets[rng.usize(..secrets.len())],
        accounts[rng.usize(..accounts.len())],
    );
    match rng.u8(..8) {
        0 | 1 if model.secrets.contains_key(secret) => Lose(secret),
        2 if model.accounts.contains_key(account) => Leave(account),
        3..=5 => Point(account, names[rng.usize(..names.len())]),
        _ => Mark(secret, marks[rng.usize(..marks.len())]),
    }
}

/// Both sides change while nobody listens, in any order; their lists come back each in its own time.
#[tokio::test(start_paused = true)]
async fn whatever_is_missed_the_last_run_saw_the_last_state_and_no_stranger_ran() {
    for (seed, make) in (1..).zip([whole::controller, sparse::controller, lean::controller]) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let stage = Stage::new(make, BEFORE).await;
        let mut model = Model::default();
        for change in BEFORE {
            model.change(*change);
        }
        let mut last = BTreeMap::new();
        let mut heard = stage.notes.take();
        for round in 0..25 {
            let account = |note: &String| note.split(' ').next().unwrap_or_default().to_owned();
            last.extend(heard.iter().map(|note| (account(note), note.clone())));
            for account in model.accounts.keys() {
                let seen = last.get(*account);
                assert_eq!(
                    seen,
                    Some(&model.sees(account)),
                    "{} in round {round}",
                    stage.controller
                );
            }
            let mut concerned = Vec::new();
            let changes: Vec<_> = (0..rng.usize(1..5))
                .map(|_| {
                    let change = random_change(&model, &mut rng);
                    let before: Vec<_> = model.accounts.keys().copied().collect();
                    concerned.extend(before.into_iter().filter(|it| model.concerns(change, it)));
                    model.change(change);
                    let after = model.accounts.keys().copied();
                    concerned.extend(after.filter(|it| model.concerns(change, it)));
                    change
                })
                .collect();
            let hears = if rng.bool() { Hears::ByList } else { Hears::ByWatch };
            heard = stage.after(&changes, hears).await;
            for note in &heard {
                assert!(
                    concerned.contains(&&*account(note)),
                    "{note} in round {round} after {changes:?}"
                );
            }
        }
        stage.running.stop().await;
    }
}
