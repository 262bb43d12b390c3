//! A virtual day of what no single fault of a request is: rights and tokens that come and go, a server that was restored
//! from a backup, objects that cannot be decoded.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use controller_apiserver::{
    Fault, Server, Verb,
    access::{Tokens, User},
};
use http::{HeaderValue, Request, header};
use k8s_openapi::api::{
    core::v1::ConfigMap,
    rbac::v1::{ClusterRole, ClusterRoleBinding},
};
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
    client::Body,
};
use serde_json::json;
use tower::ServiceExt;

use super::{
    faults::{HOUR, LAG, MOST_PER_DAY, a_day, an_hour},
    server::{World, pass},
};
use crate::watch::{Config, Informer, Phase, StreamingLists};

/// A source that is well follows at once, and one that lost its place after its first pause.
const SOON: Duration = Duration::from_secs(5);

fn configs() -> [Config; 2] {
    [
        Config::default(),
        Config::default().streaming_lists(StreamingLists::Off),
    ]
}

/// The informer's client: `prepare` chooses the server and changes the request.
fn client(
    prepare: impl Fn(&mut Request<Body>) -> controller_apiserver::Service + Clone + Send + 'static,
) -> Client {
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let agent = HeaderValue::from_static("informer");
        request.headers_mut().insert(header::USER_AGENT, agent);
        let service = prepare(&mut request);
        service.oneshot(request)
    });
    Client::new(service, "default")
}

fn informer(client: Client, config: &Config) -> Informer<ConfigMap> {
    let config = Config {
        seed: Some(7),
        ..config.clone()
    };
    Informer::new(Api::all(client), config)
}

/// A token that the server does not know, and then a new one.
#[tokio::test(start_paused = true)]
async fn an_unknown_token_and_then_a_new_one() {
    for config in configs() {
        let tokens = Tokens::default().with("new", User::admin());
        let server = Server::builder().tokens(tokens).build();
        let token = Arc::new(Mutex::new("old"));
        let (service, bearer) = (server.service(), Arc::clone(&token));
        let watching = client(move |request| {
            let bearer = format!("Bearer {}", bearer.lock().unwrap());
            request
                .headers_mut()
                .insert(header::AUTHORIZATION, bearer.parse().unwrap());
            service.clone()
        });
        let admin = server.client();
        let mut world = World::over(server, admin, informer(watching, &config)).await;
        world.start();
        a_day(&world).await;
        assert_eq!(world.status().problem.and_then(|problem| problem.code), Some(401));
        *token.lock().unwrap() = "new";
        world.until_level(LAG).await;
        pass(HOUR).await;
        world.assert_level().await;
    }
}

/// kubewarden/adm-controller#1320: rights that are missing, granted, taken away and granted again.
#[tokio::test(start_paused = true)]
async fn a_right_that_is_granted_taken_and_granted_again() {
    for config in configs() {
        let server = Server::new();
        let service = server.service_as(User::new("watcher", [""; 0]));
        let watching = client(move |_| service.clone());
        let admin = server.client();
        let mut world = World::over(server, admin.clone(), informer(watching, &config)).await;
        world.start();
        a_day(&world).await;
        let status = world.status();
        assert_eq!(
            status.problem.as_ref().and_then(|problem| problem.code),
            Some(403)
        );
        assert!(!status.synced);
        for _ in 0..2 {
            grant(&admin).await;
            world.until_level(LAG).await;
            for name in world
                .truth()
                .await
                .into_keys()
                .filter(|name| name.1.starts_with("day"))
            {
                world.delete(&name.1).await;
            }
            let bindings = Api::<ClusterRoleBinding>::all(admin.clone());
            bindings
                .delete("watcher", &DeleteParams::default())
                .await
                .unwrap();
            world.server.close_watches();
            a_day(&world).await;
            assert_eq!(world.status().phase, Phase::Failing);
        }
        grant(&admin).await;
        world.until_level(LAG).await;
    }
}

async fn grant(admin: &Client) {
    let role = json!({
        "metadata": { "name": "watcher" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"] }],
    });
    let binding = json!({
        "metadata": { "name": "watcher" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "watcher" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "watcher" }],
    });
    let role: ClusterRole = serde_json::from_value(role).unwrap();
    let binding: ClusterRoleBinding = serde_json::from_value(binding).unwrap();
    let params = PostParams::default();
    let _is_there = Api::all(admin.clone()).create(&params, &role).await;
    Api::all(admin.clone()).create(&params, &binding).await.unwrap();
}

/// A server that was restored from a backup: its revision is far below what was seen, and to go on from there is refused as
/// too large a revision, for ever.
#[tokio::test(start_paused = true)]
async fn a_server_that_was_restored_from_a_backup() {
    for config in configs() {
        let (before, after) = (Server::new(), Server::builder().seed(9).build());
        let current = Arc::new(Mutex::new(before.clone()));
        let chosen = Arc::clone(&current);
        let watching = client(move |_| chosen.lock().unwrap().service());
        let informer = informer(watching, &config);
        let mut old = World::over(before.clone(), before.client(), informer.clone()).await;
        for number in 0..300 {
            old.create(&format!("lost-{number}")).await;
        }
        old.start();
        old.until_level(LAG).await;
        *current.lock().unwrap() = after.clone();
        // The same names once more, at other and lower revisions.
        let kept = serde_json::from_value::<ConfigMap>(json!({ "metadata": { "name": "kept" } })).unwrap();
        let api = Api::default_namespaced(after.client());
        api.create(&PostParams::default(), &kept).await.unwrap();
        let restored = World::over(after.clone(), after.client(), informer.clone()).await;
        assert!(after.revision() < before.revision());
        before.close_watches();
        restored.until_level(LAG).await;
        a_day(&restored).await;
        restored.until_level(LAG).await;
    }
}

/// A server that was restored from a backup of a moment ago, and comes to the revision that was seen soon: what it tells from then on
/// leaves out what was lost, and what was written before.
#[tokio::test(start_paused = true)]
async fn a_server_that_was_restored_and_writes_on() {
    for config in configs() {
        let mut world = World::new(config).await;
        let backup = world.server.revision();
        for number in 0..5 {
            world.create(&format!("lost-{number}")).await;
        }
        world.start();
        world.until_level(SOON).await;
        world.server.restore(backup).unwrap();
        pass(SOON).await;
        for number in 0..10 {
            world.create(&format!("after-{number}")).await;
        }
        world.until_level(SOON).await;
    }
}

/// One object of each list, and one event of each watch, cannot be decoded: it is told, and it hides no other.
#[tokio::test(start_paused = true)]
async fn an_object_in_every_list_and_watch_that_cannot_be_decoded() {
    for config in configs() {
        let mut world = World::new(config).await;
        for verb in [Verb::List, Verb::Watch] {
            world.fail(verb, Fault::Garbage { at: 1 });
        }
        world.start();
        let before = world.requests();
        for hour in 0..24 {
            an_hour(&world, hour).await;
            let (truth, stored, status) = (world.truth().await, world.stored(), world.status());
            assert!(status.synced && status.problem.is_none(), "{status}");
            let told = |(namespace, name): &(String, String)| {
                status
                    .undecodable
                    .contains_key(&(Some(namespace.clone()), name.clone()))
            };
            for (name, version) in &truth {
                assert!(
                    stored.get(name) == Some(version) || told(name),
                    "{name:?} is hidden: {status}"
                );
            }
            assert!(stored.keys().all(|name| truth.contains_key(name)), "a ghost");
        }
        assert!(world.requests() - before <= MOST_PER_DAY);
        world.server.faults().clear();
        world.server.close_watches();
        for name in world.truth().await.into_keys() {
            world.change(&name.1).await;
        }
        world.until_level(LAG).await;
    }
}
