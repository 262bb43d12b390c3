//! Every reconcile has a span that says what, why and which.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use tracing::span::{Attributes, Id};
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
