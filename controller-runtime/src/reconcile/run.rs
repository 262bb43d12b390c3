//! One run of a reconciler, as its extractors see it.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
};

use kube::{Client, Resource, api::ObjectMeta, core::ClusterResourceScope};

use super::{
    Attempt, Reconciler, Status,
    children::{Confirms, Family},
    recorder::Publisher,
    status::ReadStatus,
};
use crate::{
    clock::Origin,
    echo::OwnWrites,
    object::{Object, ObjectRef},
    store::{Store, key_of},
};

/// One run of a reconciler, as its extractors see it.
pub struct Run<R: Reconciler> {
    pub(super) object: Arc<R::Object>,
    pub(super) attempt: Attempt,
    /// What the function wants to write when it has ended.
    pub(super) status: Status,
    /// Set by whoever takes a `Status`.
    pub(super) read_status: OnceLock<ReadStatus<R::Object>>,
    pub(super) shared: Arc<Shared<R>>,
}

/// What all runs of a controller share.
pub(super) struct Shared<R: Reconciler> {
    pub(super) client: Client,
    pub(super) context: Arc<R::Context>,
    /// Read through the answers to own writes.
    pub(super) primaries: Store<R::Object>,
    pub(super) kind: <R::Object as Resource>::DynamicType,
    /// The controller's name: its field manager.
    pub(super) manager: String,
    pub(super) stores: Stores,
    pub(super) family: Arc<Family>,
    pub(super) publisher: Arc<Publisher>,
    pub(super) own_writes: OwnWrites<R::Object>,
    pub(super) origin: Origin,
}

/// The record of one key's own writes.
struct OwnKey<K: Object> {
    own_writes: OwnWrites<K>,
    key: ObjectRef<K>,
}

impl<K: Object> Confirms for OwnKey<K> {
    fn wrote(&self, meta: &ObjectMeta) {
        if let (Some(uid), Some(version)) = (&meta.uid, &meta.resource_version) {
            self.own_writes.wrote_version(&self.key, uid, version);
        }
    }

    fn deleted(&self, uid: &str) {
        self.own_writes.deleted(&self.key, uid);
    }
}

impl<R: Reconciler> Run<R> {
    pub(super) fn new(object: Arc<R::Object>, failures: u32, shared: Arc<Shared<R>>) -> Self {
        Self {
            object,
            attempt: Attempt::after(failures),
            status: Status::new(),
            read_status: OnceLock::new(),
            shared,
        }
    }

    /// The object to reconcile.
    pub fn object(&self) -> &Arc<R::Object> {
        &self.object
    }

    /// The context of the controller.
    pub fn context(&self) -> &Arc<R::Context> {
        &self.shared.context
    }

    /// The client of the operator.
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// What is known of the kind only at run time.
    pub(super) fn kind(&self) -> &<R::Object as Resource>::DynamicType {
        &self.shared.kind
    }

    pub(super) fn manager(&self) -> &str {
        &self.shared.manager
    }

    pub(super) fn family(&self) -> Arc<Family> {
        Arc::clone(&self.shared.family)
    }

    pub(super) fn publisher(&self) -> Arc<Publisher> {
        Arc::clone(&self.shared.publisher)
    }

    /// The server answered a write of the object itself with this: the next run begins with it or with a later one, and
    /// no run is for it.
    pub(super) fn wrote(&self, answer: &Arc<R::Object>) {
        self.confirms().wrote(answer.meta());
        self.shared.primaries.wrote(Arc::clone(answer));
    }

    /// Who hears of the answers to this run's writes.
    pub(super) fn confirms(&self) -> Arc<dyn Confirms> {
        Arc::new(OwnKey {
            own_writes: self.shared.own_writes.clone(),
            key: key_of(&*self.object, &self.shared.kind),
        })
    }

    /// How often this object has failed in a row.
    pub fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// The objects of a related kind. Those of a namespaced kind are looked for, and listed, in the namespace of the object.
    // Nothing is asked of `T` but that it is declared: what is no kind could not be.
    pub fn store<T: 'static>(&self) -> Store<T>
    where
        R: super::Declares<T>,
    {
        self.shared.stores.get(self.object.meta().namespace.as_deref())
    }
}

impl<R: Reconciler> fmt::Debug for Run<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// The stores of a controller by type: one for each related kind.
#[derive(Default)]
pub(super) struct Stores(HashMap<TypeId, Stored>);

struct Stored {
    /// A `Store` of the kind.
    store: Box<dyn Any + Send + Sync>,
    in_cluster: bool,
}

impl Stores {
    pub(super) fn insert<T: Object>(&mut self, store: Store<T>) {
        let stored = Stored {
            store: Box::new(store),
            in_cluster: TypeId::of::<T::Scope>() == TypeId::of::<ClusterResourceScope>(),
        };
        self.0.insert(TypeId::of::<T>(), stored);
    }

    /// Bound to that namespace, if the kind has one.
    fn get<T: 'static>(&self, namespace: Option<&str>) -> Store<T> {
        let stored = self.0.get(&TypeId::of::<T>());
        let known =
            stored.and_then(|stored| Some((stored.store.downcast_ref::<Store<T>>()?, stored.in_cluster)));
        #[expect(
            clippy::expect_used,
            reason = "invariant: `Declares<T>` is written where the relation is, which inserts the store"
        )]
        let (store, in_cluster) = known.expect("the store of a declared kind");
        match namespace {
            Some(namespace) if !in_cluster => store.within(namespace),
            _ => store.clone(),
        }
    }
}
