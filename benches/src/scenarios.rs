// Included by both runtimes' modules, so that each scenario is the same code for both.

use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use kube::Api;
use runtime::{
    Controller,
    controller::{Action, Config},
    reflector::ObjectRef,
    watcher,
};
use tokio::time::Instant;

use crate::{
    measure::{Counter, Readings, peak_memory, processor_time, resident_memory},
    server::{self, Server, Shape},
};

#[derive(Debug)]
pub(crate) struct Never;

impl std::fmt::Display for Never {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("never")
    }
}

impl std::error::Error for Never {}

fn keys(count: usize) -> impl Stream<Item = ObjectRef<ConfigMap>> + Send {
    let keys = (0..count).map(|number| ObjectRef::new(&server::name(number)).within("default"));
    stream::iter(keys).chain(stream::pending())
}

/// A controller over `count` objects, all of which are asked to run.
fn triggered(count: usize) -> Controller<ConfigMap> {
    let reader = stocked((0..count).map(server::small).collect());
    Controller::for_shared_stream(stream::pending(), reader).reconcile_on(keys(count))
}

/// Reads results in the background, and counts them.
fn counted(results: impl Stream + Send + 'static) -> Counter {
    let counter = Counter::default();
    let count = counter.clone();
    tokio::spawn(results.for_each(move |_| {
        count.add();
        std::future::ready(())
    }));
    counter
}

/// Each reconcile sleeps, then asks to run again.
pub(crate) async fn in_flight(count: usize, sleep: Duration, limit: Option<u16>) -> Readings {
    let config = Config::default().concurrency(limit.unwrap_or(0));
    let counter = counted(triggered(count).with_config(config).run(
        move |_, _: Arc<()>| async move {
            tokio::time::sleep(sleep).await;
            Ok::<_, Never>(Action::requeue(Duration::ZERO))
        },
        |_, _, _| Action::await_change(),
        Arc::new(()),
    ));
    let (warm_up, span) = crate::orders::spans(sleep);
    counter.cost(warm_up, span).await
}

/// Each reconcile does nothing, and asks to run again.
pub(crate) async fn storm(count: usize) -> Readings {
    let counter = counted(triggered(count).run(
        |_, _: Arc<()>| async { Ok::<_, Never>(Action::requeue(Duration::ZERO)) },
        |_, _, _| Action::await_change(),
        Arc::new(()),
    ));
    counter.cost(Duration::from_secs(1), Duration::from_secs(3)).await
}

fn reconciled_once(controller: Controller<ConfigMap>) -> impl Stream + Send {
    controller.run(
        |_, _: Arc<()>| async { Ok::<_, Never>(Action::await_change()) },
        |_, _, _| Action::await_change(),
        Arc::new(()),
    )
}

/// The first list, of objects that are decoded already.
pub(crate) async fn decoded(count: usize) -> Readings {
    let objects: Vec<_> = (0..count).map(server::small).collect();
    let (before, processor, start) = (resident_memory(), processor_time(), Instant::now());
    let seen = reconciled_once(told(objects)).take(count).count().await;
    assert_eq!(seen, count, "all are reconciled");
    Readings::default()
        .time(start.elapsed())
        .processor(processor_time().saturating_sub(processor))
        .memory(peak_memory().saturating_sub(before))
}

/// The first list, from JSON.
pub(crate) async fn listed(count: usize, shape: Shape) -> Readings {
    let server = Server::new(shape, count);
    let api = Api::<ConfigMap>::all(server.client());
    let (before, processor, start) = (resident_memory(), processor_time(), Instant::now());
    let mut results = Box::pin(reconciled_once(Controller::new(api, watcher::Config::default())));
    for _ in 0..count {
        results.next().await;
    }
    Readings::default()
        .time(start.elapsed())
        .processor(processor_time().saturating_sub(processor))
        .memory(peak_memory().saturating_sub(before))
        .rest(resident_memory().saturating_sub(before) / count)
}

/// A second list in which nothing changed.
pub(crate) async fn relisted(count: usize) -> Readings {
    let server = Server::new(Shape::Small, count);
    let api = Api::<ConfigMap>::all(server.client());
    let counter = counted(reconciled_once(Controller::new(api, watcher::Config::default())));
    counter.reaches(count as u64).await;
    let (before, lists) = (peak_memory(), server.complete_lists());
    server.expire();
    while server.complete_lists() == lists {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let extra = peak_memory().saturating_sub(before);
    Readings::default().count(counter.get() - count as u64).memory(extra).share(extra, before)
}

/// So many names come and go, of which a hundredth lives at each moment. Every reconcile asks to run again in an hour.
pub(crate) async fn churned(count: usize) -> Readings {
    let live = count / 100;
    let server = Server::new(Shape::Small, 0);
    let controller = Controller::new(Api::<ConfigMap>::all(server.client()), watcher::Config::default());
    let (store, planned) = (controller.store(), planned(&controller));
    let counter = counted(controller.run(
        |_, _: Arc<()>| async { Ok::<_, Never>(Action::requeue(Duration::from_secs(3600))) },
        |_, _, _| Action::await_change(),
        Arc::new(()),
    ));
    server.churn(live, live);
    counter.reaches(live as u64).await;
    let before = resident_memory();
    server.churn(count, live);
    let last = ObjectRef::new(&server::name(count - 1)).within("default");
    while store.get(&last).is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    Readings::default()
        .memory(resident_memory().saturating_sub(before))
        .objects(store.state().len())
        .planned(planned())
}

/// Objects that are decoded already, put into a store.
pub(crate) fn stored(count: usize) -> Readings {
    let objects: Vec<_> = (0..count).map(server::large).collect();
    let start = Instant::now();
    let store = stocked(objects);
    let took = start.elapsed();
    assert_eq!(store.len(), count, "all are there");
    Readings::default().time(took)
}
