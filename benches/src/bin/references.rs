//! What one change costs the two-way index behind `references`, at growing sizes.
//!
//! `cargo run --release -p benches --bin references`. Every target is named by ten primaries; the last size is 100,000
//! primaries over 10,000 targets. A cost that grows with the size would be a scan.

use std::{sync::Arc, time::Duration};

use controller_runtime::{
    object::ObjectRef,
    store::{Delta, DeltaCause},
    trigger::References,
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use tokio::time::Instant;

/// Primaries for each target.
const NAMED_BY: usize = 10;
/// Changes in one measurement.
const CHANGES: usize = 20_000;
const ROUNDS: usize = 9;

fn main() {
    println!(
        "| primaries | targets | a target changes, µs | a primary names another, µs | primaries woken |"
    );
    println!("|--:|--:|--:|--:|--:|");
    for targets in [100, 1_000, 10_000] {
        let mut index = filled(targets);
        let (wakes, woken) = rounds(|round| target_changes(&index, targets, round));
        let (moves, _) = rounds(|round| primary_moves(&mut index, targets, round));
        let primaries = targets * NAMED_BY;
        println!("| {primaries} | {targets} | {wakes} | {moves} | {woken} |");
    }
}

/// An index in which every target is named by [`NAMED_BY`] primaries.
fn filled(targets: usize) -> References<ConfigMap, Secret> {
    let mut index = References::new((), |primary: &ConfigMap| {
        primary.data.as_ref().and_then(|data| data.get("secret").cloned())
    });
    for number in 0..targets * NAMED_BY {
        index.primary(&primary(number, number % targets));
    }
    assert_eq!(index.len(), targets * NAMED_BY, "all are there");
    index
}

fn target_changes(index: &References<ConfigMap, Secret>, targets: usize, round: usize) -> (Duration, usize) {
    let deltas: Vec<_> = spread(targets, round).map(target).collect();
    let start = Instant::now();
    let woken = deltas.iter().map(|delta| index.wake(delta).len()).sum();
    (start.elapsed(), woken)
}

fn primary_moves(
    index: &mut References<ConfigMap, Secret>,
    targets: usize,
    round: usize,
) -> (Duration, usize) {
    let deltas: Vec<_> = spread(targets * NAMED_BY, round)
        .map(|number| primary(number, (number + round + 1) % targets))
        .collect();
    let start = Instant::now();
    let left = deltas.iter().map(|delta| index.primary(delta).left.len()).sum();
    (start.elapsed(), left)
}

/// Numbers below `size` in an order that no cache likes.
fn spread(size: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..CHANGES).map(move |step| (step * 7_919 + round * 104_729) % size)
}

/// Median and spread of the time for one change, and how many keys came of it.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn rounds(mut measure: impl FnMut(usize) -> (Duration, usize)) -> (String, String) {
    let mut costs = Vec::new();
    let mut keys = 0;
    for round in 0..ROUNDS {
        let (took, found) = measure(round);
        costs.push(took.as_secs_f64() * 1e6 / CHANGES as f64);
        keys = found;
    }
    costs.sort_by(f64::total_cmp);
    let (median, least, most) = (costs[ROUNDS / 2], costs[0], costs[ROUNDS - 1]);
    (
        format!("{median:.2} ({least:.2}–{most:.2})"),
        format!("{:.1}", keys as f64 / CHANGES as f64),
    )
}

fn primary(number: usize, target: usize) -> Delta<ConfigMap> {
    let name = format!("primary-{number}");
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.clone());
    object.metadata.namespace = Some("default".to_owned());
    object.data = Some([("secret".to_owned(), format!("target-{target}"))].into());
    Delta {
        key: ObjectRef::new(&name).within("default"),
        old: None,
        new: Some(Arc::new(object)),
        cause: DeltaCause::Watch,
    }
}

fn target(number: usize) -> Delta<Secret> {
    let name = format!("target-{number}");
    let mut object = Secret::default();
    object.metadata.name = Some(name.clone());
    object.metadata.namespace = Some("default".to_owned());
    Delta {
        key: ObjectRef::new(&name).within("default"),
        old: None,
        new: Some(Arc::new(object)),
        cause: DeltaCause::Watch,
    }
}
