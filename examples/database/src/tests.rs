//! The whole, on a cluster inside the test, with a database server in memory.

use controller_runtime::{
    prelude::*,
    testing::{Cluster, Fault, When},
};
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use crate::{operator, server::FakeServer, types::Database};

const HOUR: Duration = Duration::from_secs(3600);

fn database(users: &[&str]) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Database", "metadata": {"name": "orders"},
        "spec": {"users": users, "rotateAfterHours": 24},
    })
}

impl FakeServer {
    fn set_down(&self, is_down: bool) {
        self.0.lock().unwrap().is_down = is_down;
    }

    /// `database/user` of all users.
    fn all_users(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (database, users) in &self.0.lock().unwrap().databases {
            all.extend(users.keys().map(|user| format!("{database}/{user}")));
        }
        all
    }
}

async fn started(cluster: &Cluster) -> FakeServer {
    let server = FakeServer::default();
    cluster.start(operator(server.clone())).await;
    server
}

async fn password(cluster: &Cluster, secret: &str) -> String {
    let data = cluster.get::<Secret>(secret).await.data.unwrap();
    String::from_utf8(data["password"].0.clone()).unwrap()
}

async fn ready(cluster: &Cluster) -> (String, String) {
    let status = cluster.get::<Database>("orders").await.status.unwrap();
    (
        status.conditions[0].status.clone(),
        status.conditions[0].reason.clone(),
    )
}

#[controller_test]
async fn users_come_and_go_with_their_secrets(cluster: Cluster) {
    let server = started(&cluster).await;
    cluster.apply(database(&["app", "report"])).await;
    cluster.settle().await;
    assert_eq!(
        server.all_users(),
        ["default_orders/app", "default_orders/report"]
    );
    assert_eq!(password(&cluster, "orders-report").await, "password-2");
    cluster.apply(database(&["app"])).await;
    cluster.settle().await;
    assert_eq!(server.all_users(), ["default_orders/app"]);
    assert!(cluster.find::<Secret>("orders-report").await.is_none());
}

/// What `cargo controller dev` applies: two are made, and one is refused.
#[controller_test]
async fn the_databases_to_try_it_with_are_made(cluster: Cluster) {
    let server = started(&cluster).await;
    cluster
        .apply(include_str!("../manifests/10-databases.yaml"))
        .await;
    cluster.settle().await;
    let users = ["default_orders/app", "default_orders/report", "default_stock/app"];
    assert_eq!(server.all_users(), users);
    assert_eq!(ready(&cluster).await.0, "True");
}

#[controller_test]
async fn a_password_is_replaced_after_its_time(cluster: Cluster) {
    started(&cluster).await;
    cluster.apply(database(&["app"])).await;
    cluster.advance(23 * HOUR).await;
    assert_eq!(password(&cluster, "orders-app").await, "password-1");
    cluster.advance(2 * HOUR).await;
    assert_eq!(password(&cluster, "orders-app").await, "password-2");
    let events = cluster.events().await;
    assert!(events.iter().any(|event| event.reason == "Rotated"), "{events:?}");
}

/// Nobody knows a password that is in no Secret: there is a new one.
#[controller_test]
async fn a_secret_that_is_deleted_comes_back_with_another_password(cluster: Cluster) {
    started(&cluster).await;
    cluster.apply(database(&["app"])).await;
    cluster.settle().await;
    cluster.delete::<Secret>("orders-app").await;
    cluster.settle().await;
    assert_eq!(password(&cluster, "orders-app").await, "password-2");
}

#[controller_test]
async fn a_server_that_is_away_is_asked_again_every_thirty_seconds(cluster: Cluster) {
    let server = started(&cluster).await;
    server.set_down(true);
    cluster.apply(database(&["app"])).await;
    cluster.advance(Duration::from_secs(100)).await;
    assert_eq!(cluster.reconciles().len(), 4);
    assert_eq!(
        ready(&cluster).await,
        ("False".to_owned(), "Unavailable".to_owned())
    );
    server.set_down(false);
    cluster.advance(Duration::from_secs(30)).await;
    assert_eq!(
        ready(&cluster).await,
        ("True".to_owned(), "Reconciled".to_owned())
    );
}

#[controller_test]
async fn what_the_server_never_does_is_not_asked_again(cluster: Cluster) {
    started(&cluster).await;
    cluster.apply(database(&["postgres"])).await;
    cluster.advance(24 * HOUR).await;
    assert_eq!(cluster.reconciles().len(), 1);
    assert_eq!(ready(&cluster).await.1, "Refused");
    cluster.apply(database(&["app"])).await;
    cluster.settle().await;
    assert_eq!(ready(&cluster).await.0, "True", "an edit mends it");
}

#[controller_test]
async fn a_database_goes_when_the_server_has_let_it_go(cluster: Cluster) {
    let server = started(&cluster).await;
    cluster.apply(database(&["app"])).await;
    cluster.settle().await;
    server.set_down(true);
    cluster.delete::<Database>("orders").await;
    cluster.settle().await;
    assert!(cluster.find::<Database>("orders").await.is_some());
    server.set_down(false);
    cluster.advance(Duration::from_secs(30)).await;
    assert!(cluster.find::<Database>("orders").await.is_none());
    assert!(server.all_users().is_empty());
}

#[controller_test]
async fn the_printed_roles_are_exact(cluster: Cluster) {
    cluster.fault(When::any(), Fault::RefuseStreamingLists);
    started(&cluster).await;
    cluster.apply(database(&["app", "report"])).await;
    cluster.advance(25 * HOUR).await;
    for text in ["mine", "mine again"] {
        cluster
            .patch::<Secret>("orders-app", json!({"stringData": {"password": text}}))
            .await;
        cluster.settle().await;
    }
    cluster.delete::<Database>("orders").await;
    cluster.settle().await;
    let audit = cluster.audit("a database lives a day");
    audit.lease_unused_ok().assert_rbac_exact();
}
