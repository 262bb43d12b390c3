//! Every reconcile has a span that says what, why and which.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use tracing::{
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
};

use super::world::{World, drain};
use crate::{Action, Config, backoff, logs::Logs};

#[derive(Debug, thiserror::Error)]
#[error("no")]
struct No;

/// How many spans of reconciles are open.
#[derive(Clone, Default)]
struct Open(Arc<AtomicI64>);

impl<S: tracing::Subscriber> Layer<S> for Open {
    fn on_new_span(&self, _: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn on_close(&self, _: Id, _: Context<'_, S>) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// kubernetes-sigs/controller-runtime#797: what panics, hangs or is dropped leaves nothing open.
#[tokio::test(start_paused = true)]
async fn the_span_of_every_reconcile_is_closed_however_it_ends() {
    let open = Open::default();
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _default = tracing::subscriber::set_default(tracing_subscriber::registry().with(open.clone()));
    let mut world = World::of(["done", "panics", "hangs", "dropped"]);
    let config = Config::default().timeout(Duration::from_secs(1));
    let reading = drain(world.controller().with_config(config).run(
        |object: Arc<ConfigMap>, _| async move {
            tokio::task::yield_now().await;
            match object.metadata.name.as_deref() {
                Some("panics") => std::panic::resume_unwind(Box::new("provoked")),
                Some("hangs") => std::future::pending().await,
                Some("dropped") => tokio::time::sleep(Duration::from_millis(700)).await,
                _ => {}
            }
            Ok::<_, No>(Action::await_change())
        },
        |_, _, _| Action::await_change(),
        Arc::new(()),
    ));
    world.trigger_all();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(open.0.load(Ordering::SeqCst), 2, "two still run");
    reading.abort();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(open.0.load(Ordering::SeqCst), 0);
}

/// What OpenTelemetry is told of spans: the object of each, and which failed.
#[derive(Clone, Default)]
struct Failed(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    objects: HashMap<u64, String>,
    failed: BTreeSet<String>,
}

/// The value of one field.
struct Value(&'static str, String);

impl Visit for Value {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == self.0 {
            self.1 = format!("{value:?}");
        }
    }
}

impl<S: tracing::Subscriber> Layer<S> for Failed {
    fn on_new_span(&self, attributes: &Attributes<'_>, span: &Id, _: Context<'_, S>) {
        let mut object = Value("object.ref", String::new());
        attributes.record(&mut object);
        self.0.lock().unwrap().objects.insert(span.into_u64(), object.1);
    }

    fn on_record(&self, span: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut status = Value("otel.status_code", String::new());
        values.record(&mut status);
        if status.1 == "\"ERROR\"" {
            let mut told = self.0.lock().unwrap();
            let object = told.objects[&span.into_u64()].clone();
            told.failed.insert(object);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_reconcile_that_fails_says_so() {
    let failed = Failed::default();
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _default = tracing::subscriber::set_default(tracing_subscriber::registry().with(failed.clone()));
    let mut world = World::of(["done", "fails", "panics", "hangs"]);
    let config = Config::default().timeout(Duration::from_secs(1));
    let reading = drain(world.controller().with_config(config).run(
        |object: Arc<ConfigMap>, _| async move {
            match object.metadata.name.as_deref() {
                Some("fails") => return Err(No),
                Some("panics") => std::panic::resume_unwind(Box::new("provoked")),
                Some("hangs") => std::future::pending().await,
                _ => {}
            }
            Ok::<_, No>(Action::await_change())
        },
        |_, _, _| Action::await_change(),
        Arc::new(()),
    ));
    world.trigger_all();
    tokio::time::sleep(Duration::from_secs(2)).await;
    reading.abort();
    let failed: Vec<_> = failed.0.lock().unwrap().failed.iter().cloned().collect();
    assert_eq!(
        failed,
        ["fails", "hangs", "panics"].map(|name| format!("ConfigMap.v1./{name}.default"))
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_reconcile_logs_says_what_why_and_which() {
    let logs = Logs::capture();
    let mut world = World::of(["a"]);
    let reading = drain(world.controller().run(
        |_, _| async {
            tokio::task::yield_now().await;
            tracing::info!("inside");
            Ok::<_, No>(Action::requeue(Duration::from_secs(5)))
        },
        backoff(),
        Arc::new(()),
    ));
    world.trigger("a");
    tokio::time::sleep(Duration::from_secs(7)).await;
    reading.abort();
    let text = logs.text();
    let inside: Vec<_> = text.lines().filter(|line| line.contains("inside")).collect();
    assert_eq!(inside.len(), 2, "{text}");
    for (line, expected) in inside.iter().zip([
        [
            "object.ref=ConfigMap.v1./a.default",
            "object.reason=external trigger",
            "reconcile.id=1",
        ],
        [
            "object.ref=ConfigMap.v1./a.default",
            "object.reason=reconciler requested requeue",
            "reconcile.id=2",
        ],
    ]) {
        assert!(expected.iter().all(|part| line.contains(part)), "{line}");
    }
}
