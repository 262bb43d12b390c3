//! What explaining costs, measured; no time is asserted, for a busy machine must not fail it.
//!
//! `COST_CALLS=20000 cargo test --release -p controller-runtime --lib explain::cost -- --nocapture`

use std::{collections::BTreeMap, hint::black_box, sync::Arc, time::Instant};

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::api::ObjectMeta;

use super::{Book, Fate, PRIMARY, Via, whole};
use crate::{
    HotLoop,
    hot_loop::{Guard, number, object_of},
    object::ObjectRef,
    store::{Delta, DeltaCause},
    trigger::{Cause, Level},
};

const ROUNDS: usize = 9;

/// How often each is called; few, where it is not measured but only kept true.
fn calls() -> u32 {
    let set = std::env::var("COST_CALLS").ok();
    set.and_then(|calls| calls.parse().ok()).unwrap_or(200)
}

fn secret(size: usize, version: u64) -> Arc<Secret> {
    let entries = (0..size / 64).map(|key| (format!("key-{key}"), ByteString(vec![b'x'; 48])));
    let mut data: BTreeMap<_, _> = entries.collect();
    data.insert("word".to_owned(), ByteString(version.to_le_bytes().to_vec()));
    Arc::new(Secret {
        metadata: ObjectMeta {
            name: Some("a".to_owned()),
            namespace: Some("default".to_owned()),
            uid: Some("6a0e7e0a-0000-4000-8000-000000000000".to_owned()),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        },
        data: Some(data),
        ..Secret::default()
    })
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn measure(what: &str, mut call: impl FnMut(u32)) {
    let mut rounds: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            (0..calls()).for_each(&mut call);
            began.elapsed() / calls()
        })
        .collect();
    rounds.sort();
    println!(
        "{what}: {:?} ({:?} to {:?})",
        rounds[ROUNDS / 2],
        rounds[0],
        rounds[ROUNDS - 1]
    );
}

#[tokio::test]
async fn what_is_remembered_costs_little_and_stays_small() {
    let (keys, via) = (10_000_u32, Via::new(PRIMARY, "Secret", &[], whole::<Secret>));
    let objects: Vec<_> = (0..keys)
        .map(|key| ObjectRef::<Secret>::new(&format!("secret-{key}")).within("default"))
        .collect();
    let delta = |key: u32, cause| Delta {
        key: objects[(key % keys) as usize].clone(),
        old: Some(secret(0, 1)),
        new: Some(secret(0, 2)),
        cause,
    };
    let watch: Vec<_> = (0..keys).map(|key| delta(key, DeltaCause::Watch)).collect();
    let first = delta(0, DeltaCause::Initial);
    let book = Book::<Secret>::new();
    book.open();
    measure("a change of the first list", |_| {
        black_box(book.heard(&via, black_box(&first)));
    });
    // All but a hundred each second are not compared.
    measure("a change, noted for its key", |call| {
        let delta = &watch[(call % keys) as usize];
        let change = book.heard(&via, delta);
        book.note(&delta.key, change.as_ref(), Fate::Woke);
    });
    measure("a change, noted again and again for one key", |_| {
        let change = book.heard(&via, &watch[0]);
        book.note(&watch[0].key, change.as_ref(), Fate::Woke);
    });
    assert_eq!(
        book.entry(&watch[0].key, |entry| entry.woke.len()),
        8,
        "and no more"
    );
    for size in [256, 5 * 1024] {
        let (old, new) = (secret(size, 1), secret(size, 2));
        measure(&format!("comparing two objects of {size} bytes"), |_| {
            black_box(whole::<Secret>(black_box(&old), black_box(&new)));
        });
    }
    let mut guard = Guard::new(HotLoop::default());
    let (cause, mut now) = (Cause::Updated, crate::clock::now());
    measure("the guard, for a change and its run", |call| {
        now += std::time::Duration::from_micros(50);
        let key = number(&objects[(call % keys) as usize]);
        let object = object_of(&cause, Level::Spec).unwrap_or_default();
        black_box(guard.changed(key, object, now));
        guard.started(key, now);
        guard.finished(key, now);
    });
}
