//! Processor time, memory and counts of this process.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// A side that takes longer to get somewhere never gets there.
const PATIENCE: Duration = Duration::from_secs(300);

/// What one run of one side told: name and value.
#[derive(Default)]
pub(crate) struct Readings(Vec<(&'static str, f64)>);

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
impl Readings {
    fn with(mut self, name: &'static str, value: f64) -> Self {
        self.0.push((name, value));
        self
    }

    pub(crate) fn time(self, took: Duration) -> Self {
        self.with("seconds", took.as_secs_f64())
    }

    pub(crate) fn processor(self, took: Duration) -> Self {
        self.with("processor seconds", took.as_secs_f64())
    }

    pub(crate) fn objects(self, kept: usize) -> Self {
        self.with("objects kept", kept as f64)
    }

    /// How many keys the queue keeps, where it tells.
    pub(crate) fn planned(self, kept: Option<usize>) -> Self {
        match kept {
            Some(kept) => self.with("keys kept", kept as f64),
            None => self,
        }
    }

    pub(crate) fn memory(self, bytes: usize) -> Self {
        self.with("MiB", bytes as f64 / 1_048_576.0)
    }

    pub(crate) fn rest(self, bytes: usize) -> Self {
        self.with("bytes/object at rest", bytes as f64)
    }

    pub(crate) fn share(self, part: usize, whole: usize) -> Self {
        self.with("% more peak", 100.0 * part as f64 / whole as f64)
    }

    pub(crate) fn count(self, reconciles: u64) -> Self {
        self.with("reconciles", reconciles as f64)
    }

    pub(crate) fn watches(self, opened: usize) -> Self {
        self.with("watches", opened as f64)
    }

    fn cost(self, reconciles: u64, processor: Duration, wall: Duration) -> Self {
        let reconciles = reconciles.max(1) as f64;
        self.with("µs/reconcile", processor.as_secs_f64() * 1e6 / reconciles)
            .with("reconciles/s", reconciles / wall.as_secs_f64())
    }
}

impl fmt::Display for Readings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|(name, value)| writeln!(f, "{name}={value}"))
    }
}

/// Counts what is done.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU64>);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) async fn reaches(&self, count: u64) {
        let deadline = Instant::now() + PATIENCE;
        while self.get() < count {
            assert!(Instant::now() < deadline, "{} of {count} were done", self.get());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Processor time for each, and each for a second, after a time to warm up.
    pub(crate) async fn cost(&self, warm_up: Duration, span: Duration) -> Readings {
        tokio::time::sleep(warm_up).await;
        let (count, processor, start) = (self.get(), processor_time(), Instant::now());
        tokio::time::sleep(span).await;
        let (count, processor) = (self.get() - count, processor_time().saturating_sub(processor));
        Readings::default().cost(count, processor, start.elapsed())
    }
}

/// Processor time of all threads that live.
pub(crate) fn processor_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").expect("procfs");
    let nanoseconds = tasks.flatten().filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

pub(crate) fn resident_memory() -> usize {
    status("VmRSS:")
}

pub(crate) fn peak_memory() -> usize {
    status("VmHWM:")
}

fn status(field: &str) -> usize {
    let text = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = text
        .lines()
        .find(|line| line.starts_with(field))
        .expect("the field");
    let kib: usize = line
        .split_whitespace()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .expect("a number");
    kib * 1024
}
