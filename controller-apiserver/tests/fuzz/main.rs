//! Inputs that nobody would write: made from a corpus by chance, and kept where the server answers
//! something it did not answer before.
//!
//! Each target has a corpus, a file with an input on each line. A run replays it and makes `FUZZ_INPUTS` (500, if it is
//! not set) more from it, always the same for one `FUZZ_SEED`. With `FUZZ_KEEP` set, inputs with a new answer are
//! added to the file. What once was a find stays in the corpus:
//!
//! ```console
//! FUZZ_INPUTS=200000 FUZZ_KEEP=1 cargo test --release -p controller-apiserver --test fuzz -- --nocapture
//! ```
//!
//! What must hold: no panic, and nothing that takes long; every answer is whole, and a refusal is a `Status` with the
//! code of the answer; what is stored can be read, listed, and written back as it is, which changes nothing.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    reason = "a test, in several files"
)]

mod mutate;
mod targets;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mutate::Mutator;
use targets::{Target, World};

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(usual)
}

fn corpus_file(target: Target) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
    folder.join(format!("{}.txt", target.name()))
}

/// Each line is an input as a JSON text.
fn corpus(target: Target) -> Vec<String> {
    let text = std::fs::read_to_string(corpus_file(target)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

async fn run(target: Target) {
    let seed = setting("FUZZ_SEED", 1);
    let inputs = setting("FUZZ_INPUTS", 500);
    let mut mutator = Mutator::seeded(seed);
    let mut world = World::new().await;
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    let words = target.dictionary();
    for input in corpus(target) {
        seen.insert(world.answer(target, &input).await);
        kept.push(input);
    }
    let known = kept.len();
    for number in 0..inputs {
        if number % 2_000 == 1_999 {
            // The journal remembers every request.
            world = World::new().await;
        }
        let input = mutator.next(&kept, &words, target.is_json());
        if seen.insert(world.answer(target, &input).await) {
            kept.push(input);
        }
    }
    println!(
        "{}: {inputs} inputs with seed {seed}, corpus {known} + {}, {} answers",
        target.name(),
        kept.len() - known,
        seen.len()
    );
    if std::env::var_os("FUZZ_KEEP").is_some() {
        let lines: Vec<String> = kept
            .iter()
            .filter(|input| input.len() < 600)
            .map(|input| serde_json::to_string(input).unwrap())
            .collect();
        std::fs::write(corpus_file(target), lines.join("\n") + "\n").unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn request_paths() {
    run(Target::Path).await;
}

#[tokio::test(start_paused = true)]
async fn patches() {
    run(Target::Patch).await;
}

#[tokio::test(start_paused = true)]
async fn selectors() {
    run(Target::Selector).await;
}

#[tokio::test(start_paused = true)]
async fn schemas() {
    run(Target::Schema).await;
}

#[tokio::test(start_paused = true)]
async fn field_paths() {
    run(Target::FieldPath).await;
}
