//! Conversations recorded from a real kube-apiserver v1.36.2, played in this process on virtual time.
//!
//! The recordings lie in `tests/recorded`; the format is that of `tests/player/apicases.py`, which
//! plays the same ones over TCP. Each scenario has a server of its own, so it is repeatable alone.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    clippy::format_push_string,
    clippy::needless_pass_by_ref_mut,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    reason = "a test, in several files"
)]

mod check;
mod exchange;
mod path;
mod player;
mod prepare;
mod vary;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use controller_apiserver::Server;
use controller_apiserver::access::{Tokens, User};
use futures::FutureExt as _;
use serde_json::Value;

use check::Checker;
use player::Player;
use vary::Variation;

fn server() -> Server {
    let tokens = Tokens::default()
        .with("admin-token", User::admin())
        .with("dev-token", User::new("dev", ["developers"]));
    Server::builder().service_accounts(true).tokens(tokens).build()
}

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Plays one scenario; what differed, by step.
async fn play(
    server: Server,
    variation: Variation,
    recording: &Value,
    global: &Value,
) -> Vec<(String, String)> {
    let Some(recording) = &variation.of(recording) else {
        return Vec::new();
    };
    let scenario = &recording["scenario"];
    let mut player = Player::new(server, variation, scenario, global);
    let outcomes = async {
        player.begin(scenario).await;
        let mut outcomes = Vec::new();
        for index in variation.order(recording) {
            let outcome = player.step(&scenario["steps"][index]).await;
            outcomes.extend(outcome.map(|outcome| (index, outcome)));
        }
        outcomes.sort_by_key(|(index, _)| *index);
        outcomes
    };
    let outcomes = match std::panic::AssertUnwindSafe(outcomes).catch_unwind().await {
        Ok(outcomes) => outcomes,
        Err(panic) => {
            let why = panic
                .downcast_ref::<String>()
                .cloned()
                .unwrap_or_else(|| "panic".to_owned());
            return vec![("(broken off)".to_owned(), why)];
        }
    };
    let mut checker = Checker::new(&player.preparation, recording, global);
    let expected = recording["results"].as_array().unwrap();
    for (expected, (_, actual)) in expected.iter().zip(&outcomes) {
        checker.outcome(expected, actual, "");
    }
    checker.order();
    if expected.len() != outcomes.len() {
        checker
            .differences
            .push(("(all)".to_owned(), "another number of steps".to_owned()));
    }
    checker.differences
}

/// `topic/scenario/step` patterns of known differences of a topic, with their text.
fn known(topic: &str) -> Vec<(String, regex::Regex)> {
    include_str!("known.txt")
        .lines()
        .filter_map(|line| line.split('#').next())
        .map(str::trim)
        .filter(|glob| glob.split('/').next() == Some(topic))
        .map(|glob| {
            let pattern = regex::escape(glob).replace(r"\*", ".*");
            let pattern = regex::Regex::new(&format!("^{pattern}$")).unwrap();
            (glob.to_owned(), pattern)
        })
        .collect()
}

async fn topic(name: &str) {
    let global = read(&recorded().join("global.json"));
    let known = known(name);
    let mut met = vec![false; known.len()];
    let mut files: Vec<PathBuf> = std::fs::read_dir(recorded().join(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut failed = String::new();
    for file in files {
        let recording = read(&file);
        let scenario = format!("{name}/{}", recording["scenario"]["name"].as_str().unwrap());
        let differences: Vec<_> = play(server(), Variation::AsRecorded, &recording, &global)
            .await
            .into_iter()
            .filter(|(step, _)| {
                let step = format!("{scenario}/{step}");
                let hit = known.iter().position(|(_, glob)| glob.is_match(&step));
                hit.is_none_or(|line| {
                    met[line] = true;
                    false
                })
            })
            .collect();
        if !differences.is_empty() {
            let _ = writeln!(failed, "{scenario}");
        }
        for (step, what) in differences {
            let _ = writeln!(
                failed,
                "    {step}: {}",
                what.chars().take(400).collect::<String>()
            );
        }
    }
    for ((glob, _), _) in known.iter().zip(met).filter(|(_, met)| !met) {
        let _ = writeln!(
            failed,
            "{glob}: a known difference that is none any more; take it out of known.txt"
        );
    }
    assert!(failed.is_empty(), "differs from a real server:\n{failed}");
}

macro_rules! topics {
    ($($test:ident => $topic:literal),* $(,)?) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $test() {
                topic($topic).await;
            }
        )*
    };
}

topics! {
    access => "access",
    builtins => "builtins",
    concurrency => "concurrency",
    crd => "crd",
    delete => "delete",
    discovery => "discovery",
    lease_event => "lease-event",
    list => "list",
    meta => "meta",
    patch => "patch",
    ssa => "ssa",
    subresources => "subresources",
    watch => "watch",
}

/// Every recording, in the order of topics and names.
fn recordings() -> Vec<Value> {
    let mut files = Vec::new();
    for topic in std::fs::read_dir(recorded()).unwrap() {
        let topic = topic.unwrap().path();
        if topic.is_dir() {
            files.extend(std::fs::read_dir(topic).unwrap().map(|file| file.unwrap().path()));
        }
    }
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn title(recording: &Value) -> String {
    let scenario = &recording["scenario"];
    format!(
        "{}/{}",
        path::text(&scenario["topic"]),
        path::text(&scenario["name"])
    )
}

/// What differs besides what is known to.
fn unknown(recording: &Value, differences: Vec<(String, String)>) -> String {
    let known = known(recording["scenario"]["topic"].as_str().unwrap());
    let title = title(recording);
    let mut text = String::new();
    for (step, what) in differences {
        let step = format!("{title}/{step}");
        if !known.iter().any(|(_, glob)| glob.is_match(&step)) {
            let _ = writeln!(text, "{step}: {}", what.chars().take(400).collect::<String>());
        }
    }
    text
}

async fn vary(variation: Variation) {
    let global = read(&recorded().join("global.json"));
    let mut failed = String::new();
    for recording in recordings() {
        let differences = play(server(), variation, &recording, &global).await;
        failed.push_str(&unknown(&recording, differences));
    }
    assert!(
        failed.is_empty(),
        "{variation:?}: it is answered otherwise:\n{failed}"
    );
}

/// Other kinds, other fields, another encoding, and a rehearsal of every write.
#[tokio::test(start_paused = true)]
async fn variations_are_answered_as_what_was_recorded() {
    vary(Variation::Varied).await;
}

#[tokio::test(start_paused = true)]
async fn what_changes_nothing_is_answered_alike_in_any_order() {
    vary(Variation::Shuffled).await;
}

/// Scenarios about ConfigMaps, with another built-in kind that they are true of.
async fn exchange(kind: &str) {
    let kind = exchange::KINDS.iter().find(|known| known.name == kind).unwrap();
    let global = read(&recorded().join("global.json"));
    let shared = server();
    let (mut count, mut failed) = (0, String::new());
    for recording in recordings() {
        if exchange::exchanged(&recording, kind).is_none() {
            continue;
        }
        count += 1;
        let alone = recording["scenario"]["exclusive"] == true;
        let server = if alone { server() } else { shared.clone() };
        let differences = play(server, Variation::Exchanged(kind), &recording, &global).await;
        failed.push_str(&unknown(&recording, differences));
    }
    assert!(failed.is_empty(), "{}:\n{failed}", kind.name);
    assert!(count >= 45, "{count} scenarios");
}

#[tokio::test(start_paused = true)]
async fn secrets_are_answered_as_config_maps() {
    exchange("Secret").await;
}

#[tokio::test(start_paused = true)]
async fn service_accounts_are_answered_as_config_maps() {
    exchange("ServiceAccount").await;
}

#[tokio::test(start_paused = true)]
async fn limit_ranges_are_answered_as_config_maps() {
    exchange("LimitRange").await;
}

#[tokio::test(start_paused = true)]
async fn resource_quotas_are_answered_as_config_maps() {
    exchange("ResourceQuota").await;
}

#[tokio::test(start_paused = true)]
async fn roles_are_answered_as_config_maps() {
    exchange("Role").await;
}

/// Conversations that do not touch each other, several at once on one server: steps in other orders.
#[tokio::test(start_paused = true)]
async fn conversations_at_the_same_time_do_not_meet() {
    let global = read(&recorded().join("global.json"));
    let (alone, mut together): (Vec<_>, Vec<_>) = recordings()
        .into_iter()
        .partition(|recording| recording["scenario"]["exclusive"] == true);
    assert!(alone.len() < together.len() / 5);
    let mut failed = String::new();
    fastrand::Rng::with_seed(7).shuffle(&mut together);
    for some in together.chunks(12) {
        let server = server();
        let plays = some.iter().map(|recording| {
            let server = server.clone();
            let global = &global;
            async move { play(server, Variation::AsRecorded, recording, global).await }
        });
        let outcomes = futures::future::join_all(plays).await;
        for (recording, differences) in some.iter().zip(outcomes) {
            failed.push_str(&unknown(recording, differences));
        }
    }
    assert!(failed.is_empty(), "{failed}");
}
