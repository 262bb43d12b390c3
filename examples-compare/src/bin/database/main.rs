//! `examples/database` in plain kube-rs.

#[path = "../../backoff.rs"]
mod backoff;
#[path = "../../children.rs"]
mod children;
mod controller;
#[path = "../../prune.rs"]
mod prune;
#[path = "../../../../examples/database/src/server.rs"]
mod server;
#[path = "../../status.rs"]
mod status;
#[path = "../../../../examples/database/src/types.rs"]
mod types;

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, CustomResourceExt,
    runtime::{Controller, events::Recorder, watcher},
};

use crate::{
    backoff::Backoff,
    controller::{App, error_policy, reconcile},
    server::FakeServer,
    types::Database,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("crds") {
        println!("{}", serde_saphyr::to_string(&Database::crd())?);
        return Ok(());
    }
    tracing_subscriber::fmt().init();
    let client = Client::try_default().await?;
    let app = App {
        client: client.clone(),
        // In memory. A real one goes here.
        server: FakeServer::default(),
        recorder: Recorder::new(client.clone(), "database".into()),
        backoff: Backoff::default(),
    };
    let databases = Api::<Database>::all(client.clone());
    let secrets = Api::<Secret>::all(client);
    Controller::new(databases, watcher::Config::default())
        .owns(secrets, watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(app))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
