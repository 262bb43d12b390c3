//! What happens for each Database.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::ObjectMeta,
    core::PartialObjectMeta,
    runtime::{
        controller::Action,
        events::{Event as Told, EventType, Recorder},
        finalizer::{self, Event, finalizer},
    },
};
use tokio::time::timeout;

use crate::{
    backoff::Backoff,
    children,
    prune::prune,
    server::DatabaseServer,
    status::{set_condition, write_status},
    types::Database,
};

const FINALIZER: &str = "example.com/database";
const LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    #[error("kubernetes: {0}")]
    Kube(#[from] kube::Error),
    #[error("database server: no answer")]
    Unavailable,
    #[error("database server: {0}")]
    Refused(String),
    #[error("not finished within {LIMIT:?}")]
    TimedOut,
}

pub(crate) struct App<S> {
    pub(crate) client: Client,
    pub(crate) server: S,
    pub(crate) recorder: Recorder,
    pub(crate) backoff: Backoff,
}

pub(crate) async fn reconcile<S: DatabaseServer>(
    database: Arc<Database>,
    app: Arc<App<S>>,
) -> Result<Action, finalizer::Error<DatabaseError>> {
    let namespace = database.namespace().unwrap_or_default();
    let api: Api<Database> = Api::namespaced(app.client.clone(), &namespace);
    let action = finalizer(&api, FINALIZER, Arc::clone(&database), |event| {
        handle(event, &app, &api)
    });
    let action = action.await?;
    app.backoff.succeeded(&*database);
    Ok(action)
}

async fn handle<S: DatabaseServer>(
    event: Event<Database>,
    app: &App<S>,
    api: &Api<Database>,
) -> Result<Action, DatabaseError> {
    match event {
        Event::Apply(database) => {
            let result = timeout(LIMIT, provide(&database, app)).await;
            let result = result.unwrap_or(Err(DatabaseError::TimedOut));
            tell(&database, api, &result).await?;
            Ok(Action::requeue(result?))
        }
        Event::Cleanup(database) => {
            let result = timeout(LIMIT, app.server.delete(&name_outside(&database))).await;
            result.unwrap_or(Err(DatabaseError::TimedOut))?;
            Ok(Action::await_change())
        }
    }
}

/// When the next password is to be replaced.
async fn provide<S: DatabaseServer>(database: &Database, app: &App<S>) -> Result<Duration, DatabaseError> {
    let name = name_outside(database);
    let namespace = database.namespace().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(app.client.clone(), &namespace);
    let lifetime = Duration::from_secs(3600) * database.spec.rotate_after_hours;
    app.server.create(&name).await?;
    let mut ages = app.server.users(&name).await?;
    let mut wanted = Vec::new();
    let mut next = lifetime;
    for user in &database.spec.users {
        let secret_name = format!("{}-{user}", database.name_any());
        wanted.push(secret_name.clone());
        let age = ages.remove(user);
        let known = secrets.get_opt(&secret_name).await?;
        let known = known.and_then(|secret| secret.data);
        let data = match (known, age) {
            // What is in the Secret is good: it stays.
            (Some(data), Some(age)) if age < lifetime => {
                next = next.min(lifetime.saturating_sub(age));
                data
            }
            (known, _) => {
                let password = app.server.reset_password(&name, user).await?;
                if known.is_some() {
                    tell_rotation(database, app, user).await;
                }
                BTreeMap::from([("password".to_owned(), ByteString(password.into_bytes()))])
            }
        };
        // Stored at once: nobody could tell a password again that was lost on the way.
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(secret_name),
                ..ObjectMeta::default()
            },
            data: Some(data),
            ..Secret::default()
        };
        children::apply(&app.client, "database", database, secret).await?;
    }
    for user in ages.keys() {
        app.server.remove_user(&name, user).await?;
    }
    let keep = |secret: &PartialObjectMeta<_>| wanted.contains(&secret.name_any());
    prune(&app.client, &secrets, database, keep).await?;
    Ok(next)
}

/// An error here would lose the password.
async fn tell_rotation<S>(database: &Database, app: &App<S>, user: &str) {
    let told = Told {
        type_: EventType::Normal,
        reason: "Rotated".to_owned(),
        note: Some(format!("the password of {user} is a new one")),
        action: "Reconcile".to_owned(),
        secondary: None,
    };
    let published = app.recorder.publish(&told, &database.object_ref(&())).await;
    if let Err(error) = published {
        tracing::warn!(%error, "an event is lost");
    }
}

async fn tell(
    database: &Database,
    api: &Api<Database>,
    result: &Result<Duration, DatabaseError>,
) -> kube::Result<()> {
    let generation = database.metadata.generation;
    let mut status = database.status.clone().unwrap_or_default();
    let (reason, message) = match result {
        Ok(_) => {
            status.users = database.spec.users.len();
            ("Reconciled", String::new())
        }
        Err(error @ DatabaseError::Kube(_)) => ("Kube", error.to_string()),
        Err(error @ DatabaseError::Unavailable) => ("Unavailable", error.to_string()),
        Err(error @ DatabaseError::Refused(_)) => ("Refused", error.to_string()),
        Err(error @ DatabaseError::TimedOut) => ("TimedOut", error.to_string()),
    };
    let conditions = &mut status.conditions;
    set_condition(conditions, "Ready", result.is_ok(), reason, &message, generation);
    status.observed_generation = generation;
    write_status(api, &database.name_any(), database.status.as_ref(), &status).await
}

#[expect(clippy::needless_pass_by_value, reason = "as kube calls it")]
pub(crate) fn error_policy<S>(
    database: Arc<Database>,
    error: &finalizer::Error<DatabaseError>,
    app: Arc<App<S>>,
) -> Action {
    tracing::warn!(%error, database = database.name_any(), "a reconcile failed");
    match error {
        finalizer::Error::ApplyFailed(error) | finalizer::Error::CleanupFailed(error) => match error {
            DatabaseError::Unavailable => Action::requeue(Duration::from_secs(30)),
            DatabaseError::Refused(_) => Action::await_change(),
            _ => app.backoff.failed(&*database),
        },
        _ => app.backoff.failed(&*database),
    }
}

/// The server outside knows no namespaces.
fn name_outside(database: &Database) -> String {
    let namespace = database.namespace().unwrap_or_default();
    format!("{namespace}_{}", database.name_any())
}
