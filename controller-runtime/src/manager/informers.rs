//! One informer for each kind and selection, however many controllers want it.
//!
//! A controller that comes late gets what is there and everything later, with no gap: that is how an informer treats its
//! subscribers. The informer is driven by one of the controllers that use it, and taken over by another when that one ends.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use kube::Client;

use crate::{
    clock::Origin,
    declare::{Namespaces, Scope, Watched},
    object::Object,
    watch::{Config, Informer, Pruning},
};

/// The informers of one process. Clones share them.
#[derive(Clone, Default)]
pub struct Informers {
    origin: Origin,
    informers: Arc<Mutex<HashMap<Key, Box<dyn Any + Send>>>>,
}

/// Two wishes with one key are served by one watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    /// The type that objects are decoded into; with `metadata_only`, that of their metadata.
    object: TypeId,
    /// Group, version and plural, for kinds known at run time.
    resource: (String, String, String),
    namespaces: Vec<String>,
    labels: Option<String>,
    fields: Option<String>,
    pruning: Pruning,
}

impl Informers {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Chance in their delays comes from here.
    #[must_use]
    pub fn seeded(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// The informer of what is watched, made now if nobody wanted it before.
    ///
    /// It watches the namespaces one by one, or the whole cluster; cluster-scoped kinds always the latter.
    pub fn informer<T: Object>(
        &self,
        client: &Client,
        namespaces: &Namespaces,
        watched: &Watched,
        dyntype: &T::DynamicType,
        pruning: Pruning,
    ) -> Informer<T> {
        let namespaces: &[String] = match (watched.scope, namespaces) {
            (Scope::Namespaced, Namespaces::Only(names)) => names,
            _ => &[],
        };
        let resource = &watched.resource;
        let key = Key {
            object: TypeId::of::<T>(),
            resource: (
                resource.group.clone(),
                resource.version.clone(),
                resource.plural.clone(),
            ),
            namespaces: namespaces.to_vec(),
            labels: watched.labels.clone(),
            fields: watched.fields.clone(),
            pruning: pruning.clone(),
        };
        let mut informers = self.informers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(informer) = informers
            .get(&key)
            .and_then(|any| any.downcast_ref::<Informer<T>>())
        {
            return informer.clone();
        }
        let mut config = Config::default();
        config.labels.clone_from(&watched.labels);
        config.fields.clone_from(&watched.fields);
        config.pruning = pruning;
        config.seed = self
            .origin
            .seed(&format!("watch of {}.{}", resource.plural, resource.group));
        let names = namespaces.iter().map(String::as_str);
        let informer = Informer::<T>::in_namespaces(client, names, config, dyntype.clone());
        informers.insert(key, Box::new(informer.clone()));
        informer
    }

    /// How many watches there are, with all namespaces counted as one.
    pub fn len(&self) -> usize {
        self.informers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let informers = self.informers.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_list().entries(informers.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use k8s_openapi::api::core::v1::{ConfigMap, Secret};

    use super::*;

    fn client() -> Client {
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Ok::<_, Infallible>(http::Response::new(kube::client::Body::empty()))
        });
        Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_wish_is_served_by_the_same_informer() {
        let (client, informers) = (client(), Informers::new());
        let secrets = Watched::new::<Secret>(&());
        let mut labelled = secrets.clone();
        labelled.labels = Some("app=web".to_owned());
        let get = |watched: &Watched, namespaces: &Namespaces| {
            informers.informer::<Secret>(&client, namespaces, watched, &(), Pruning::default())
        };
        get(&secrets, &Namespaces::All);
        get(&secrets, &Namespaces::All);
        assert_eq!(informers.len(), 1);
        get(&labelled, &Namespaces::All);
        let two = Namespaces::Only(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(
            get(&secrets, &two).status().len(),
            2,
            "a source for each namespace"
        );
        informers.informer::<ConfigMap>(
            &client,
            &two,
            &Watched::new::<ConfigMap>(&()),
            &(),
            Pruning::default(),
        );
        assert_eq!(informers.len(), 4);
    }
}
