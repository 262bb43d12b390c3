//! What reconciles do: how many, how long, how they end.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use super::labels::{OfController, OfResult, OfSource};
use crate::runner::{Finished, Outcome, SourceChange};

/// Go controller-runtime's buckets, in seconds.
const SECONDS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

type PerController = Family<OfController, Counter>;
type PerNamespace = BTreeMap<Option<String>, Source>;
type Histograms = Family<OfController, Histogram, fn() -> Histogram>;

#[derive(Clone, Debug)]
pub(super) struct Reconciles {
    total: Family<OfResult, Counter>,
    errors: PerController,
    terminal: PerController,
    panics: PerController,
    timeouts: PerController,
    restarts: PerController,
    mapper_panics: PerController,
    seconds: Histograms,
    limit: Family<OfController, Gauge>,
    healthy: Family<OfSource, Gauge>,
    synced: Family<OfSource, Gauge>,
    relists: Family<OfSource, Counter>,
    problems: Family<OfSource, Counter>,
    circles: PerController,
    undecodable: Family<OfSource, Gauge>,
    /// What was told last; a kind may have a source for each namespace.
    sources: Arc<Mutex<BTreeMap<OfSource, PerNamespace>>>,
}

/// What was told last of one source.
#[derive(Debug, Default)]
struct Source {
    fails: bool,
    synced: bool,
    relists: u64,
    undecodable: usize,
}

impl Reconciles {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let seconds: Histograms = Family::new_with_constructor(|| Histogram::new(SECONDS));
        let metrics = Self {
            total: Family::default(),
            errors: Family::default(),
            terminal: Family::default(),
            panics: Family::default(),
            timeouts: Family::default(),
            restarts: Family::default(),
            mapper_panics: Family::default(),
            seconds,
            limit: Family::default(),
            healthy: Family::default(),
            synced: Family::default(),
            relists: Family::default(),
            problems: Family::default(),
            circles: Family::default(),
            undecodable: Family::default(),
            sources: Arc::default(),
        };
        let mut counter = |name: &str, help: &str, family: &PerController| {
            registry.register(format!("controller_runtime_{name}"), help, family.clone());
        };
        counter("reconcile_errors", "Reconciles that failed", &metrics.errors);
        counter(
            "terminal_reconcile_errors",
            "Reconciles that failed for good",
            &metrics.terminal,
        );
        counter(
            "hot_loops",
            "Objects that were found to run in circles",
            &metrics.circles,
        );
        counter("reconcile_panics", "Reconciles that panicked", &metrics.panics);
        counter(
            "reconcile_timeouts",
            "Reconciles that took too long",
            &metrics.timeouts,
        );
        counter(
            "mapper_panics",
            "Mappers and predicates that panicked",
            &metrics.mapper_panics,
        );
        counter(
            "controller_restarts",
            "How often the controller ended though nobody asked it to, and was started again",
            &metrics.restarts,
        );
        registry.register(
            "controller_runtime_reconcile",
            "Reconciles by how they ended",
            metrics.total.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "How long reconciles take",
            metrics.seconds.clone(),
        );
        registry.register(
            "controller_runtime_max_concurrent_reconciles",
            "How many reconciles may run at once; 0 for any number",
            metrics.limit.clone(),
        );
        metrics.register_sources(registry);
        metrics
    }

    /// What is known of lists and watches.
    fn register_sources(&self, registry: &mut Registry) {
        registry.register(
            "controller_runtime_source_healthy",
            "1 while the lists and watches of this kind work, in all its namespaces",
            self.healthy.clone(),
        );
        registry.register(
            "controller_runtime_source_synced",
            "1 once the first list of this kind is complete, in all its namespaces",
            self.synced.clone(),
        );
        registry.register(
            "controller_runtime_source_relists",
            "How often this kind was listed again, as its watch could not go on",
            self.relists.clone(),
        );
        registry.register(
            "controller_runtime_source_problems",
            "How often the list or watch of this kind began to fail",
            self.problems.clone(),
        );
        registry.register(
            "controller_runtime_undecodable_objects",
            "Objects of this kind that cannot be decoded now; /status names them",
            self.undecodable.clone(),
        );
    }

    /// Makes every series of a controller, at 0.
    pub(super) fn expect(&self, controller: &str, limit: usize, kinds: &[&str]) {
        let labels = OfController::new(controller);
        for result in ["success", "error", "requeue", "requeue_after"] {
            drop(self.total.get_or_create(&OfResult {
                controller: controller.to_owned(),
                result,
            }));
        }
        for family in [
            &self.errors,
            &self.terminal,
            &self.panics,
            &self.timeouts,
            &self.circles,
            &self.restarts,
            &self.mapper_panics,
        ] {
            drop(family.get_or_create(&labels));
        }
        drop(self.seconds.get_or_create(&labels));
        self.limit
            .get_or_create(&labels)
            .set(i64::try_from(limit).unwrap_or(i64::MAX));
        for kind in kinds {
            let labels = OfSource {
                controller: controller.to_owned(),
                kind: (*kind).to_owned(),
            };
            drop(self.healthy.get_or_create(&labels));
            drop(self.synced.get_or_create(&labels));
            drop(self.relists.get_or_create(&labels));
            drop(self.problems.get_or_create(&labels));
            drop(self.undecodable.get_or_create(&labels));
        }
    }

    pub(super) fn source(&self, controller: &str, change: &SourceChange<'_>) {
        let labels = OfSource {
            controller: controller.to_owned(),
            kind: change.kind.to_owned(),
        };
        let mut all = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let places = all.entry(labels.clone()).or_default();
        let place = places.entry(change.namespace.map(str::to_owned)).or_default();
        let new = Source {
            fails: change.problem.is_some(),
            synced: change.synced,
            relists: change.relists,
            undecodable: change.undecodable.len(),
        };
        let before = std::mem::replace(place, new);
        if change.problem.is_some() && !before.fails {
            self.problems.get_or_create(&labels).inc();
        }
        // A controller that was started again counts anew.
        let more = change.relists.checked_sub(before.relists);
        self.relists
            .get_or_create(&labels)
            .inc_by(more.unwrap_or(change.relists));
        let all_are = |what: fn(&Source) -> bool| i64::from(places.values().all(what));
        self.healthy
            .get_or_create(&labels)
            .set(all_are(|source| source.synced && !source.fails));
        self.synced
            .get_or_create(&labels)
            .set(all_are(|source| source.synced));
        let undecodable: usize = places.values().map(|source| source.undecodable).sum();
        self.undecodable
            .get_or_create(&labels)
            .set(i64::try_from(undecodable).unwrap_or(i64::MAX));
    }

    pub(super) fn mapper_panicked(&self, controller: &str) {
        self.mapper_panics
            .get_or_create(&OfController::new(controller))
            .inc();
    }

    pub(super) fn restarted(&self, controller: &str) {
        self.restarts.get_or_create(&OfController::new(controller)).inc();
    }

    pub(super) fn circle(&self, controller: &str) {
        self.circles.get_or_create(&OfController::new(controller)).inc();
    }

    pub(super) fn finished(&self, controller: &str, finished: &Finished<'_>) {
        let labels = OfController::new(controller);
        let failed = |kind: Option<&PerController>| {
            self.errors.get_or_create(&labels).inc();
            if let Some(kind) = kind {
                kind.get_or_create(&labels).inc();
            }
            "error"
        };
        let result = match finished.outcome {
            Outcome::Done => "success",
            Outcome::Requeued(_) => "requeue_after",
            Outcome::Failed(_) => failed(None),
            Outcome::Permanent(_) => failed(Some(&self.terminal)),
            Outcome::Panicked(_) => failed(Some(&self.panics)),
            Outcome::TimedOut(_) => failed(Some(&self.timeouts)),
            // Nothing was reconciled, or nothing is known of how it would have ended.
            Outcome::Missing | Outcome::Interrupted => return,
        };
        self.total
            .get_or_create(&OfResult {
                controller: controller.to_owned(),
                result,
            })
            .inc();
        self.seconds
            .get_or_create(&labels)
            .observe(finished.took.as_secs_f64());
    }
}
