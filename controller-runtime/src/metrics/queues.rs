//! What queues hold, read when someone asks, and how long keys wait and run.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{
        MetricType,
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::ConstGauge,
        histogram::Histogram,
    },
    registry::Registry,
};

use super::labels::{OfController, OfDepth, OfQueue};
use crate::{
    clock::{self, Instant},
    runner::{Depth, Finished, Gauge, Outcome, Started},
    trigger::Level,
};

/// Go controller-runtime's buckets: from ten nanoseconds, each ten times the last, in seconds.
const SECONDS: [f64; 12] = [
    1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0,
];

type Histograms = Family<OfQueue, Histogram, fn() -> Histogram>;

#[derive(Clone, Debug)]
pub(super) struct Queues {
    waited: Histograms,
    worked: Histograms,
    retries: Family<OfQueue, Counter>,
    live: Live,
}

/// The queues as they are; a collector reads them at each scrape, so that a number can neither drift nor go below zero.
#[derive(Clone, Debug, Default)]
struct Live(Arc<Mutex<BTreeMap<String, Queue>>>);

#[derive(Debug, Default)]
struct Queue {
    gauge: Option<Gauge>,
    /// When each running reconcile began. Invariant: only those that have not ended.
    running: HashMap<u64, Instant>,
}

impl Queues {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let histograms = || -> Histograms { Family::new_with_constructor(|| Histogram::new(SECONDS)) };
        let metrics = Self {
            waited: histograms(),
            worked: histograms(),
            retries: Family::default(),
            live: Live::default(),
        };
        registry.register(
            "workqueue_queue_duration_seconds",
            "How long keys are ready before they run",
            metrics.waited.clone(),
        );
        registry.register(
            "workqueue_work_duration_seconds",
            "How long keys run",
            metrics.worked.clone(),
        );
        registry.register(
            "workqueue_retries",
            "Keys put back after a failure",
            metrics.retries.clone(),
        );
        registry.register_collector(Box::new(metrics.live.clone()));
        metrics
    }

    /// Makes every series of a controller, at 0.
    pub(super) fn expect(&self, controller: &str) {
        let labels = OfQueue::new(controller);
        drop(self.waited.get_or_create(&labels));
        drop(self.worked.get_or_create(&labels));
        drop(self.retries.get_or_create(&labels));
        self.live.with(controller, |_| ());
    }

    pub(super) fn queue(&self, controller: &str, gauge: &Gauge) {
        // Of a controller that was started again, too: what ran before runs no more.
        self.live.with(controller, |queue| {
            *queue = Queue {
                gauge: Some(gauge.clone()),
                running: HashMap::new(),
            };
        });
    }

    pub(super) fn started(&self, controller: &str, started: &Started<'_>) {
        self.waited
            .get_or_create(&OfQueue::new(controller))
            .observe(started.waited.as_secs_f64());
        self.live
            .with(controller, |queue| queue.running.insert(started.id, clock::now()));
    }

    pub(super) fn finished(&self, controller: &str, finished: &Finished<'_>) {
        let labels = OfQueue::new(controller);
        self.worked
            .get_or_create(&labels)
            .observe(finished.took.as_secs_f64());
        self.live
            .with(controller, |queue| queue.running.remove(&finished.id));
        if matches!(
            finished.outcome,
            Outcome::Failed(_) | Outcome::Panicked(_) | Outcome::TimedOut(_)
        ) {
            self.retries.get_or_create(&labels).inc();
        }
    }
}

impl Live {
    fn with<T>(&self, controller: &str, change: impl FnOnce(&mut Queue) -> T) -> T {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(queues.entry(controller.to_owned()).or_default())
    }
}

/// One queue at the moment of a scrape.
struct Reading {
    controller: String,
    depth: Depth,
    by_level: [usize; Level::ALL.len()],
    ages: Vec<Duration>,
}

impl Reading {
    fn unfinished(&self) -> f64 {
        self.ages.iter().sum::<Duration>().as_secs_f64()
    }

    fn longest(&self) -> f64 {
        self.ages.iter().max().copied().unwrap_or_default().as_secs_f64()
    }
}

impl Collector for Live {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let now = clock::now();
        let readings: Vec<_> = {
            let queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let read = |(controller, queue): (&String, &Queue)| Reading {
                controller: controller.clone(),
                depth: queue.gauge.as_ref().map(Gauge::read).unwrap_or_default(),
                by_level: queue
                    .gauge
                    .as_ref()
                    .map(Gauge::ready_by_level)
                    .unwrap_or_default(),
                ages: queue
                    .running
                    .values()
                    .map(|began| now.saturating_duration_since(*began))
                    .collect(),
            };
            queues.iter().map(read).collect()
        };
        let mut gauge = |name: &str, help: &str, value: fn(&Reading) -> f64| {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            readings.iter().try_for_each(|reading| {
                let labels = OfQueue::new(&reading.controller);
                ConstGauge::new(value(reading)).encode(family.encode_family(&labels)?)
            })
        };
        gauge("workqueue_waiting", "Keys that wait for their time", |reading| {
            count(reading.depth.waiting)
        })?;
        gauge(
            "workqueue_slowed",
            "Keys that run in circles and are slowed",
            |reading| count(reading.depth.slowed),
        )?;
        gauge(
            "workqueue_unfinished_work_seconds",
            "How long all running reconciles have run",
            Reading::unfinished,
        )?;
        gauge(
            "workqueue_longest_running_processor_seconds",
            "How long the longest running reconcile has run",
            Reading::longest,
        )?;
        depths(&readings, &mut encoder)?;
        let (name, help) = ("workqueue_adds", "How often a key became ready");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        readings.iter().try_for_each(|reading| {
            let labels = OfQueue::new(&reading.controller);
            ConstCounter::new(reading.depth.adds).encode(family.encode_family(&labels)?)
        })?;
        let (name, help) = ("controller_runtime_active_workers", "Reconciles that run");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        readings.iter().try_for_each(|reading| {
            let labels = OfController::new(&reading.controller);
            ConstGauge::new(count(reading.depth.running)).encode(family.encode_family(&labels)?)
        })
    }
}

/// A series for each level, so that their sum is what could run.
fn depths(readings: &[Reading], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let (name, help) = ("workqueue_depth", "Keys that could run and do not yet");
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for reading in readings {
        for (level, keys) in Level::ALL.iter().zip(reading.by_level) {
            let labels = OfDepth::new(&reading.controller, level.as_str());
            ConstGauge::new(count(keys)).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 keys")]
fn count(keys: usize) -> f64 {
    keys as f64
}
