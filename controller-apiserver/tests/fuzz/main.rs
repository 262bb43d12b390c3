//! Inputs that nobody would write: made from a corpus by chance, and kept where the server answers
//! something it did not answer before.
//!
//! Each target has a corpus, a file with an input on each line. A run replays it and makes 500 more from it, or goes on
//! for `FUZZ_SECONDS`; the inputs are always the same for one `FUZZ_SEED`. With `FUZZ_KEEP` set, inputs with a new
//! answer are added to the file. What once was a find stays in the corpus:
//!
//! ```console
//! FUZZ_SECONDS=600 FUZZ_KEEP=1 cargo test -p controller-apiserver --test fuzz -- --nocapture selectors
//! ```
//!
//! Answers guide it, not coverage: instrumented code needs flags of a nightly compiler, and this project builds on stable.
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
use std::time::{Duration, Instant};

use mutate::Mutator;
use targets::{Target, World};

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a whole number")),
    )
}

/// How long a run goes on.
enum Limit {
    Inputs(u64),
    Until(Instant),
}

impl Limit {
    #[expect(
        clippy::disallowed_methods,
        reason = "the virtual clock stands still in a run"
    )]
    fn allows(&self, inputs: u64) -> bool {
        match self {
            Self::Inputs(limit) => inputs < *limit,
            Self::Until(end) => Instant::now() < *end,
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the virtual clock stands still in a run"
    )]
    fn of_environment() -> Self {
        match setting("FUZZ_SECONDS") {
            Some(seconds) => Self::Until(Instant::now() + Duration::from_secs(seconds)),
            None => Self::Inputs(500),
        }
    }
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
    let seed = setting("FUZZ_SEED").unwrap_or(1);
    let limit = Limit::of_environment();
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
    let mut inputs = 0;
    while limit.allows(inputs) {
        inputs += 1;
        if inputs % 2_000 == 0 {
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
