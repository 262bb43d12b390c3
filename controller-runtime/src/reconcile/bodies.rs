//! `references(T, …, referenced_only)`: of all objects the metadata is watched, and only what is referenced is held whole.
//!
//! - An object is read before the run of a primary that names it, when it is not held as the watch last told of it. Primaries
//!   that name the same object share it, and wait for one reading.
//! - It is let go when the last primary that names it goes, or names another. Nothing is held that nobody names.
//! - What cannot be read fails the run, which is tried again: a function never takes "not read yet" for "not there".
//!
//! Changes wake the primaries by the metadata alone, through the same index as any reference.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{StreamExt, TryStreamExt, stream};
use kube::{
    Client, Resource,
    api::{GetParams, ObjectMeta},
    core::{PartialObjectMeta, Request as ApiRequest},
};

use super::{Reconciler, Related, assembly::Assembly, relation::Connect, requests::is_gone};
use crate::{
    declare::RelationDeclaration,
    explain::{self, Via},
    object::{Object, ObjectRef},
    store::{Delta, Listing, Reflector, Store},
    trigger::{Named, Predicate, References, Repointed},
};

/// So many objects are read at once for one primary.
const AT_ONCE: usize = 8;

/// The relation before it is connected.
pub(super) struct ReferencedOnly<K: Object, T: Object> {
    pub(super) declared: RelationDeclaration,
    pub(super) predicates: Vec<Predicate<PartialObjectMeta<T>>>,
    pub(super) index: References<K, T>,
}

impl<R: Reconciler, T: Related> Connect<R> for ReferencedOnly<R::Object, T> {
    fn connect(self: Box<Self>, assembly: &mut Assembly<'_, R>) {
        let informer = assembly.informer::<PartialObjectMeta<T>>(&self.declared.target);
        let via = Via::declared(&self.declared, explain::of_metadata);
        let bodies = Arc::new(Bodies::new(assembly.client(), informer.store(), self.index));
        assembly.insert(bodies.reflector.store());
        bodies.reflector.store().counted(assembly.census());
        let counted = Arc::clone(&bodies);
        let what = format!("places of a referenced {}", self.declared.target.resource.kind);
        assembly.census().add(what, move || {
            let named = counted.lock();
            named.held.len() + named.index.entries()
        });
        let (listens, reads) = (Arc::clone(&bodies), Arc::clone(&bodies));
        assembly.on_primary(Box::new(move |delta| listens.primary(delta)));
        assembly.prepare(Box::new(move |key| {
            let (reads, key) = (Arc::clone(&reads), key.clone());
            Box::pin(async move { reads.bring(&key).await })
        }));
        assembly.related(&informer, via, self.predicates, move |delta| {
            bodies.lock().index.wake(delta)
        });
    }
}

/// What is referenced, held whole.
struct Bodies<K: Object, T: Object> {
    client: Client,
    metadata: Store<PartialObjectMeta<T>>,
    reflector: Reflector<T>,
    listing: Listing,
    named: Mutex<NamedBodies<K, T>>,
}

struct NamedBodies<K: Object, T: Object> {
    index: References<K, T>,
    /// What has been asked for; every key is named in `index`.
    held: HashMap<Named, Slot>,
}

/// The lock is held while the object is read, so that one reading serves all.
type Slot = Arc<tokio::sync::Mutex<Held>>;

/// Which state of an object is held.
#[derive(Default)]
struct Held {
    /// What the watch had told of when it was read.
    told: Option<Version>,
    /// What the server answered; it may be ahead of the watch.
    read: Option<Version>,
}

/// uid and resourceVersion.
type Version = (Option<String>, Option<String>);

fn version(meta: &ObjectMeta) -> Version {
    (meta.uid.clone(), meta.resource_version.clone())
}

impl Held {
    fn is(&self, wanted: &Version) -> bool {
        self.told.as_ref() == Some(wanted) || self.read.as_ref() == Some(wanted)
    }
}

impl<K: Object, T: Related> Bodies<K, T> {
    fn new(client: &Client, metadata: Store<PartialObjectMeta<T>>, index: References<K, T>) -> Self {
        let reflector = Reflector::new(T::DynamicType::default());
        // Being in sync is a promise of the metadata: no function runs before that is.
        reflector.set_synced();
        Self {
            client: client.clone(),
            metadata,
            listing: reflector.begin_list(),
            reflector,
            named: Mutex::new(NamedBodies {
                index,
                held: HashMap::new(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, NamedBodies<K, T>> {
        // The field is read before anything is changed, so a panic in it leaves the index whole.
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a change of a primary, and lets go of what nobody names any more. Whether it names others than before.
    fn primary(&self, delta: &Delta<K>) -> bool {
        let mut named = self.lock();
        let Repointed { changed, left } = named.index.primary(delta);
        for left in left {
            named.held.remove(&left);
            self.reflector.delete(left.namespace(), left.name());
        }
        changed
    }

    /// Brings everything that this primary names to what the watch last told of it.
    async fn bring(self: Arc<Self>, primary: &ObjectRef<K>) -> Result<(), kube::Error> {
        let names = self.lock().index.names_of(primary).to_vec();
        let reading = names.into_iter().map(|target| {
            let bodies = Arc::clone(&self);
            async move { bodies.bring_one(&target).await }
        });
        stream::iter(reading)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    async fn bring_one(&self, target: &Named) -> Result<(), kube::Error> {
        let Some(slot) = self.slot(target) else {
            return Ok(());
        };
        let mut held = slot.lock().await;
        let told = self.told(target);
        if told.as_ref().is_some_and(|told| held.is(told)) {
            return Ok(());
        }
        let body = match &told {
            Some(_) => self.read(target).await?,
            None => None,
        };
        let named = self.lock();
        if !named.index.is_named(target) {
            return Ok(());
        }
        held.told = told;
        held.read = body.as_ref().map(|body| version(body.meta()));
        match body {
            Some(body) => self.reflector.apply(body, self.listing),
            None => self.reflector.delete(target.namespace(), target.name()),
        }
        Ok(())
    }

    /// The place of what is named; `None` if nobody names it any more.
    fn slot(&self, target: &Named) -> Option<Slot> {
        let mut named = self.lock();
        let wanted = named.index.is_named(target);
        wanted.then(|| Arc::clone(named.held.entry(target.clone()).or_default()))
    }

    /// What the watch last told of it.
    fn told(&self, target: &Named) -> Option<Version> {
        let kind = T::DynamicType::default();
        let mut key = ObjectRef::<PartialObjectMeta<T>>::new_with(target.name(), kind);
        key.namespace = target.namespace().map(str::to_owned);
        self.metadata.get(&key).map(|known| version(known.meta()))
    }

    async fn read(&self, target: &Named) -> Result<Option<T>, kube::Error> {
        let collection = T::url_path(&T::DynamicType::default(), target.namespace());
        let request = ApiRequest::new(collection)
            .get(target.name(), &GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        match self.client.request::<T>(request).await {
            Ok(mut body) => {
                body.meta_mut().managed_fields = None;
                Ok(Some(body))
            }
            // It has just gone; the watch will tell.
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
