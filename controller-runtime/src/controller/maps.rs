//! From objects of outside streams, and from by-value mappers, to wishes.

use std::{collections::HashMap, sync::Arc};

use kube::Resource;

use crate::{
    memory::shrink,
    object::{Object, ObjectRef},
    store::{Cache, Delta, DeltaCause, key_of},
    trigger::{Cause, Level, Request, owners},
};

/// A primary that a stream yielded.
pub(super) fn own<K: Object>(dyntype: K::DynamicType) -> impl Fn(&K) -> Vec<Request<K>> + Send {
    move |object| {
        let deleting = object.meta().deletion_timestamp.is_some();
        vec![Request {
            key: key_of(object, &dyntype),
            level: if deleting { Level::Deletion } else { Level::Spec },
            cause: if deleting { Cause::Deleted } else { Cause::Updated },
            uid: object.meta().uid.clone(),
            gone: false,
        }]
    }
}

/// The owners of an object that a stream yielded.
pub(super) fn owner<K: Object, C: Resource<DynamicType: Clone>>(
    cache: &Arc<dyn Cache<K>>,
    owner_type: &K::DynamicType,
    child_type: &C::DynamicType,
) -> impl Fn(&C) -> Vec<Request<K>> + Send + use<K, C> {
    let (cache, owner_type, child_type) = (Arc::clone(cache), owner_type.clone(), child_type.clone());
    move |object| {
        each(
            owners(object.meta(), &*cache, &owner_type),
            &cause(object, &child_type),
        )
    }
}

/// A mapper that takes its objects by value: it is called once for each change, and what it said before is remembered
/// for as long as the object exists.
pub(super) fn remembered<T, K, I>(
    mapper: impl Fn(T) -> I + Send + 'static,
) -> impl FnMut(&Delta<T>) -> Vec<Request<K>> + Send
where
    T: Object,
    K: Object,
    I: IntoIterator<Item = ObjectRef<K>>,
{
    let mut remembered: HashMap<ObjectRef<T>, Vec<ObjectRef<K>>> = HashMap::new();
    move |delta| {
        let now: Vec<_> = match &delta.new {
            Some(object) => mapper((**object).clone()).into_iter().collect(),
            None => Vec::new(),
        };
        let before = if now.is_empty() {
            let before = remembered.remove(&delta.key);
            shrink(&mut remembered);
            before
        } else {
            remembered.insert(delta.key.clone(), now.clone())
        };
        let mut keys = now;
        for key in before.into_iter().flatten() {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let level = match delta.cause {
            DeltaCause::Initial => Level::Initial,
            DeltaCause::Relist => Level::Bulk,
            DeltaCause::Watch => Level::Related,
        };
        let cause = Cause::Related {
            kind: T::kind(&delta.key.dyntype).into_owned(),
            namespace: delta.key.namespace.clone(),
            name: delta.key.name.clone(),
        };
        keys.into_iter()
            .map(|key| request(key, level, cause.clone()))
            .collect()
    }
}

/// The cause that a related object is.
pub(super) fn cause<T: Resource>(object: &T, dyntype: &T::DynamicType) -> Cause {
    Cause::Related {
        kind: T::kind(dyntype).into_owned(),
        namespace: object.meta().namespace.clone(),
        name: object.meta().name.clone().unwrap_or_default(),
    }
}

/// Primaries that a related object is for.
pub(super) fn each<K: Object>(
    keys: impl IntoIterator<Item = ObjectRef<K>>,
    cause: &Cause,
) -> Vec<Request<K>> {
    keys.into_iter()
        .map(|key| request(key, Level::Related, cause.clone()))
        .collect()
}

/// A primary that someone asked for.
pub(super) fn explicit<K: Object>(key: ObjectRef<K>) -> Request<K> {
    request(
        key,
        Level::Explicit,
        Cause::External("external trigger".to_owned()),
    )
}

/// All primaries.
pub(super) fn all<K: Object>(cache: &dyn Cache<K>, dyntype: &K::DynamicType) -> Vec<Request<K>> {
    let all = cache.all();
    all.iter()
        .map(|object| request(key_of(&**object, dyntype), Level::Bulk, Cause::Bulk))
        .collect()
}

fn request<K: Object>(key: ObjectRef<K>, level: Level, cause: Cause) -> Request<K> {
    Request {
        key,
        level,
        cause,
        uid: None,
        gone: false,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use kube::ResourceExt;

    use super::*;

    fn secret(apps: &str) -> Arc<Secret> {
        let mut secret = Secret::default();
        secret.metadata.name = Some("key".into());
        secret.metadata.namespace = Some("docs".into());
        secret.labels_mut().insert("apps".into(), apps.into());
        Arc::new(secret)
    }

    fn names(secret: &Secret) -> Vec<String> {
        let apps = secret.labels().get("apps").into_iter();
        apps.flat_map(|apps| apps.split_whitespace().map(str::to_owned))
            .collect()
    }

    /// From one state of the secret to the next, by the watch: what runs.
    #[test]
    fn what_a_mapper_said_before_runs_once_more() {
        let mut map = remembered(|secret: Secret| {
            let names = names(&secret);
            names
                .into_iter()
                .map(|name| ObjectRef::<ConfigMap>::new(&name).within("docs"))
        });
        let states = ["a", "a b", "b c", "b c", "", "d"].map(|apps| Some(secret(apps)));
        let states = [None]
            .into_iter()
            .chain(states)
            .chain([None, Some(secret("a")), None]);
        let states: Vec<_> = states.collect();
        let mut ran = Vec::new();
        for pair in states.windows(2) {
            let (old, new) = (pair[0].clone(), pair[1].clone());
            let key = ObjectRef::new("key").within("docs");
            let woken = map(&Delta {
                key,
                old,
                new,
                cause: DeltaCause::Watch,
            });
            assert!(
                woken
                    .iter()
                    .all(|request| request.level == Level::Related && !request.gone)
            );
            let mut woken: Vec<_> = woken.into_iter().map(|request| request.key.name).collect();
            woken.sort();
            ran.push(woken.join(" "));
        }
        assert_eq!(ran, ["a", "a b", "a b c", "b c", "b c", "d", "d", "a", "a"]);
    }
}
