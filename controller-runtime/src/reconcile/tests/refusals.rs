//! What `Children` does not write, and what it does not delete.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::{ResourceExt, api::ListParams};

use super::world::{World, config_map, service_account};
use crate::{
    reconcile::{Children, Refusal},
    store::Store,
};

/// The children of a stored account, which knows what is there now.
async fn children(world: &World) -> (Children, ServiceAccount) {
    let owner = world.create(&service_account("web")).await;
    (knowing(world, &owner).await, owner)
}

async fn knowing(world: &World, owner: &ServiceAccount) -> Children {
    let all = world
        .api::<ConfigMap>()
        .list(&ListParams::default())
        .await
        .unwrap();
    Children::new(world.client.clone(), "refusals", owner)
        .knowing(&Store::from_objects(all.items))
        .knowing(&Store::<Namespace>::from_objects([]))
}

fn refusal(error: &kube::Error) -> Refusal {
    let kube::Error::Service(error) = error else {
        panic!("no refusal: {error}")
    };
    error.downcast_ref::<Refusal>().expect("a refusal").clone()
}

#[tokio::test(start_paused = true)]
async fn what_no_owner_could_own_is_refused_without_a_request() {
    let world = World::new().await;
    let (children, _) = children(&world).await;
    let requests = world.server.requests();
    let mut abroad = config_map("abroad", &[]);
    abroad.metadata.namespace = Some("elsewhere".into());
    let told = refusal(&children.upsert(abroad).await.unwrap_err());
    assert!(matches!(told, Refusal::OtherNamespace { .. }), "{told}");
    let mut nameless = config_map("", &[]);
    nameless.metadata.name = None;
    let told = refusal(&children.upsert(nameless).await.unwrap_err());
    assert!(matches!(told, Refusal::NoName { .. }), "{told}");
    let unstored = Children::new(world.client.clone(), "refusals", &service_account("never"));
    let unstored = unstored.knowing(&Store::<ConfigMap>::from_objects([]));
    let told = refusal(&unstored.upsert(config_map("a", &[])).await.unwrap_err());
    assert!(matches!(told, Refusal::OwnerUnknown), "{told}");
    assert_eq!(world.server.requests(), requests);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_owns_is_taken_over_when_that_is_said_and_what_another_owns_is_not() {
    let world = World::new().await;
    world.create(&config_map("free", &[("theirs", "kept")])).await;
    let mut taken = config_map("taken", &[]);
    let other = world.create(&service_account("other")).await;
    taken.metadata.owner_references = Some(vec![kube::Resource::controller_owner_ref(&other, &()).unwrap()]);
    world.create(&taken).await;
    let (children, owner) = children(&world).await;

    let told = refusal(
        &children
            .upsert(config_map("free", &[("ours", "1")]))
            .await
            .unwrap_err(),
    );
    assert!(told.to_string().contains("children.adopt()"), "{told}");
    let adopting = children.adopt();
    let free = adopting
        .upsert(config_map("free", &[("ours", "1")]))
        .await
        .unwrap();
    assert_eq!(Some(&free.owner_references()[0].uid), owner.uid().as_ref());
    assert_eq!(free.data.as_ref().unwrap().len(), 2, "what is theirs stays");
    let told = refusal(&adopting.upsert(config_map("taken", &[])).await.unwrap_err());
    assert!(told.to_string().contains("ServiceAccount other"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_when_one_could_not_be_written_and_never_what_was_upserted() {
    let world = World::new().await;
    let names = async || {
        let all = world
            .api::<ConfigMap>()
            .list(&ListParams::default())
            .await
            .unwrap();
        let mut names: Vec<_> = all.items.iter().map(ResourceExt::name_any).collect();
        names.retain(|name| name.len() == 1);
        names
    };
    let (first, owner) = children(&world).await;
    first
        .apply([config_map("a", &[]), config_map("b", &[])])
        .await
        .unwrap();
    assert_eq!(names().await, ["a", "b"]);

    let mut abroad = config_map("c", &[]);
    abroad.metadata.namespace = Some("elsewhere".into());
    let second = knowing(&world, &owner).await;
    second.apply([config_map("a", &[]), abroad]).await.unwrap_err();
    assert_eq!(names().await, ["a", "b"], "the set was not made whole");

    let third = knowing(&world, &owner).await;
    third.upsert(config_map("d", &[])).await.unwrap();
    third.apply([config_map("a", &[])]).await.unwrap();
    assert_eq!(names().await, ["a", "d"]);
}
