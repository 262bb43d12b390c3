// Included by the test twice: compiled against kube's paths and against ours.

use std::{fmt::Debug, future::Future, sync::Arc, time::Duration};

use futures::{Stream, StreamExt, TryStreamExt, channel::mpsc, future, stream};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Namespace, Node, Secret},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::DynamicObject,
    core::{GroupVersionKind, PartialObjectMeta},
    discovery::ApiResource,
};
use runtime::{
    Controller, Predicate, PredicateConfig, WatchStreamExt,
    controller::{Action, Config, Error as ControllerError},
    finalizer::{self, Event, finalizer},
    predicates,
    reflector::{self, ObjectRef},
    utils::Backoff,
    watcher,
};
use serde::de::DeserializeOwned;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("kube: {0}")]
    Kube(#[source] kube::Error),
    #[error("finalizer: {0}")]
    Finalizer(#[source] Box<finalizer::Error<Error>>),
    #[error("no name")]
    NoName,
}

pub(crate) struct Data {
    client: Client,
}

async fn reconcile(object: Arc<ConfigMap>, data: Arc<Data>) -> Result<Action, Error> {
    let name = object.metadata.name.as_ref().ok_or(Error::NoName)?;
    let api = Api::<ConfigMap>::default_namespaced(data.client.clone());
    api.get_opt(name).await.map_err(Error::Kube)?;
    Ok(Action::requeue(Duration::from_secs(300)))
}

fn error_policy(_object: Arc<ConfigMap>, _error: &Error, _data: Arc<Data>) -> Action {
    Action::requeue(Duration::from_secs(1))
}

/// Static kinds, owned and mapped ones, numbers, triggers and both ways to stop.
fn static_kinds(client: Client, stop: impl Future<Output = ()> + Send + Sync + 'static) -> impl Future<Output = ()> {
    let data = Arc::new(Data { client: client.clone() });
    let (_sender, reload) = mpsc::channel::<()>(0);
    let controller = Controller::new(Api::<ConfigMap>::all(client.clone()), watcher::Config::default().labels("app=x").any_semantic());
    let store = controller.store();
    controller
        .owns(Api::<Secret>::all(client.clone()), watcher::Config::default())
        .watches(Api::<Namespace>::all(client.clone()), watcher::Config::default(), move |namespace| {
            let name = namespace.name_any();
            store
                .state()
                .into_iter()
                .filter(move |object| object.namespace().as_deref() == Some(name.as_str()))
                .map(|object| ObjectRef::from_obj(&*object))
        })
        .watches(Api::<Secret>::all(client), watcher::Config::default(), |secret: Secret| {
            let namespace = secret.namespace()?;
            secret.labels().get("app").map(|app| ObjectRef::new(app).within(&namespace))
        })
        .with_config(Config::default().debounce(Duration::from_millis(100)).concurrency(3))
        .reconcile_all_on(reload.map(|()| ()))
        .graceful_shutdown_on(stop)
        .run(reconcile, error_policy, data)
        .filter_map(|result| async move { Result::ok(result) })
        .for_each(|(key, action)| async move {
            let _told = format!("{} {action:?}", key.name);
        })
}

/// Results are matched on, as in logs.
fn results(client: Client) -> impl Stream<Item = String> {
    Controller::new(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(Data { client }))
        .map(|result| match result {
            Ok((key, _)) => key.to_string(),
            Err(ControllerError::ObjectNotFound(key)) => key.to_string(),
            Err(ControllerError::ReconcilerFailed(error, key)) => format!("{key}: {error}"),
            Err(ControllerError::QueueError(error)) => error.to_string(),
            Err(error) => error.to_string(),
        })
}

/// A kind that is known at run time.
fn dynamic_kind(client: Client) -> impl Stream {
    async fn reconcile(object: Arc<DynamicObject>, _: Arc<()>) -> Result<Action, Error> {
        let _spec = object.data.get("spec").cloned();
        Ok(Action::await_change())
    }
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Document"));
    let children = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
    let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
    let child_api = Api::<DynamicObject>::all_with(client.clone(), &children);
    let key_type = resource.clone();
    Controller::new_with(api, watcher::Config::default(), resource)
        .owns_with(child_api.clone(), children.clone(), watcher::Config::default())
        .watches_with(child_api, children, watcher::Config::default(), move |object: DynamicObject| {
            Some(ObjectRef::new_with(&object.name_any(), key_type.clone()))
        })
        .run(reconcile, |_, _, _| Action::await_change(), Arc::new(()))
}

/// Only metadata is decoded.
fn metadata_only(client: Client) -> impl Stream {
    Controller::new(Api::<PartialObjectMeta<Deployment>>::all(client), watcher::Config::default()).run(
        |object: Arc<PartialObjectMeta<Deployment>>, _| async move {
            let _labels = object.labels().len();
            Ok::<_, Error>(Action::await_change())
        },
        |_, _, _| Action::requeue(Duration::from_secs(5)),
        Arc::new(()),
    )
}

/// Streams that were filtered before, one of them by a call that kube would rather not see.
#[expect(deprecated, reason = "it is in use")]
fn streams(client: Client) -> impl Stream {
    let (reader, writer) = reflector::store();
    let primaries = watcher(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .reflect(writer)
        .applied_objects()
        .predicate_filter(predicates::generation.combine(predicates::labels), PredicateConfig::default());
    let owned = runtime::metadata_watcher(Api::<Secret>::all(client.clone()), watcher::Config::default()).touched_objects();
    let related = watcher(Api::<Namespace>::all(client.clone()), watcher::Config::default()).touched_objects();
    Controller::for_stream(primaries, reader)
        .owns_stream(owned)
        .watches_stream(related, |namespace| Some(ObjectRef::new(&namespace.name_any())))
        .trigger_backoff(watcher::DefaultBackoff::default())
        .run(reconcile, error_policy, Arc::new(Data { client }))
}

/// One watch, several controllers.
fn shared_streams(client: Client) -> impl Stream {
    let (reader, writer) = reflector::store_shared::<ConfigMap>(1024);
    let subscriber = writer.subscribe().expect("a shared store");
    let other = writer.subscribe().expect("a shared store");
    let filling = watcher(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .reflect_shared(writer)
        .for_each(|_| future::ready(()));
    let first = Controller::for_shared_stream(subscriber.clone(), reader.clone())
        .owns_shared_stream(other.clone())
        .watches_shared_stream(other, |object: Arc<ConfigMap>| Some(ObjectRef::from_obj(&*object)))
        .run(reconcile, error_policy, Arc::new(Data { client: client.clone() }));
    let second = Controller::for_shared_stream_with(subscriber, reader, ()).run(reconcile, error_policy, Arc::new(Data { client }));
    stream::select(
        stream::select(first.map(drop), second.map(drop)),
        stream::once(filling),
    )
}

/// One function for every kind.
fn generic<K>(client: Client) -> impl Stream
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    async fn reconcile<K: Resource>(object: Arc<K>, _: Arc<Client>) -> Result<Action, Error> {
        object.meta().name.as_ref().map(|_| Action::await_change()).ok_or(Error::NoName)
    }
    Controller::new(Api::<K>::all(client.clone()), watcher::Config::default()).run(
        reconcile::<K>,
        |_, _, _| Action::await_change(),
        Arc::new(client),
    )
}

/// Reconciler and error policy borrow locals.
async fn borrowed_locals(client: Client) {
    let prefix = String::from("x");
    let failures = std::cell::Cell::new(0);
    let mut runs = 0;
    Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
        .graceful_shutdown_on(future::ready(()))
        .run(
            |object, _| {
                runs += 1;
                let known = object.name_any().starts_with(&prefix);
                async move { if known { Ok(Action::await_change()) } else { Err(Error::NoName) } }
            },
            |_, _, _| {
                failures.set(failures.get() + 1);
                Action::requeue(Duration::from_secs(failures.get()))
            },
            Arc::new(()),
        )
        .for_each(|_| future::ready(()))
        .await;
    drop(prefix);
    let _counted = (runs, failures.get());
}

/// Keys from outside, for a cluster-scoped kind.
fn external_trigger(client: Client, keys: mpsc::UnboundedReceiver<ObjectRef<Node>>) -> impl Stream {
    Controller::new(Api::<Node>::all(client), watcher::Config::default()).reconcile_on(keys).run(
        |node: Arc<Node>, _: Arc<()>| async move {
            let _name = node.name_any();
            Ok::<_, Error>(Action::await_change())
        },
        |_, _, _| Action::await_change(),
        Arc::new(()),
    )
}

/// Cleanup before an object goes.
fn with_finalizer(client: Client) -> impl Stream {
    async fn reconcile(object: Arc<ConfigMap>, data: Arc<Data>) -> Result<Action, Error> {
        let api = Api::<ConfigMap>::namespaced(data.client.clone(), &object.namespace().unwrap_or_default());
        finalizer(&api, "example.com/cleanup", object, |event| async {
            match event {
                Event::Apply(object) => apply(object).await,
                Event::Cleanup(object) => cleanup(&object).await,
            }
        })
        .await
        .map_err(|error| Error::Finalizer(Box::new(error)))
    }
    async fn apply(_: Arc<ConfigMap>) -> Result<Action, Error> {
        Ok(Action::requeue(Duration::from_secs(60)))
    }
    async fn cleanup(_: &ConfigMap) -> Result<Action, Error> {
        Ok(Action::await_change())
    }
    Controller::new(Api::<ConfigMap>::all(client.clone()), watcher::Config::default()).run(
        reconcile,
        error_policy,
        Arc::new(Data { client }),
    )
}

/// A struct that holds a running controller needs it to be `Send`.
fn boxed(client: Client) -> stream::BoxStream<'static, ()> {
    Controller::new(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .run(reconcile, error_policy, Arc::new(Data { client }))
        .map(drop)
        .boxed()
}

/// A backoff of one's own.
fn own_backoff(client: Client, backoff: impl Backoff + 'static) -> impl Stream {
    let (reader, writer) = reflector::store();
    let primaries = watcher(Api::<ConfigMap>::all(client.clone()), watcher::Config::default()).reflect(writer).applied_objects();
    let failing = primaries.map_ok(|object| object);
    Controller::for_stream(failing, reader).trigger_backoff(backoff).run(
        reconcile,
        error_policy,
        Arc::new(Data { client }),
    )
}

const MOMENT: Duration = Duration::from_secs(30);

/// Lets each of them run for a moment; tells whether those that were stopped before their store was ready ended.
pub(crate) async fn run_all(client: Client) -> bool {
    async fn for_a_moment(stream: impl Stream) {
        let moment = tokio::time::sleep(MOMENT);
        let mut stream = std::pin::pin!(stream.take_until(moment));
        while stream.next().await.is_some() {}
    }
    let (sender, receiver) = mpsc::unbounded();
    sender.unbounded_send(ObjectRef::new("node")).expect("it listens");
    for_a_moment(results(client.clone())).await;
    for_a_moment(dynamic_kind(client.clone())).await;
    for_a_moment(metadata_only(client.clone())).await;
    for_a_moment(streams(client.clone())).await;
    for_a_moment(shared_streams(client.clone())).await;
    for_a_moment(generic::<Secret>(client.clone())).await;
    for_a_moment(generic::<Node>(client.clone())).await;
    for_a_moment(external_trigger(client.clone(), receiver)).await;
    for_a_moment(with_finalizer(client.clone())).await;
    for_a_moment(boxed(client.clone())).await;
    for_a_moment(own_backoff(client.clone(), watcher::DefaultBackoff::default())).await;
    let stopped = static_kinds(client.clone(), future::ready(()));
    let stopped = tokio::time::timeout(MOMENT, stopped).await.is_ok();
    stopped && tokio::time::timeout(MOMENT, borrowed_locals(client)).await.is_ok()
}
