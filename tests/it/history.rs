//! Random histories: whatever changes and whatever fails, the last state of everything is reconciled.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use controller_apiserver::{Fault, Server, Verb, When};
use controller_runtime::{Action, Config};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{ResourceExt, api::ListParams};

use crate::world::{Failure, World, same};

/// The same history in every run of one seed; a seed that failed is printed with the failure.
#[tokio::test(start_paused = true)]
async fn random_changes_and_faults_lose_nothing() {
    let seeds = std::env::var("SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(10_u64);
    let first = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0_u64);
    for seed in first..first + seeds {
        println!("seed {seed}");
        random_history(seed).await;
    }
}

/// What the reconciler found in the stores at its last run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Snapshot {
    version: String,
    children: BTreeSet<String>,
}

async fn random_history(seed: u64) {
    let world = World::with(Server::builder().seed(seed).build());
    let mut rng = fastrand::Rng::with_seed(seed);
    let config = Config::default()
        .concurrency([0, 1, 4][rng.usize(..3)])
        .debounce(Duration::from_millis([0, 100, 1_000][rng.usize(..3)]))
        .seed(seed);
    let controller = world.with_secrets().with_config(config);
    let found: Arc<Mutex<BTreeMap<String, Snapshot>>> = Arc::default();
    let noted = found.clone();
    let client = world.client.clone();
    let luck = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed ^ 1)));
    let _running = world.run(controller, move |map: Arc<ConfigMap>| {
        let (noted, client) = (noted.clone(), client.clone());
        let (pause, fails) = {
            let mut luck = luck.lock().unwrap();
            (Duration::from_millis(luck.u64(..400)), luck.u8(..10) == 0)
        };
        async move {
            tokio::time::sleep(pause).await;
            if fails {
                return Err(Failure("bad luck".to_owned()));
            }
            // What is true at the end of a run is what this run is about: the last run must find the last state.
            let secrets = kube::Api::<Secret>::namespaced(client, "default");
            let children = secrets.list(&ListParams::default()).await;
            let children = children.map_err(|error| Failure(error.to_string()))?;
            let uid = map.uid();
            let owned = |secret: &Secret| {
                secret
                    .owner_references()
                    .iter()
                    .any(|owner| Some(&owner.uid) == uid.as_ref())
            };
            let children = children
                .items
                .iter()
                .filter(|secret| owned(secret))
                .map(ResourceExt::name_any);
            let snapshot = Snapshot {
                version: map.resource_version().unwrap_or_default(),
                children: children.collect(),
            };
            noted.lock().unwrap().insert(map.name_any(), snapshot);
            Ok(Action::await_change())
        }
    });
    for _ in 0..150 {
        step(&world, &mut rng).await;
        tokio::time::sleep(Duration::from_millis(rng.u64(..2_000))).await;
    }
    world.server.faults().clear();
    let expected = truth(&world).await;
    world
        .until(
            &format!("with seed {seed} every last state was reconciled"),
            || {
                let mut found = found.lock().unwrap().clone();
                found.retain(|name, _| expected.contains_key(name));
                same(found, expected.clone())
            },
        )
        .await;
}

/// What the server has.
async fn truth(world: &World) -> BTreeMap<String, Snapshot> {
    // The children of deleted owners are still to be collected.
    world.advance(Duration::from_secs(60)).await;
    let secrets = world.secrets().list(&ListParams::default()).await.unwrap();
    let maps = world.maps().list(&ListParams::default()).await.unwrap();
    let children_of = |map: &ConfigMap| {
        let owned = |secret: &&Secret| {
            secret
                .owner_references()
                .iter()
                .any(|owner| Some(&owner.uid) == map.uid().as_ref())
        };
        secrets
            .items
            .iter()
            .filter(owned)
            .map(ResourceExt::name_any)
            .collect()
    };
    maps.items
        .iter()
        .map(|map| {
            let snapshot = Snapshot {
                version: map.resource_version().unwrap(),
                children: children_of(map),
            };
            (map.name_any(), snapshot)
        })
        .collect()
}

/// One change of the world, or one fault.
async fn step(world: &World, rng: &mut fastrand::Rng) {
    let name = format!("m{}", rng.usize(..8));
    let child = format!("{name}-{}", rng.usize(..3));
    let map = world.maps().get_opt(&name).await.unwrap();
    match (rng.u8(..12), map) {
        (0..=3, None) => {
            world.map(&name).await;
        }
        (0..=3, Some(_)) => {
            world.touch(&name, &rng.u32(..).to_string()).await;
        }
        (4, Some(_)) => world.delete_map(&name).await,
        (5..=6, Some(map)) if world.secrets().get_opt(&child).await.unwrap().is_none() => {
            world.secret_of(&map, &child).await;
        }
        (5..=7, _) if world.secrets().get_opt(&child).await.unwrap().is_some() => {
            world.delete_secret(&child).await;
        }
        (8, _) => world.server.close_watches(),
        (9, _) => world.server.compact(),
        (10, _) => {
            let verb = [Verb::List, Verb::Watch][rng.usize(..2)];
            let fault = match rng.u8(..7) {
                0 => Fault::status(503),
                1 => Fault::status(410),
                2 => Fault::Disconnect,
                3 => Fault::Delay(Duration::from_secs(3)),
                4 => Fault::Cut {
                    after: rng.usize(..3),
                },
                5 => Fault::Truncate {
                    after: rng.usize(..3),
                },
                _ => Fault::SmallPages(2),
            };
            let when = When::verb(verb).agent("controller").times(1 + rng.u32(..3));
            world.server.faults().inject(when, fault);
        }
        _ => world.server.faults().clear(),
    }
}
