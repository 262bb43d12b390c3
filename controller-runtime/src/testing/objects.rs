//! Objects of a cluster: applied as YAML or typed, read, changed, deleted.

use std::{any::TypeId, fmt::Debug, panic::Location};

use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams},
    core::ClusterResourceScope,
    discovery::{Scope, pinned_kind},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Cluster, fail};

/// The namespace of objects that name none.
const DEFAULT: &str = "default";

/// A kind whose objects a test can read.
pub trait Kind: Resource<DynamicType: Default> + DeserializeOwned + Clone + Debug + 'static {}

impl<K: Resource<DynamicType: Default> + DeserializeOwned + Clone + Debug + 'static> Kind for K {}

impl Cluster {
    /// Applies objects as `kubectl apply --server-side --force-conflicts` does, one after the other.
    ///
    /// They are given as text (YAML or JSON, several documents), as a typed object, as a `serde_json::Value`, or as a list of such.
    /// Objects without a namespace go into `default`.
    ///
    /// # Panics
    ///
    /// When one is no object, or the server does not take it.
    #[track_caller]
    pub fn apply(&self, objects: impl Serialize) -> impl Future<Output = ()> {
        let caller = Location::caller();
        let client = self.client();
        async move { apply(&client, &objects, caller).await }
    }

    /// The object of this name: `name` in `default` or without a namespace, or `namespace/name`.
    ///
    /// # Panics
    ///
    /// When it is not there; the text says what is.
    #[track_caller]
    pub fn get<K: Kind>(&self, name: &str) -> impl Future<Output = K> {
        let caller = Location::caller();
        async move {
            let place = Place::of::<K>(name);
            if let Some(object) = self.read(&place, caller).await {
                return object;
            }
            let there: Vec<_> = self.all::<K>(caller).await.iter().map(title).collect();
            let there = if there.is_empty() {
                "there is none of its kind".to_owned()
            } else {
                format!("there are {there:?}")
            };
            fail(&format!("there is no {}; {there}", place.title), caller)
        }
    }

    /// The object of this name, as for [`Cluster::get`], if it is there.
    ///
    /// # Panics
    ///
    /// When the server does not answer, or the object is not as its type wants it.
    #[track_caller]
    pub fn find<K: Kind>(&self, name: &str) -> impl Future<Output = Option<K>> {
        let caller = Location::caller();
        async move { self.read(&Place::of::<K>(name), caller).await }
    }

    /// All objects of this kind, by namespace and name.
    ///
    /// # Panics
    ///
    /// As [`Cluster::find`].
    #[track_caller]
    pub fn list<K: Kind>(&self) -> impl Future<Output = Vec<K>> {
        self.all(Location::caller())
    }

    /// Changes some fields of an object, as `kubectl patch --type merge` does, and gives what it is then.
    ///
    /// # Panics
    ///
    /// When the object is not there, or the server does not take the change.
    #[track_caller]
    pub fn patch<K: Kind>(&self, name: &str, change: impl Serialize + Debug) -> impl Future<Output = K> {
        let caller = Location::caller();
        async move {
            let place = Place::of::<K>(name);
            let api = place.api(self.client());
            let patched = api
                .patch(&place.name, &PatchParams::default(), &Patch::Merge(change))
                .await;
            let patched =
                patched.unwrap_or_else(|error| fail(&refused("patch", &place.title, &error), caller));
            typed(patched, caller)
        }
    }

    /// Deletes an object. Finalizers may keep it for a while.
    ///
    /// # Panics
    ///
    /// When it is not there, or the server does not delete it.
    #[track_caller]
    pub fn delete<K: Kind>(&self, name: &str) -> impl Future<Output = ()> {
        let caller = Location::caller();
        async move {
            let place = Place::of::<K>(name);
            let deleted = place
                .api(self.client())
                .delete(&place.name, &DeleteParams::default())
                .await;
            if let Err(error) = deleted {
                fail(&refused("delete", &place.title, &error), caller);
            }
        }
    }

    async fn read<K: Kind>(&self, place: &Place, caller: &'static Location<'static>) -> Option<K> {
        let found = place.api(self.client()).get_opt(&place.name).await;
        let found = found.unwrap_or_else(|error| fail(&refused("get", &place.title, &error), caller));
        found.map(|object| typed(object, caller))
    }

    async fn all<K: Kind>(&self, caller: &'static Location<'static>) -> Vec<K> {
        let resource = ApiResource::erase::<K>(&Default::default());
        let api: Api<DynamicObject> = Api::all_with(self.client(), &resource);
        let found = api.list(&ListParams::default()).await;
        let found = found.unwrap_or_else(|error| fail(&refused("list", &resource.plural, &error), caller));
        found
            .items
            .into_iter()
            .map(|object| typed(object, caller))
            .collect()
    }
}

/// Where an object is.
struct Place {
    resource: ApiResource,
    namespace: Option<String>,
    name: String,
    /// `ConfigMap default/a`
    title: String,
}

impl Place {
    fn of<K: Kind>(name: &str) -> Self {
        let resource = ApiResource::erase::<K>(&Default::default());
        let cluster = TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>();
        let (namespace, name) = name.split_once('/').unwrap_or((DEFAULT, name));
        let namespace = (!cluster).then(|| namespace.to_owned());
        Self::new(resource, namespace, name)
    }

    fn new(resource: ApiResource, namespace: Option<String>, name: &str) -> Self {
        let title = match &namespace {
            Some(namespace) => format!("{} {namespace}/{name}", resource.kind),
            None => format!("{} {name}", resource.kind),
        };
        Self {
            resource,
            namespace,
            name: name.to_owned(),
            title,
        }
    }

    fn api(&self, client: Client) -> Api<DynamicObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.resource),
            None => Api::all_with(client, &self.resource),
        }
    }
}

/// Applies all objects of a text, a list or a typed object.
pub(super) async fn apply(client: &Client, objects: &impl Serialize, caller: &'static Location<'static>) {
    let objects = serde_json::to_value(objects).unwrap_or_else(|error| {
        fail(
            &format!("no JSON can be made of what is applied: {error}"),
            caller,
        )
    });
    for object in documents(objects, caller) {
        apply_one(client, object, caller).await;
    }
}

/// The objects of a text, or of a list, in order.
fn documents(objects: Value, caller: &'static Location<'static>) -> Vec<Value> {
    match objects {
        Value::String(text) => {
            let parsed = serde_saphyr::from_multiple::<Value>(&text);
            let parsed = parsed.unwrap_or_else(|error| fail(&format!("this is no YAML: {error}"), caller));
            documents(Value::Array(parsed), caller)
        }
        Value::Array(list) => {
            let lists = list.into_iter().map(|object| documents(object, caller));
            lists.flatten().collect()
        }
        // An empty document.
        Value::Null => Vec::new(),
        object => vec![object],
    }
}

async fn apply_one(client: &Client, object: Value, caller: &'static Location<'static>) {
    let parsed = serde_json::from_value::<DynamicObject>(object.clone());
    let mut object =
        parsed.unwrap_or_else(|error| fail(&format!("this is no object: {error}: {object}"), caller));
    let Some(types) = &object.types else {
        fail(
            &format!("an object needs an apiVersion and a kind: {:?}", object.metadata),
            caller,
        )
    };
    let (group, version) = types
        .api_version
        .rsplit_once('/')
        .unwrap_or(("", &types.api_version));
    let gvk = GroupVersionKind::gvk(group, version, &types.kind);
    let (resource, capabilities) = pinned_kind(client, &gvk).await.unwrap_or_else(|error| {
        let known = "is its CRD one of the operator's, and was that started?";
        let text = format!(
            "the server does not know {} in {}: {error}; {known}",
            types.kind, types.api_version
        );
        fail(&text, caller)
    });
    // A cluster tells its managers; who applies does not.
    object.metadata.managed_fields = None;
    let namespace = (capabilities.scope == Scope::Namespaced)
        .then(|| object.namespace().unwrap_or_else(|| DEFAULT.to_owned()));
    let place = Place::new(resource, namespace, &object.name_any());
    let params = PatchParams::apply("test").force();
    let applied = place
        .api(client.clone())
        .patch(&place.name, &params, &Patch::Apply(&object))
        .await;
    if let Err(error) = applied {
        fail(&refused("apply", &place.title, &error), caller);
    }
}

fn typed<K: Kind>(object: DynamicObject, caller: &'static Location<'static>) -> K {
    let name = object.name_any();
    object.try_parse().unwrap_or_else(|error| {
        let kind = K::kind(&Default::default()).into_owned();
        fail(
            &format!("{kind} {name} is not as its type wants it: {error}"),
            caller,
        )
    })
}

fn title<K: Resource>(object: &K) -> String {
    match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    }
}

fn refused(verb: &str, title: &str, error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("cannot {verb} {title}: {}", status.message),
        error => format!("cannot {verb} {title}: {error}"),
    }
}
