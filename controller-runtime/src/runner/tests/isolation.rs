//! One object's panic, timeout or error is its own.

use std::{
    panic,
    sync::{Arc, Once},
    time::Duration,
};

use futures::stream;
use k8s_openapi::api::core::v1::ConfigMap;

use super::world::{Log, Runs, World, drain, eventually, key};
use crate::{Action, Config, Error, backoff, object::ObjectRef};

#[derive(Debug, thiserror::Error)]
#[error("no")]
struct No;

/// Keeps the panics that tests provoke out of their output.
fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !info
                .payload()
                .downcast_ref::<&str>()
                .is_some_and(|text| text.starts_with("provoked"))
            {
                default(info);
            }
        }));
    });
}

fn names() -> Vec<String> {
    (0..20).map(|number| number.to_string()).collect()
}

fn is_bad(object: &ConfigMap) -> bool {
    object.metadata.name.as_deref() == Some("7")
}

/// kubernetes-sigs/controller-runtime#797: a panic of one of twenty objects, wherever it happens.
async fn a_panic_stays_with_its_object<Fut>(
    reconcile: impl Fn(Arc<ConfigMap>) -> Fut + Send + 'static,
    policy: fn() -> Action,
) where
    Fut: Future<Output = Result<Action, No>> + Send + 'static,
{
    quiet();
    let mut world = World::of(names());
    let (runs, log) = (Runs::default(), Arc::new(Log::default()));
    let controller = world.controller().observe(Arc::clone(&log) as _);
    let gauge = controller.gauge();
    let seen = runs.clone();
    let results = controller.run(
        move |object, _| {
            let running = seen.start(&object);
            let future = reconcile(object);
            async move {
                let _running = running;
                future.await
            }
        },
        move |_, _: &No, _| policy(),
        Arc::new(()),
    );
    let reading = drain(results);
    for _ in 0..3 {
        world.trigger_all();
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    for name in names() {
        assert!(runs.count(&name) >= 3, "{name} ran {} times", runs.count(&name));
    }
    assert_eq!(log.count("finished 7 panic failures=2"), 1, "{:?}", log.lines());
    assert!(log.count("panic") >= 4, "the count rises");
    assert_eq!(
        log.lines()
            .iter()
            .filter(|line| line.contains("panic") && !line.contains("finished 7 "))
            .count(),
        0
    );
    assert_eq!(
        (gauge.read().running, runs.active()),
        (0, 0),
        "slot and span are freed"
    );
    assert!(!reading.is_finished(), "the controller goes on");
    reading.abort();
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_the_reconciler_is_called() {
    let reconcile = |object: Arc<ConfigMap>| {
        assert!(!is_bad(&object), "provoked");
        async { Ok(Action::await_change()) }
    };
    a_panic_stays_with_its_object(reconcile, Action::await_change).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_await() {
    async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, No> {
        assert!(!is_bad(&object), "provoked");
        Ok(Action::await_change())
    }
    a_panic_stays_with_its_object(reconcile, Action::await_change).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_after_an_await() {
    async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, No> {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(!is_bad(&object), "provoked");
        Ok(Action::await_change())
    }
    a_panic_stays_with_its_object(reconcile, Action::await_change).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_error_policy() {
    async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, No> {
        if is_bad(&object) {
            Err(No)
        } else {
            Ok(Action::await_change())
        }
    }
    a_panic_stays_with_its_object(reconcile, || panic!("provoked")).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_the_reconcile_is_dropped() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "provoked");
        }
    }
    async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, No> {
        let _bomb = Bomb(is_bad(&object));
        tokio::task::yield_now().await;
        Ok(Action::await_change())
    }
    a_panic_stays_with_its_object(reconcile, Action::await_change).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_mapper_ends_no_watch() {
    quiet();
    let mut world = World::of(["a"]);
    let (runs, log) = (Runs::default(), Arc::new(Log::default()));
    let related = stream::iter((0..10).map(|number| {
        let mut related = ConfigMap::default();
        related.metadata.name = Some(number.to_string());
        Ok(related)
    }));
    let controller = world.controller().observe(Arc::clone(&log) as _).watches_stream(
        related,
        |related: ConfigMap| -> Option<ObjectRef<ConfigMap>> {
            assert_ne!(related.metadata.name.as_deref(), Some("3"), "provoked");
            (related.metadata.name.as_deref() == Some("9")).then(|| key("a"))
        },
    );
    let gauge = controller.gauge();
    let seen = runs.clone();
    let reading = drain(controller.run(
        move |object, _| {
            let _running = seen.start(&object);
            async { Ok::<_, No>(Action::await_change()) }
        },
        backoff(),
        Arc::new(()),
    ));
    eventually(&gauge, "the change after the panic is mapped", || {
        runs.count("a") == 1
    })
    .await;
    assert_eq!(log.count("MapperPanicked"), 1);
    reading.abort();
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_takes_too_long_is_dropped_and_tried_again() {
    let mut world = World::of(["slow", "quick"]);
    let (runs, log) = (Runs::default(), Arc::new(Log::default()));
    let config = Config::default().timeout(Duration::from_secs(30)).concurrency(1);
    let controller = world
        .controller()
        .observe(Arc::clone(&log) as _)
        .with_config(config);
    let seen = runs.clone();
    let results = controller.run(
        move |object, _| {
            let running = seen.start(&object);
            async move {
                let _running = running;
                if object.metadata.name.as_deref() == Some("slow") {
                    std::future::pending::<()>().await;
                }
                Ok::<_, No>(Action::await_change())
            }
        },
        backoff(),
        Arc::new(()),
    );
    let reading = drain(results);
    world.trigger_all();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(runs.count("quick"), 1);
    assert!(runs.count("slow") >= 3);
    assert_eq!(log.count("finished slow timeout failures=2"), 1);
    reading.abort();
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_not_in_the_store_is_told_and_forgotten() {
    let mut world = World::of(["a"]);
    let controller = world.controller();
    let gauge = controller.gauge();
    let mut results = Box::pin(controller.run(
        |_, _| async { Ok::<_, No>(Action::await_change()) },
        backoff(),
        Arc::new(()),
    ));
    world.trigger("missing");
    let result = futures::StreamExt::next(&mut results).await;
    assert!(matches!(result, Some(Err(Error::ObjectNotFound(key))) if key.name == "missing"));
    assert!(gauge.is_settled());
}
