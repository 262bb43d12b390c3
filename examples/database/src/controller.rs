//! The controller: what happens for each Database.

use std::collections::BTreeMap;

use controller_runtime::prelude::*;
use k8s_openapi::{ByteString, api::core::v1::Secret};

use crate::{
    server::DatabaseServer,
    types::{Database, DatabaseStatus},
};

#[controller(
    name = "database",
    owns(Secret),
    predicates(generation),
    config(timeout = "30s"),
    cleanup(drop_database::<S>),
    status(conditions),
    error = pub(crate) enum DatabaseError {
        #[error("kubernetes: {0}")] Kube(#[from] kube::Error),
        #[error("database server: no answer")] #[retry_after = "30s"] Unavailable,
        #[error("database server: {0}")] #[permanent] Refused(String),
    },
)]
pub(crate) async fn reconcile<S: DatabaseServer>(
    database: Arc<Database>,
    server: Arc<S>,
    secrets: Store<Secret>,
    children: Children,
    recorder: Recorder,
    status: Status,
) -> Result<Action, DatabaseError> {
    let name = name_outside(&database);
    let lifetime = Duration::from_secs(3600) * database.spec.rotate_after_hours;
    server.create(&name).await?;
    let mut ages = server.users(&name).await?;
    let mut wanted = Vec::new();
    let mut next = lifetime;
    for user in &database.spec.users {
        let secret_name = format!("{}-{user}", database.name_any());
        let age = ages.remove(user);
        let known = secrets.get(&secret_name).and_then(|secret| secret.data.clone());
        let data = match (known, age) {
            // What is in the Secret is good: it stays.
            (Some(data), Some(age)) if age < lifetime => {
                next = next.min(lifetime.saturating_sub(age));
                data
            }
            (known, _) => {
                let password = server.reset_password(&name, user).await?;
                if known.is_some() {
                    let told = format!("the password of {user} is a new one");
                    recorder.normal("Rotated", &told).await;
                }
                BTreeMap::from([("password".to_owned(), ByteString(password.into_bytes()))])
            }
        };
        // Stored at once: nobody could tell a password again that was lost on the way.
        children.upsert(secret(&secret_name, data.clone())).await?;
        wanted.push(secret(&secret_name, data));
    }
    for user in ages.keys() {
        server.remove_user(&name, user).await?;
    }
    status.set(DatabaseStatus {
        users: wanted.len(),
        ..DatabaseStatus::default()
    });
    children.apply(wanted).await?;
    Ok(Action::requeue(next))
}

/// Called before a Database goes, until it succeeds.
async fn drop_database<S: DatabaseServer>(
    database: Arc<Database>,
    server: Arc<S>,
) -> Result<(), DatabaseError> {
    server.delete(&name_outside(&database)).await
}

/// The server outside knows no namespaces.
fn name_outside(database: &Database) -> String {
    let namespace = database.namespace().unwrap_or_default();
    format!("{namespace}_{}", database.name_any())
}

fn secret(name: &str, data: BTreeMap<String, ByteString>) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(data),
        ..Secret::default()
    }
}
