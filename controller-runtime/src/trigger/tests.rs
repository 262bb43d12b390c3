//! Triggers and predicates over old and new.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace, Node, Secret},
    },
    apimachinery::pkg::apis::meta::v1::{OwnerReference, Time},
    jiff::Timestamp,
};
use kube::{Resource, api::ObjectMeta};

use super::*;
use crate::{
    Backoff, clock,
    store::{Reflector, Store},
    trigger,
};

fn object<T: Object + Default>(namespace: Option<&str>, name: &str) -> T {
    let mut object = T::default();
    *object.meta_mut() = ObjectMeta {
        name: Some(name.into()),
        namespace: namespace.map(Into::into),
        uid: Some(format!("uid-{name}")),
        resource_version: Some("1".into()),
        ..ObjectMeta::default()
    };
    object
}

fn with<T: Object>(mut object: T, change: impl FnOnce(&mut ObjectMeta)) -> T {
    change(object.meta_mut());
    object
}

fn delta<T: Object<DynamicType = ()>>(old: Option<T>, new: Option<T>) -> Delta<T> {
    let (old, new) = (old.map(Arc::new), new.map(Arc::new));
    Delta {
        key: crate::store::key_of(&**new.as_ref().or(old.as_ref()).unwrap(), &()),
        old,
        new,
        cause: DeltaCause::Watch,
    }
}

fn owned_by<O: Resource<DynamicType = ()>, T: Object>(child: T, owner: &O, api_version: &str) -> T {
    with(child, |meta| {
        meta.owner_references
            .get_or_insert_default()
            .push(OwnerReference {
                api_version: api_version.into(),
                kind: O::kind(&()).into_owned(),
                name: owner.meta().name.clone().unwrap(),
                uid: owner.meta().uid.clone().unwrap(),
                ..OwnerReference::default()
            });
    })
}

fn keys<K: Object>(requests: &[Request<K>]) -> Vec<String> {
    requests
        .iter()
        .map(|request| match &request.key.namespace {
            Some(namespace) => format!("{namespace}/{}", request.key.name),
            None => request.key.name.clone(),
        })
        .collect()
}

mod owners {
    use super::*;

    /// google/knative-gcp#1399: children whose owner reference has an older API version never woke their owner;
    /// RedHatInsights/clowder#118: nor did those without the controller flag.
    #[test]
    fn the_version_and_the_controller_flag_do_not_matter() {
        let owner = object::<Deployment>(Some("a"), "web");
        let primaries = Store::from_objects([owner.clone()]);
        let child = owned_by(object::<ConfigMap>(Some("a"), "child"), &owner, "apps/v1beta1");
        let requests = trigger::owner(&delta(None, Some(child)), &primaries, &());
        assert_eq!(keys(&requests), ["a/web"]);
        assert_eq!(requests[0].uid.as_deref(), Some("uid-web"));
    }

    #[test]
    fn another_group_or_kind_is_not_the_owner() {
        let owner = object::<Deployment>(Some("a"), "web");
        let primaries = Store::from_objects([owner.clone()]);
        let child = owned_by(object::<ConfigMap>(Some("a"), "child"), &owner, "extensions/v1");
        assert!(trigger::owner(&delta(None, Some(child)), &primaries, &()).is_empty());
        let child = with(
            owned_by(object::<ConfigMap>(Some("a"), "child"), &owner, "apps/v1"),
            |meta| {
                meta.owner_references.as_mut().unwrap()[0].kind = "ReplicaSet".into();
            },
        );
        assert!(trigger::owner(&delta(None, Some(child)), &primaries, &()).is_empty());
    }

    /// kube-rs/kube#293: a cluster-scoped owner was looked for in the namespace of its child.
    #[test]
    fn the_scope_is_that_of_the_owner() {
        let owner = object::<Node>(None, "n1");
        let primaries = Store::from_objects([owner.clone()]);
        for namespace in ["a", "b", "c"] {
            let child = owned_by(object::<Secret>(Some(namespace), "child"), &owner, "v1");
            assert_eq!(
                keys(&trigger::owner(&delta(Some(child), None), &primaries, &())),
                ["n1"]
            );
        }
    }

    /// kubernetes-sigs/controller-runtime#214: the namespace of the child was put into the owner's key.
    #[test]
    fn an_owner_in_another_namespace_is_not_woken_and_no_stranger_is() {
        let (owner, stranger) = (
            object::<ConfigMap>(Some("a"), "web"),
            with(object::<ConfigMap>(Some("b"), "web"), |meta| {
                meta.uid = Some("other".into());
            }),
        );
        let primaries = Store::from_objects([owner.clone(), stranger]);
        let child = owned_by(object::<Secret>(Some("b"), "child"), &owner, "v1");
        assert!(trigger::owner(&delta(None, Some(child)), &primaries, &()).is_empty());
        let child = owned_by(object::<Node>(None, "child"), &owner, "v1");
        assert!(trigger::owner(&delta(None, Some(child)), &primaries, &()).is_empty());
    }

    #[test]
    fn a_changed_owner_wakes_both_and_a_kept_one_once() {
        let (one, two) = (
            object::<ConfigMap>(Some("a"), "one"),
            object::<ConfigMap>(Some("a"), "two"),
        );
        let primaries = Store::from_objects([one.clone(), two.clone()]);
        let child = |owner| owned_by(object::<Secret>(Some("a"), "child"), owner, "v1");
        let moved = delta(Some(child(&one)), Some(child(&two)));
        assert_eq!(keys(&owner(&moved, &primaries, &())), ["a/one", "a/two"]);
        let kept = delta(Some(child(&one)), Some(owned_by(child(&one), &two, "v1")));
        assert_eq!(keys(&owner(&kept, &primaries, &())), ["a/one", "a/two"]);
    }

    #[test]
    fn owners_are_found_before_the_primaries_are_in_sync() {
        let owner = object::<ConfigMap>(Some("a"), "web");
        let primaries = Reflector::<ConfigMap>::new(());
        let listing = primaries.begin_list();
        primaries.listed(owner.clone(), listing);
        let child = owned_by(object::<Secret>(Some("a"), "child"), &owner, "v1");
        assert_eq!(
            trigger::owner(&delta(None, Some(child)), &primaries.store(), &()).len(),
            1
        );
    }
}

mod own {
    use super::*;

    #[test]
    fn the_level_tells_what_changed() {
        let old = || {
            with(object::<Deployment>(Some("a"), "web"), |meta| {
                meta.generation = Some(1);
            })
        };
        let level = |old, new| own(&delta(old, new)).level;
        assert_eq!(
            level(Some(old()), Some(with(old(), |meta| meta.generation = Some(2)))),
            Level::Spec
        );
        assert_eq!(
            level(Some(old()), Some(with(old(), |meta| meta.labels = None))),
            Level::Metadata
        );
        assert_eq!(level(None, Some(old())), Level::Spec);
        assert_eq!(level(Some(old()), None), Level::Deletion);
        let deleting = with(old(), |meta| {
            meta.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        });
        assert_eq!(level(Some(old()), Some(deleting)), Level::Deletion);
        let mut listed = delta(None, Some(old()));
        listed.cause = DeltaCause::Initial;
        assert_eq!(own(&listed).level, Level::Initial);
        listed.cause = DeltaCause::Relist;
        assert_eq!(own(&listed).level, Level::Bulk);
    }

    #[test]
    fn a_vanished_primary_is_gone_and_keeps_its_uid() {
        let request = own(&delta(Some(object::<ConfigMap>(Some("a"), "web")), None));
        assert!(request.gone);
        assert_eq!(request.uid.as_deref(), Some("uid-web"));
    }
}

mod predicates {
    use super::*;

    fn web() -> Deployment {
        with(object(Some("a"), "web"), |meta| meta.generation = Some(1))
    }

    fn passes<T: Object<DynamicType = ()>>(predicate: &Predicate<T>, old: T, new: T) -> bool {
        predicate.passes(&delta(Some(old), Some(new)))
    }

    fn all_of_them() -> Vec<Predicate<Deployment>> {
        let nothing = || Predicate::new(|_: &Deployment, _: &Deployment| false);
        vec![
            predicate::generation(),
            predicate::labels(),
            predicate::annotations(),
            predicate::finalizers(),
            predicate::resource_version(),
            nothing(),
            Predicate::all([predicate::labels(), nothing()]),
            Predicate::not(Predicate::not(nothing())),
        ]
    }

    /// kube-rs/kube#1768: a predicate over unchanged fields swallowed deletions.
    #[test]
    fn creation_deletion_and_a_new_uid_always_pass() {
        for predicate in all_of_them() {
            assert!(predicate.passes(&delta(None, Some(web()))));
            assert!(predicate.passes(&delta(Some(web()), None)));
            assert!(passes(
                &predicate,
                web(),
                with(web(), |meta| meta.uid = Some("new".into()))
            ));
            let deleting = with(web(), |meta| {
                meta.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
            });
            assert!(passes(&predicate, web(), deleting));
        }
    }

    #[test]
    fn each_looks_at_its_own_field() {
        let labelled = with(web(), |meta| {
            meta.labels = Some([("a".into(), "b".into())].into());
        });
        let annotated = with(web(), |meta| {
            meta.annotations = Some([("a".into(), "b".into())].into());
        });
        let finalized = with(web(), |meta| meta.finalizers = Some(vec!["f".into()]));
        let edited = with(web(), |meta| meta.generation = Some(2));
        let written = with(web(), |meta| meta.resource_version = Some("2".into()));
        let changes = [edited, labelled, annotated, finalized, written];
        for (index, predicate) in all_of_them().iter().take(5).enumerate() {
            assert!(!passes(predicate, web(), web()));
            for (other, change) in changes.iter().enumerate() {
                assert_eq!(
                    passes(predicate, web(), change.clone()),
                    index == other,
                    "{index} {other}"
                );
            }
        }
    }

    #[test]
    fn an_empty_map_is_no_map() {
        let empty = with(web(), |meta| meta.labels = Some([].into()));
        assert!(!passes(&predicate::labels(), web(), empty));
    }

    #[test]
    fn kinds_without_generation_pass_any_change() {
        let old = object::<ConfigMap>(Some("a"), "config");
        let new = with(old.clone(), |meta| meta.resource_version = Some("2".into()));
        assert!(passes(&predicate::generation(), old.clone(), new));
        assert!(!passes(&predicate::generation(), old.clone(), old));
    }

    #[test]
    fn they_combine() {
        let labelled = with(web(), |meta| {
            meta.labels = Some([("a".into(), "b".into())].into());
        });
        let both = with(labelled.clone(), |meta| meta.generation = Some(2));
        let (any, all) = (
            Predicate::any([predicate::generation(), predicate::labels()]),
            Predicate::all([predicate::generation(), predicate::labels()]),
        );
        assert!(passes(&any, web(), labelled.clone()) && !passes(&all, web(), labelled.clone()));
        assert!(passes(&all, web(), both.clone()) && !passes(&Predicate::not(any.clone()), web(), both));
        assert!(!passes(&any, web(), web()));
        assert!(
            passes(&Predicate::any([]), web(), web()),
            "an empty list passes everything"
        );
    }
}

mod mappers {
    use super::*;

    fn target(secret: &Secret) -> Option<ObjectRef<ConfigMap>> {
        let name = secret.metadata.labels.as_ref()?.get("for")?;
        Some(ObjectRef::new(name).within("a"))
    }

    fn secret(target: &str) -> Secret {
        with(object(Some("a"), "s"), |meta| {
            meta.labels = Some([("for".into(), target.into())].into());
        })
    }

    #[test]
    fn a_repointed_label_wakes_both_targets() {
        let repointed = delta(Some(secret("one")), Some(secret("two")));
        assert_eq!(keys(&mapped(&repointed, target)), ["a/one", "a/two"]);
        let kept = delta(Some(secret("one")), Some(secret("one")));
        assert_eq!(keys(&mapped(&kept, target)), ["a/one"]);
    }

    /// A mapper that fails while `broken` is set.
    fn breakable(broken: &Arc<AtomicBool>) -> TryMapped<Secret, ConfigMap, &'static str> {
        let broken = Arc::clone(broken);
        TryMapped::new(Backoff::default().jitter(0.0), move |secret: &Secret| {
            if broken.load(Ordering::SeqCst) {
                Err("not now")
            } else {
                Ok(target(secret))
            }
        })
    }

    /// kubernetes-sigs/controller-runtime#1996: what a mapper failed to map was lost.
    #[test]
    fn what_could_not_be_mapped_is_tried_again_until_it_is() {
        let now = clock::now();
        let broken = Arc::new(AtomicBool::new(true));
        let mut mapper = breakable(&broken);
        let outcome = mapper.change(&delta(Some(secret("one")), Some(secret("two"))), now, 0.0);
        assert!(outcome.requests.is_empty() && outcome.error.is_some() && !outcome.everything);
        assert_eq!(mapper.next_due(), Some(now + Duration::from_secs(1)));
        let outcome = mapper.retry(now + Duration::from_secs(1), 0.0);
        assert!(outcome.requests.is_empty());
        assert_eq!(
            mapper.next_due(),
            Some(now + Duration::from_secs(3)),
            "the second failure waits for longer"
        );
        broken.store(false, Ordering::SeqCst);
        let early = mapper.retry(now + Duration::from_secs(2), 0.0);
        assert!(early.requests.is_empty(), "it was not due");
        let outcome = mapper.retry(now + Duration::from_secs(3), 0.0);
        assert_eq!(keys(&outcome.requests), ["a/one", "a/two"]);
        assert_eq!((mapper.owed(), mapper.next_due()), (0, None));
    }

    #[test]
    fn the_next_change_brings_what_is_owed() {
        let now = clock::now();
        let broken = Arc::new(AtomicBool::new(true));
        let mut mapper = breakable(&broken);
        let _ = mapper.change(&delta(Some(secret("one")), Some(secret("two"))), now, 0.0);
        broken.store(false, Ordering::SeqCst);
        let outcome = mapper.change(&delta(Some(secret("two")), Some(secret("three"))), now, 0.0);
        assert_eq!(keys(&outcome.requests), ["a/one", "a/two", "a/three"]);
        assert_eq!((mapper.owed(), mapper.next_due()), (0, None));
    }

    /// Nobody may ever say whose an object was that is gone.
    #[test]
    fn what_is_owed_of_an_object_that_is_gone_is_not_tried_for_ever() {
        let mut mapper = breakable(&Arc::new(AtomicBool::new(true)));
        let mut outcome = mapper.change(&delta(Some(secret("one")), None), clock::now(), 0.0);
        let mut tries = 1;
        while let Some(due) = mapper.next_due() {
            assert!(!outcome.everything && tries < 20, "after {tries} tries");
            outcome = mapper.retry(due, 0.0);
            tries += 1;
        }
        assert!(outcome.everything, "more than is owed, nothing less");
        assert_eq!(mapper.owed(), 0);
    }

    #[test]
    fn too_much_to_remember_becomes_everything() {
        let now = clock::now();
        let mut mapper = breakable(&Arc::new(AtomicBool::new(true)));
        let outcomes: Vec<_> = (0..20)
            .map(|n| {
                mapper
                    .change(&delta(None, Some(secret(&n.to_string()))), now, 0.0)
                    .everything
            })
            .collect();
        assert_eq!(
            outcomes.iter().filter(|everything| **everything).count(),
            2,
            "{outcomes:?}"
        );
    }
}

mod references {
    use proptest::prelude::*;

    use super::*;

    /// A primary that names secrets: `"x"` in its own namespace, `"b/x"` in another.
    fn primary(namespace: Option<&str>, name: &str, secrets: &[&str]) -> ConfigMap {
        let mut object = object::<ConfigMap>(namespace, name);
        object.data = Some(
            secrets
                .iter()
                .map(|name| ((*name).into(), String::new()))
                .collect(),
        );
        object
    }

    fn index<T: Object<DynamicType = ()>>() -> References<ConfigMap, T> {
        References::new((), |object: &ConfigMap| {
            let names = object.data.iter().flatten();
            names.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        })
    }

    #[test]
    fn an_object_wakes_those_that_name_it_now() {
        let mut index = index::<Secret>();
        index.primary(&delta(None, Some(primary(Some("a"), "one", &["x", "y"]))));
        index.primary(&delta(None, Some(primary(Some("a"), "two", &["x"]))));
        index.primary(&delta(None, Some(primary(Some("b"), "one", &["x"]))));
        let wakes = |index: &References<_, _>, name| {
            keys(&index.wake(&delta(None, Some(object::<Secret>(Some("a"), name)))))
        };
        assert_eq!(wakes(&index, "x"), ["a/one", "a/two"]);
        let (old, new) = (
            primary(Some("a"), "one", &["x", "y"]),
            primary(Some("a"), "one", &["y"]),
        );
        index.primary(&delta(Some(old), Some(new.clone())));
        assert_eq!(wakes(&index, "x"), ["a/two"]);
        assert_eq!(wakes(&index, "y"), ["a/one"]);
        index.primary(&delta(Some(new), None));
        assert!(wakes(&index, "y").is_empty());
    }

    #[test]
    fn an_object_that_appears_or_vanishes_wakes_too() {
        let mut index = index::<Secret>();
        index.primary(&delta(None, Some(primary(Some("a"), "one", &["x"]))));
        let secret = object::<Secret>(Some("a"), "x");
        assert_eq!(index.wake(&delta(None, Some(secret.clone()))).len(), 1);
        assert_eq!(index.wake(&delta(Some(secret), None)).len(), 1);
    }

    #[test]
    fn a_name_alone_finds_cluster_scoped_objects() {
        let mut index = index::<Namespace>();
        index.primary(&delta(None, Some(primary(Some("a"), "one", &["prod"]))));
        assert_eq!(
            keys(&index.wake(&delta(None, Some(object::<Namespace>(None, "prod"))))),
            ["a/one"]
        );
    }

    #[test]
    fn an_object_ref_reaches_another_namespace() {
        let mut index = References::<ConfigMap, Secret>::new((), |_: &ConfigMap| {
            Some(ObjectRef::<Secret>::new("x").within("b"))
        });
        index.primary(&delta(None, Some(primary(Some("a"), "one", &[]))));
        assert_eq!(
            index
                .wake(&delta(None, Some(object::<Secret>(Some("b"), "x"))))
                .len(),
            1
        );
        assert!(
            index
                .wake(&delta(None, Some(object::<Secret>(Some("a"), "x"))))
                .is_empty()
        );
    }

    proptest! {
        /// After any history, an object wakes exactly those that name it, and nothing is held for those that are gone.
        #[test]
        fn it_is_what_a_search_would_find(
            steps in prop::collection::vec((0..5_usize, prop::option::of(prop::collection::btree_set(0..6_usize, 0..4))), 0..60)
        ) {
            let names = ["s0", "s1", "s2", "s3", "s4", "s5"];
            let primaries = ["p0", "p1", "p2", "p3", "p4"];
            let mut index = index::<Secret>();
            let mut model: std::collections::BTreeMap<&str, Vec<&str>> = std::collections::BTreeMap::new();
            for (who, what) in steps {
                let name = primaries[who];
                let build = |secrets: &Vec<&str>| primary(Some("a"), name, secrets);
                let old = model.get(name).map(build);
                let secrets = what.map(|set| set.into_iter().map(|it| names[it]).collect::<Vec<_>>());
                let new = secrets.as_ref().map(build);
                match secrets {
                    Some(secrets) => { model.insert(name, secrets); }
                    None => { model.remove(name); }
                }
                if old.is_some() || new.is_some() {
                    index.primary(&delta(old, new));
                }
            }
            for secret in names {
                let woken = keys(&index.wake(&delta(None, Some(object::<Secret>(Some("a"), secret)))));
                let expected: Vec<_> = model
                    .iter()
                    .filter(|(_, secrets)| secrets.contains(&secret))
                    .map(|(name, _)| format!("a/{name}"))
                    .collect();
                prop_assert_eq!(woken, expected);
            }
            prop_assert_eq!(index.len(), model.values().filter(|secrets| !secrets.is_empty()).count());
        }
    }
}
