//! How a related object finds its primaries: by its owner, by a mapper, or by a field of the primary.

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Mapped, Reconciler, assembly::Assembly};
use tokio::sync::Notify;

use crate::{
    Backoff, clock,
    object::{Object, ObjectRef},
    runner::guard,
    store::{Delta, DeltaCause, Store},
    trigger::{self, Names, References, Request, TryMapped},
};

/// From a change of a related object to the primaries that must run.
pub(super) trait Via<T: Object, K: Object>: Send + Sync + 'static {
    fn requests(&self, delta: &Delta<T>, primaries: &Store<K>) -> Vec<Request<K>>;

    /// Also hears every change of a primary.
    fn follow<R: Reconciler<Object = K>>(&self, assembly: &mut Assembly<'_, R>) {
        let _ = assembly;
    }
}

/// By owner references.
pub(super) struct Owned;

impl<T: Object, K: Object> Via<T, K> for Owned {
    fn requests(&self, delta: &Delta<T>, primaries: &Store<K>) -> Vec<Request<K>> {
        trigger::owner(delta, primaries, primaries.dyntype())
    }
}

/// `map(…)` or `try_map(…)`: a function of the user's from a related object to primaries.
pub struct Mapper<T: Object, K: Object>(Map<T, K>);

type Keys<T, K> = Box<dyn Fn(&T) -> Vec<ObjectRef<K>> + Send + Sync>;

enum Map<T: Object, K: Object> {
    Sure(Keys<T, K>),
    /// What it could not map is tried again: the index of what is owed, and who waits for it.
    Fallible(Arc<Owed<T, K>>),
    All,
}

struct Owed<T: Object, K: Object> {
    mapped: Mutex<TryMapped<T, K, String>>,
    changed: Notify,
}

impl<T: Object, K: Object> Mapper<T, K> {
    /// Takes what it gives as a list; `Option`, `Vec` and every other iterator will do, but for a `Result`.
    pub fn map<F, I>(map: F) -> Mapped<T, K, I>
    where
        F: Fn(&T) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = ObjectRef<K>>,
    {
        let keys = move |object: &T| map(object).into_iter().collect();
        Mapped {
            mapper: Self(Map::Sure(Box::new(keys))),
            given: PhantomData,
        }
    }

    /// Every primary there is.
    pub fn all() -> Self {
        Self(Map::All)
    }

    /// Like [`map`](Self::map), for a function that can fail: it is called again, with backoff, until it does not.
    pub fn try_map<F, I, E>(map: F) -> Self
    where
        F: Fn(&T) -> Result<I, E> + Send + Sync + 'static,
        I: IntoIterator<Item = ObjectRef<K>>,
        E: fmt::Display,
    {
        // A panic is one more way to fail: what is owed is still owed, and nobody else pays for it.
        let map = move |object: &T| {
            let called = guard(|| map(object).map(|keys| keys.into_iter().collect::<Vec<_>>()));
            match called {
                Ok(Ok(keys)) => Ok(keys),
                Ok(Err(error)) => Err(error.to_string()),
                Err(panic) => Err(format!("it panicked: {panic}")),
            }
        };
        Self(Map::Fallible(Arc::new(Owed {
            mapped: Mutex::new(TryMapped::new(Backoff::default(), map)),
            changed: Notify::new(),
        })))
    }
}

impl<T: Object, K: Object> Owed<T, K> {
    fn lock(&self) -> MutexGuard<'_, TryMapped<T, K, String>> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn requests(mapped: trigger::Mapped<K, String>, primaries: &Store<K>) -> Vec<Request<K>> {
        if let Some(error) = mapped.error {
            tracing::warn!(mapped = std::any::type_name::<T>(), %error, "a mapper failed; it is called again");
        }
        let mut requests = mapped.requests;
        if mapped.everything {
            requests.extend(trigger::bulk(primaries, primaries.dyntype()));
        }
        requests
    }

    /// Yields what is mapped at last.
    async fn later(self: &Arc<Self>, primaries: &Store<K>, rng: &mut fastrand::Rng) -> Vec<Request<K>> {
        loop {
            let due = self.lock().next_due();
            let changed = self.changed.notified();
            match due {
                None => changed.await,
                Some(due) if due > clock::now() => {
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep_until(due) => {}
                        () = changed => {}
                    }
                }
                Some(_) => {
                    let mapped = self.lock().retry(clock::now(), rng.f64());
                    return Self::requests(mapped, primaries);
                }
            }
        }
    }
}

impl<T: Object, K: Object> Via<T, K> for Mapper<T, K> {
    fn requests(&self, delta: &Delta<T>, primaries: &Store<K>) -> Vec<Request<K>> {
        match &self.0 {
            Map::Sure(map) => trigger::mapped(delta, map),
            // The first list wakes all primaries by itself.
            Map::All if delta.cause == DeltaCause::Initial => Vec::new(),
            Map::All => trigger::mapped(delta, |_: &T| -> Vec<_> {
                let all = primaries.snapshot();
                all.iter().map(|primary| primaries.key_of(primary)).collect()
            }),
            Map::Fallible(owed) => {
                let mapped = owed.lock().change(delta, clock::now(), 0.0);
                owed.changed.notify_one();
                Owed::<T, K>::requests(mapped, primaries)
            }
        }
    }

    fn follow<R: Reconciler<Object = K>>(&self, assembly: &mut Assembly<'_, R>) {
        let Map::Fallible(owed) = &self.0 else { return };
        let (owed, primaries, mut rng) = (
            Arc::clone(owed),
            assembly.primaries().clone(),
            assembly.origin().rng("a mapper's second try"),
        );
        let counted = Arc::clone(&owed);
        let what = format!("{} that could not be mapped", std::any::type_name::<T>());
        assembly.census().add(what, move || counted.lock().owed());
        let later = futures::stream::unfold((), move |()| {
            let (owed, primaries, mut rng) = (Arc::clone(&owed), primaries.clone(), rng.fork());
            async move { Some((owed.later(&primaries, &mut rng).await, ())) }
        });
        assembly.stream("a mapper's second try".to_owned(), later);
    }
}

/// `references(T, …)`: a function of the user's from a primary to the names it holds.
pub struct Field<T: Object, K: Object> {
    index: Box<dyn FnOnce(K::DynamicType) -> References<K, T> + Send + Sync>,
}

impl<T: Object, K: Object> Field<T, K> {
    /// A name, an `ObjectRef`, or an `Option` or a `Vec` of such.
    pub fn new<F, N>(field: F) -> Self
    where
        F: Fn(&K) -> N + Send + Sync + 'static,
        N: Names<T>,
    {
        Self {
            index: Box::new(move |kind| References::new(kind, field)),
        }
    }

    pub(super) fn index(self, kind: K::DynamicType) -> References<K, T> {
        (self.index)(kind)
    }
}

/// By a field of the primary.
pub(super) struct Index<K: Object, T: Object>(Arc<Mutex<References<K, T>>>);

impl<K: Object, T: Object> Index<K, T> {
    pub(super) fn new(references: References<K, T>) -> Self {
        Self(Arc::new(Mutex::new(references)))
    }
}

fn lock<K: Object, T: Object>(index: &Mutex<References<K, T>>) -> MutexGuard<'_, References<K, T>> {
    // The field is read before anything is changed, so a panic in it leaves the index whole.
    index.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Object, T: Object> Via<T, K> for Index<K, T> {
    fn requests(&self, delta: &Delta<T>, _primaries: &Store<K>) -> Vec<Request<K>> {
        lock(&self.0).wake(delta)
    }

    fn follow<R: Reconciler<Object = K>>(&self, assembly: &mut Assembly<'_, R>) {
        let (index, counted) = (Arc::clone(&self.0), Arc::clone(&self.0));
        let what = format!("references to {}", std::any::type_name::<T>());
        assembly.census().add(what, move || lock(&counted).entries());
        assembly.on_primary(Box::new(move |delta| lock(&index).primary(delta).changed));
    }
}

impl<T: Object, K: Object> fmt::Debug for Mapper<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapper").finish_non_exhaustive()
    }
}

impl<T: Object, K: Object> fmt::Debug for Field<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").finish_non_exhaustive()
    }
}
