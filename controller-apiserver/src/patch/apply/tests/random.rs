//! Random writes by several managers, through both endpoints and both versions of a kind, against the
//! naive model: on the rules of apply alone, and through a whole server.
//!
//! The writes are the same for one seed, which is printed; `FUZZ_SEED` and `FUZZ_SECONDS` are others, and
//! more of them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::leaf::{Leaf, Leaves, Spelling, TOPICS, UNIVERSE, closed, order, read, write};
use super::model::{Model, Owned, Owner, Writer};
use super::worlds::{KIND, Rules, Whole, World, api_version, refusal};
use crate::patch::apply::managed::{Managed, Operation};
use crate::patch::fields::path_text;

type Checked = Result<(), TestCaseError>;

#[derive(Clone, Debug)]
enum Deed {
    Apply {
        force: bool,
        spelling: Spelling,
    },
    /// The whole half of the endpoint is sent anew.
    Replace,
    /// Something is added or changed, as a patch does.
    Touch,
    Forget,
}

#[derive(Clone, Debug)]
struct Write {
    by: Writer,
    deed: Deed,
    leaves: Vec<(Leaf, u8)>,
    /// What the endpoint does not store is sent, too.
    foreign: bool,
}

impl Write {
    fn sent(&self) -> Leaves {
        let leaves = self.leaves.iter().copied();
        closed(leaves.filter(|(leaf, _)| self.foreign || self.by.stores(leaf)))
    }

    /// The whole object that a write sends that is no apply.
    fn whole(&self, live: &Leaves) -> Leaves {
        let stays = |leaf: &Leaf| match self.deed {
            Deed::Replace => !self.foreign && !self.by.stores(leaf),
            _ => true,
        };
        let mut whole: Leaves = live.clone().into_iter().filter(|(leaf, _)| stays(leaf)).collect();
        whole.extend(self.sent());
        whole
    }
}

fn some_leaves(topics: &[usize], most: usize) -> impl Strategy<Value = Vec<(Leaf, u8)>> + use<> {
    let pool: Vec<Leaf> = topics.iter().flat_map(|topic| TOPICS[*topic]).copied().collect();
    vec((select(pool), 0..3_u8), 0..most)
}

fn some_writer() -> impl Strategy<Value = Writer> {
    let status = proptest::bool::weighted(0.25);
    (0..3_u8, 1..3_u8, status).prop_map(|(manager, version, status)| Writer {
        manager: format!("m{manager}"),
        version,
        status,
    })
}

fn some_write(topics: &[usize]) -> impl Strategy<Value = Write> + use<> {
    let spelling = (any::<bool>(), any::<bool>()).prop_map(|(reversed, terse)| Spelling { reversed, terse });
    let deed = prop_oneof![
        12 => (any::<bool>(), spelling).prop_map(|(force, spelling)| Deed::Apply { force, spelling }),
        2 => Just(Deed::Replace),
        5 => Just(Deed::Touch),
        1 => Just(Deed::Forget),
    ];
    let foreign = proptest::bool::weighted(0.15);
    (some_writer(), deed, some_leaves(topics, 8), foreign).prop_map(|(by, deed, leaves, foreign)| Write {
        by,
        deed,
        leaves,
        foreign,
    })
}

/// Few topics at a time, so that managers meet.
fn some_writes() -> impl Strategy<Value = Vec<Write>> {
    let topics = subsequence((0..TOPICS.len()).collect::<Vec<_>>(), 1..=4);
    topics.prop_flat_map(|topics| vec(some_write(&topics), 1..10))
}

fn object(leaves: &Leaves, spelling: Spelling) -> Value {
    let mut object = json!({"apiVersion": api_version(1), "kind": KIND, "metadata": {"name": "a"}});
    write(&mut object, leaves, spelling);
    object
}

/// What entries own, in terms of the model. Fields that are keys come and go with their element.
fn owners<W: World>(object: &Value) -> BTreeMap<Owner, Owned> {
    let mut owners = BTreeMap::new();
    for (key, entry) in Managed::of(object).unwrap().0 {
        let version = if entry.api_version == api_version(1) { 1 } else { 2 };
        let known = |text: &str| {
            let mut leaves = UNIVERSE.keys().copied();
            leaves.find(|leaf| text.strip_prefix('.') == Some(&W::path(leaf, version)))
        };
        let mut owned = Owned {
            version,
            leaves: [].into(),
        };
        entry.fields.each(&mut |path| {
            let text = path_text(path).replace('"', "");
            let (head, last) = text.rsplit_once('.').unwrap();
            let is_key = head.ends_with(']') && ["name", "id", "port", "protocol", "type"].contains(&last);
            if !is_key {
                let leaf = known(&text).unwrap_or_else(|| panic!("{text} is owned"));
                owned.leaves.insert(leaf);
            }
        });
        let owner = Owner {
            manager: key.manager,
            status: key.subresource == "status",
            updates: (key.operation == Operation::Update).then_some(version),
        };
        owners.insert(owner, owned);
    }
    owners
}

fn apply<W: World>(
    world: &mut W,
    model: &mut Model,
    write: &Write,
    force: bool,
    spelling: Spelling,
) -> Checked {
    let (by, leaves) = (&write.by, write.sent());
    let config = object(&leaves, spelling);
    let expected = model.apply(by, &leaves, force);
    let unquoted = |(field, message): (String, String)| (field.replace('"', ""), message);
    let got = world.apply(by, &config, force);
    let got = got.map_err(|causes| causes.into_iter().map(unquoted).collect());
    prop_assert_eq!(&got, &expected.map_err(|conflicts| refusal::<W>(&conflicts)));
    if got.is_ok() {
        let once = world.live().cloned().unwrap();
        let stored = leaves.into_iter().filter(|(leaf, _)| by.stores(leaf)).collect();
        prop_assert_eq!(
            order(&once, &stored),
            order(&config, &stored),
            "order in {}",
            once
        );
        // What nobody owns is taken for older than the next apply.
        if !model.owners.is_empty() {
            prop_assert_eq!(world.apply(by, &config, false), Ok(()), "again");
            prop_assert_eq!(world.live(), Some(&once), "again");
        }
    }
    Ok(())
}

fn play<W: World>(writes: &[Write]) -> Checked {
    let (mut world, mut model) = (W::new(), Model::default());
    for write in writes {
        // There is no status of an object that is not there.
        if model.leaves.is_empty() && (write.by.status || matches!(write.deed, Deed::Forget)) {
            continue;
        }
        match write.deed {
            Deed::Apply { force, spelling } => apply(&mut world, &mut model, write, force, spelling)?,
            Deed::Replace | Deed::Touch => {
                let whole = write.whole(&model.leaves);
                world.update(&write.by, &object(&whole, Spelling::default()));
                model.update(&write.by, &whole);
            }
            Deed::Forget => {
                let mut new = world.live().cloned().unwrap();
                new["metadata"]["managedFields"] = json!([{}]);
                let by = Writer {
                    status: false,
                    ..write.by.clone()
                };
                world.update(&by, &new);
                model.forget();
            }
        }
        if let Some(live) = world.live() {
            prop_assert_eq!(&read(live), &model.leaves, "after {:?}: {}", write, live);
            prop_assert_eq!(&owners::<W>(live), &model.owners, "after {:?}: {}", write, live);
        }
    }
    Ok(())
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long to go on has nothing to do with what is tested"
)]
fn now() -> Instant {
    Instant::now()
}

fn run<S: Strategy<Value: Debug>>(cases: u32, strategy: &S, test: impl Fn(S::Value) -> Checked) {
    let end = setting("FUZZ_SECONDS").map(|seconds| now() + Duration::from_secs(seconds));
    for seed in setting("FUZZ_SEED").unwrap_or(1).. {
        println!("{cases} cases with FUZZ_SEED={seed}");
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = ProptestConfig {
            cases,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        if let Err(error) = TestRunner::new_with_rng(config, rng).run(strategy, &test) {
            panic!("with FUZZ_SEED={seed}: {error}");
        }
        if end.is_none_or(|end| now() >= end) {
            break;
        }
    }
}

#[test]
fn writes_do_what_the_model_does() {
    run(400, &some_writes(), |writes| play::<Rules>(&writes));
}

#[test]
fn writes_through_a_server_do_what_the_model_does() {
    run(60, &some_writes(), |writes| play::<Whole>(&writes));
}

#[test]
fn disjoint_managers_commute() {
    let parts = vec(any::<bool>(), 12);
    run(
        200,
        &(some_leaves(&[0, 1, 2, 3, 4, 5, 6, 8], 12), parts),
        |(leaves, parts)| {
            let leaves: BTreeMap<Leaf, u8> = leaves.into_iter().collect();
            let sides: [Leaves; 2] = [true, false].map(|side| {
                let mine = leaves.iter().zip(&parts).filter(|(_, part)| **part == side);
                closed(mine.map(|((leaf, value), _)| (*leaf, *value)))
            });
            // What is there before anybody owns anything belongs to a manager of its own.
            if sides.iter().any(Leaves::is_empty) {
                return Ok(());
            }
            let played = |order: [usize; 2]| {
                let mut world = Rules::new();
                for side in order {
                    let by = Writer {
                        manager: format!("m{side}"),
                        version: 1,
                        status: false,
                    };
                    let config = object(&sides[side], Spelling::default());
                    world.apply(&by, &config, false).unwrap();
                }
                let live = world.live().unwrap();
                (read(live), owners::<Rules>(live))
            };
            prop_assert_eq!(played([0, 1]), played([1, 0]));
            Ok(())
        },
    );
}
