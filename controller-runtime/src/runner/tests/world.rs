//! A store in memory, a way to trigger, and a record of what ran.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{
    FutureExt, StreamExt,
    channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded},
    future::BoxFuture,
};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::{sync::watch, task::JoinHandle, time::Instant};

use crate::{
    Action, Controller, backoff,
    object::ObjectRef,
    runner::{Event, Gauge, Observer},
    store::{Cache, NotReady},
};

/// A store that a test fills by hand.
#[derive(Clone)]
pub(super) struct Shelf {
    objects: Arc<Mutex<BTreeMap<String, Arc<ConfigMap>>>>,
    ready: watch::Sender<bool>,
}

impl Shelf {
    pub(super) fn put(&self, name: &str) {
        self.put_uid(name, "uid");
    }

    pub(super) fn put_uid(&self, name: &str, uid: &str) {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_owned());
        object.metadata.namespace = Some("default".to_owned());
        object.metadata.uid = Some(uid.to_owned());
        self.objects
            .lock()
            .unwrap()
            .insert(name.to_owned(), Arc::new(object));
    }

    pub(super) fn remove(&self, name: &str) {
        self.objects.lock().unwrap().remove(name);
    }

    pub(super) fn set_ready(&self) {
        self.ready.send_replace(true);
    }
}

impl Cache<ConfigMap> for Shelf {
    fn find(&self, key: &ObjectRef<ConfigMap>) -> Option<Arc<ConfigMap>> {
        self.objects.lock().unwrap().get(&key.name).cloned()
    }

    fn find_owner(&self, _: &str, _: Option<&str>, name: &str, (): &()) -> Option<Arc<ConfigMap>> {
        self.objects.lock().unwrap().get(name).cloned()
    }

    fn all(&self) -> Vec<Arc<ConfigMap>> {
        self.objects.lock().unwrap().values().cloned().collect()
    }

    fn ready(&self) -> BoxFuture<'static, Result<(), NotReady>> {
        let mut ready = self.ready.subscribe();
        async move {
            ready.wait_for(|ready| *ready).await.ok();
            Ok(())
        }
        .boxed()
    }
}

pub(super) fn key(name: &str) -> ObjectRef<ConfigMap> {
    ObjectRef::new(name).within("default")
}

/// What a test holds while a controller runs.
pub(super) struct World {
    pub(super) shelf: Shelf,
    triggers: UnboundedSender<ObjectRef<ConfigMap>>,
    receiver: Option<UnboundedReceiver<ObjectRef<ConfigMap>>>,
}

impl World {
    /// A world whose store is ready and holds objects of these names.
    pub(super) fn of(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let world = Self::unready();
        for name in names {
            world.shelf.put(name.as_ref());
        }
        world.shelf.set_ready();
        world
    }

    /// A world whose store is not ready.
    pub(super) fn unready() -> Self {
        let (triggers, receiver) = unbounded();
        Self {
            shelf: Shelf {
                objects: Arc::default(),
                ready: watch::Sender::new(false),
            },
            triggers,
            receiver: Some(receiver),
        }
    }

    /// A controller over this world.
    pub(super) fn controller(&mut self) -> Controller<ConfigMap> {
        let triggers = self.receiver.take().expect("one controller per world");
        Controller::over(Arc::new(self.shelf.clone()), ()).reconcile_on(triggers)
    }

    pub(super) fn trigger(&self, name: &str) {
        self.triggers.unbounded_send(key(name)).ok();
    }

    pub(super) fn trigger_all(&self) {
        for object in self.shelf.all() {
            self.trigger(object.metadata.name.as_deref().unwrap_or_default());
        }
    }
}

/// When each object ran, and how many at once.
#[derive(Clone, Default)]
pub(super) struct Runs {
    started: Arc<Mutex<BTreeMap<String, Vec<Instant>>>>,
    active: Arc<Mutex<BTreeMap<String, usize>>>,
    most_at_once: Arc<AtomicUsize>,
}

/// Ends a run when dropped.
pub(super) struct Running(Runs, String);

impl Runs {
    pub(super) fn start(&self, object: &ConfigMap) -> Running {
        let name = object.metadata.name.clone().unwrap_or_default();
        self.started
            .lock()
            .unwrap()
            .entry(name.clone())
            .or_default()
            .push(Instant::now());
        let mut active = self.active.lock().unwrap();
        let runs = active.entry(name.clone()).or_default();
        *runs += 1;
        assert_eq!(*runs, 1, "{name} runs twice at the same time");
        self.most_at_once
            .fetch_max(active.values().sum(), Ordering::Relaxed);
        Running(self.clone(), name)
    }

    pub(super) fn of(&self, name: &str) -> Vec<Instant> {
        self.started
            .lock()
            .unwrap()
            .get(name)
            .cloned()
            .unwrap_or_default()
    }

    pub(super) fn count(&self, name: &str) -> usize {
        self.of(name).len()
    }

    pub(super) fn total(&self) -> usize {
        self.started.lock().unwrap().values().map(Vec::len).sum()
    }

    pub(super) fn active(&self) -> usize {
        self.active.lock().unwrap().values().sum()
    }

    pub(super) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::Relaxed)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runs) = self.0.active.lock().unwrap().get_mut(&self.1) {
            *runs -= 1;
        }
    }
}

/// Polls `check` until it holds; fails with the last state after a virtual hour.
pub(super) async fn eventually(gauge: &Gauge, what: &str, check: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(3600);
    while !check() {
        assert!(Instant::now() < limit, "not in an hour: {what}; queue: {gauge:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Reads a result stream in the background.
pub(super) fn drain<S>(results: S) -> JoinHandle<Vec<String>>
where
    S: futures::Stream<Item: Describe> + Send + 'static,
{
    tokio::spawn(results.map(|result| result.describe()).collect::<Vec<_>>())
}

/// Runs a controller whose reconciles take this long and want nothing more.
pub(super) fn work(
    controller: Controller<ConfigMap>,
    runs: &Runs,
    time: Duration,
) -> JoinHandle<Vec<String>> {
    let seen = runs.clone();
    let reconcile = move |object: Arc<ConfigMap>, _| {
        let running = seen.start(&object);
        async move {
            let _running = running;
            tokio::time::sleep(time).await;
            Ok::<_, std::io::Error>(Action::await_change())
        }
    };
    drain(controller.run(reconcile, backoff(), Arc::new(())))
}

/// A result in short.
pub(super) trait Describe {
    fn describe(&self) -> String;
}

impl<E: std::error::Error> Describe for crate::runner::Item<ConfigMap, E> {
    fn describe(&self) -> String {
        match self {
            Ok((key, action)) => format!("{}: {action:?}", key.name),
            Err(error) => error.to_string(),
        }
    }
}

/// Everything a controller told, in short.
#[derive(Default)]
pub(super) struct Log(Mutex<Vec<String>>, Mutex<Vec<Duration>>);

impl Log {
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// How long each run waited for its start.
    pub(super) fn waits(&self) -> Vec<Duration> {
        self.1.lock().unwrap().clone()
    }

    pub(super) fn count(&self, word: &str) -> usize {
        self.lines().iter().filter(|line| line.contains(word)).count()
    }
}

impl Observer for Log {
    fn observe(&self, _: &str, event: &Event<'_>) {
        let line = match event {
            Event::Started(started) => {
                self.1.lock().unwrap().push(started.waited);
                format!("started {} {:?}", started.object.name, started.causes)
            }
            Event::Finished(finished) => {
                let outcome = finished.outcome.as_str();
                format!(
                    "finished {} {outcome} failures={}",
                    finished.object.name, finished.failures
                )
            }
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(line);
    }
}
