//! The names of `kube::runtime::Controller`, as calls of the few methods that carry the logic.
//!
//! What differs: related objects must be `Sync`; `store` gives a [`Reader`], which has the same methods; the reader of
//! `for_stream` may be a store of ours or of kube's; `owns` reads metadata only, as in kube; `trigger_backoff` is for
//! streams handed in from outside, since watches of the controller's own have each their own backoff; keys of results carry
//! no `extra`, which tells of the object that asked rather than of the key.

use std::{fmt::Debug, hash::Hash, sync::Arc};

use futures::{FutureExt, Stream, StreamExt};
use kube::{
    Api, Resource,
    core::PartialObjectMeta,
    runtime::{utils::Backoff, watcher},
};
use serde::de::DeserializeOwned;

use super::{Controller, Reader, maps, shared_stream::awake};
use crate::{
    Config,
    object::{Object, ObjectRef},
    shutdown::Stage,
    store::Cache,
    trigger::{self, Predicate},
    watch::Informer,
};

/// Where the primaries come from.
impl<K: Object> Controller<K> {
    /// Reconciles the objects that `api` points to.
    pub fn new(api: Api<K>, config: watcher::Config) -> Self
    where
        K::DynamicType: Default,
    {
        Self::new_with(api, config, K::DynamicType::default())
    }

    /// Like [`new`](Self::new), of a kind known at run time.
    pub fn new_with(api: Api<K>, config: watcher::Config, dyntype: K::DynamicType) -> Self {
        Self::for_informer(&Informer::new_with(api, config, dyntype), Predicate::any([]))
    }

    /// Reconciles the objects that `trigger` yields, as `reader` has them.
    ///
    /// Such a stream does not tell deletions, and predicates may have taken changes out of it.
    pub fn for_stream(
        trigger: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        reader: impl Cache<K>,
    ) -> Self
    where
        K::DynamicType: Default,
    {
        Self::for_stream_with(trigger, reader, K::DynamicType::default())
    }

    /// Like [`for_stream`](Self::for_stream), of a kind known at run time.
    pub fn for_stream_with(
        trigger: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        reader: impl Cache<K>,
        dyntype: K::DynamicType,
    ) -> Self {
        let kind = K::kind(&dyntype).into_owned();
        let map = maps::own(dyntype.clone());
        Self::over(Arc::new(reader), dyntype).stream(kind, trigger, move |object: K| map(&object))
    }

    /// Like [`for_stream`](Self::for_stream), for a reflector that several controllers share.
    pub fn for_shared_stream(
        trigger: impl Stream<Item = Arc<K>> + Send + 'static,
        reader: impl Cache<K>,
    ) -> Self
    where
        K::DynamicType: Default,
    {
        Self::for_shared_stream_with(trigger, reader, K::DynamicType::default())
    }

    /// Like [`for_shared_stream`](Self::for_shared_stream), of a kind known at run time.
    pub fn for_shared_stream_with(
        trigger: impl Stream<Item = Arc<K>> + Send + 'static,
        reader: impl Cache<K>,
        dyntype: K::DynamicType,
    ) -> Self {
        let kind = K::kind(&dyntype).into_owned();
        let map = maps::own(dyntype.clone());
        Self::over(Arc::new(reader), dyntype)
            .stream(kind, awake(trigger).map(Ok), move |object: Arc<K>| map(&object))
    }
}

/// What wakes them.
impl<K: Object> Controller<K> {
    /// Is woken by the objects that its primaries own.
    ///
    /// Owners are found by the uid in the owner reference; only metadata is watched.
    pub fn owns<Child>(self, api: Api<Child>, config: watcher::Config) -> Self
    where
        Child: Object + Resource<DynamicType = ()>,
    {
        self.owns_with(api, (), config)
    }

    /// Like [`owns`](Self::owns), of a kind known at run time.
    pub fn owns_with<Child: Object>(
        self,
        api: Api<Child>,
        dyntype: Child::DynamicType,
        config: watcher::Config,
    ) -> Self {
        let namespace = api.namespace().map(str::to_owned);
        let informer = Informer::<PartialObjectMeta<Child>>::in_namespaces(
            &api.into_client(),
            namespace.as_deref(),
            config,
            dyntype,
        );
        let (primaries, owner_type) = (Arc::clone(&self.cache), self.dyntype.clone());
        self.related_by("owns", &informer, move |delta| {
            trigger::owner(delta, &*primaries, &owner_type)
        })
    }

    /// Is woken by the owned objects that `trigger` yields.
    pub fn owns_stream<Child>(
        self,
        trigger: impl Stream<Item = Result<Child, watcher::Error>> + Send + 'static,
    ) -> Self
    where
        Child: Resource<DynamicType = ()> + Send + 'static,
    {
        self.owns_stream_with(trigger, ())
    }

    /// Like [`owns_stream`](Self::owns_stream), of a kind known at run time.
    #[expect(clippy::needless_pass_by_value, reason = "kube's signature")]
    pub fn owns_stream_with<Child>(
        self,
        trigger: impl Stream<Item = Result<Child, watcher::Error>> + Send + 'static,
        dyntype: Child::DynamicType,
    ) -> Self
    where
        Child: Resource<DynamicType: Debug + Eq + Hash + Clone> + Send + 'static,
    {
        let kind = Child::kind(&dyntype).into_owned();
        let map = maps::owner::<K, Child>(&self.cache, &self.dyntype, &dyntype);
        self.stream(kind, trigger, move |object: Child| map(&object))
    }

    /// Is woken by the owned objects that `trigger`, of a shared reflector, yields.
    pub fn owns_shared_stream<Child>(self, trigger: impl Stream<Item = Arc<Child>> + Send + 'static) -> Self
    where
        Child: Resource<DynamicType = ()> + Send + Sync + 'static,
    {
        self.owns_shared_stream_with(trigger, ())
    }

    /// Like [`owns_shared_stream`](Self::owns_shared_stream), of a kind known at run time.
    #[expect(clippy::needless_pass_by_value, reason = "kube's signature")]
    pub fn owns_shared_stream_with<Child>(
        self,
        trigger: impl Stream<Item = Arc<Child>> + Send + 'static,
        dyntype: Child::DynamicType,
    ) -> Self
    where
        Child: Resource<DynamicType: Debug + Eq + Hash + Clone> + Send + Sync + 'static,
    {
        let kind = Child::kind(&dyntype).into_owned();
        let map = maps::owner::<K, Child>(&self.cache, &self.dyntype, &dyntype);
        self.stream(kind, awake(trigger).map(Ok), move |object: Arc<Child>| {
            map(&object)
        })
    }

    /// Is woken by the objects that `api` points to; `mapper` says which primaries an object is for.
    ///
    /// The primaries that an object was for before a change, or before its deletion, are woken too.
    pub fn watches<Other, I>(
        self,
        api: Api<Other>,
        config: watcher::Config,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Object + Resource<DynamicType: Default>,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        self.watches_with(api, Other::DynamicType::default(), config, mapper)
    }

    /// Like [`watches`](Self::watches), of a kind known at run time.
    pub fn watches_with<Other, I>(
        self,
        api: Api<Other>,
        dyntype: Other::DynamicType,
        config: watcher::Config,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Object,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        let informer = Informer::new_with(api, config, dyntype);
        self.related(&informer, maps::remembered(mapper))
    }

    /// Is woken by the objects that `trigger` yields; `mapper` says which primaries an object is for.
    pub fn watches_stream<Other, I>(
        self,
        trigger: impl Stream<Item = Result<Other, watcher::Error>> + Send + 'static,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Clone
            + Resource<DynamicType: Default + Debug + Clone>
            + DeserializeOwned
            + Debug
            + Send
            + 'static,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        self.watches_stream_with(trigger, mapper, Other::DynamicType::default())
    }

    /// Like [`watches_stream`](Self::watches_stream), of a kind known at run time.
    pub fn watches_stream_with<Other, I>(
        self,
        trigger: impl Stream<Item = Result<Other, watcher::Error>> + Send + 'static,
        mapper: impl Fn(Other) -> I + Sync + Send + 'static,
        dyntype: Other::DynamicType,
    ) -> Self
    where
        Other: Clone + Resource<DynamicType: Debug + Clone> + DeserializeOwned + Debug + Send + 'static,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        let kind = Other::kind(&dyntype).into_owned();
        self.stream(kind, trigger, move |object: Other| {
            let cause = maps::cause(&object, &dyntype);
            maps::each(mapper(object), &cause)
        })
    }

    /// Is woken by the objects that `trigger`, of a shared reflector, yields.
    pub fn watches_shared_stream<Other, I>(
        self,
        trigger: impl Stream<Item = Arc<Other>> + Send + 'static,
        mapper: impl Fn(Arc<Other>) -> I + Sync + Send + 'static,
    ) -> Self
    where
        Other: Resource<DynamicType: Default + Debug + Clone> + Send + Sync + 'static,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        self.watches_shared_stream_with(trigger, mapper, Other::DynamicType::default())
    }

    /// Like [`watches_shared_stream`](Self::watches_shared_stream), of a kind known at run time.
    pub fn watches_shared_stream_with<Other, I>(
        self,
        trigger: impl Stream<Item = Arc<Other>> + Send + 'static,
        mapper: impl Fn(Arc<Other>) -> I + Sync + Send + 'static,
        dyntype: Other::DynamicType,
    ) -> Self
    where
        Other: Resource<DynamicType: Debug + Clone> + Send + Sync + 'static,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
        I::IntoIter: Send,
    {
        let kind = Other::kind(&dyntype).into_owned();
        self.stream(kind, awake(trigger).map(Ok), move |object: Arc<Other>| {
            let cause = maps::cause(&*object, &dyntype);
            maps::each(mapper(object), &cause)
        })
    }

    /// Reconciles the objects that `trigger` names.
    pub fn reconcile_on(self, trigger: impl Stream<Item = ObjectRef<K>> + Send + 'static) -> Self {
        self.stream("external trigger".to_owned(), trigger.map(Ok), |key| {
            vec![maps::explicit(key)]
        })
    }

    /// Reconciles all objects, whenever `trigger` yields.
    pub fn reconcile_all_on(self, trigger: impl Stream<Item = ()> + Send + 'static) -> Self {
        let (cache, dyntype) = (Arc::clone(&self.cache), self.dyntype.clone());
        self.stream("bulk trigger".to_owned(), trigger.map(Ok), move |()| {
            maps::all(&*cache, &dyntype)
        })
    }
}

/// With which numbers, and until when.
impl<K: Object> Controller<K> {
    /// Sets debounce, concurrency and the other numbers.
    pub fn with_config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// How long to wait before a stream handed in from outside is polled again after an error.
    pub fn trigger_backoff(self, backoff: impl Backoff + 'static) -> Self {
        self.backoff.set(backoff);
        self
    }

    /// Reads the primaries.
    pub fn store(&self) -> Reader<K> {
        Reader::new(Arc::clone(&self.cache))
    }

    /// Begins a shutdown when `trigger` resolves: nothing new is started, running reconciles may finish within
    /// [`Config::shutdown_grace`].
    pub fn graceful_shutdown_on(mut self, trigger: impl Future<Output = ()> + Send + 'static) -> Self {
        self.stops.push((Stage::Draining, trigger.boxed()));
        self
    }

    /// Begins a shutdown at SIGINT or SIGTERM, and stops at once at the second.
    pub fn shutdown_on_signal(mut self) -> Self {
        self.stops_on_signal = true;
        self
    }
}
