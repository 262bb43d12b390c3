//! `examples/label-janitor` in plain kube-rs.

#[path = "../backoff.rs"]
mod backoff;

use std::sync::Arc;

use futures::{StreamExt, future::join_all};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
    core::{DynamicObject, GroupVersionKind, PartialObjectMeta},
    discovery::ApiResource,
    runtime::{
        Controller,
        controller::Action,
        events::{Event, EventType, Recorder},
        watcher,
    },
};
use serde_json::json;

use crate::backoff::Backoff;

/// The label as it was, and as it is to be.
const OLD: &str = "team";
const NEW: &str = "example.com/team";

/// Without a word from outside.
const KINDS: &str = "v1/ConfigMap,apps/v1/Deployment";

type Object = PartialObjectMeta<DynamicObject>;

struct App {
    client: Client,
    kind: ApiResource,
    recorder: Recorder,
    backoff: Backoff,
}

async fn tidy(object: Arc<Object>, app: Arc<App>) -> kube::Result<Action> {
    let Some(team) = object.labels().get(OLD) else {
        return Ok(Action::await_change());
    };
    let known = object.labels().get(NEW);
    if known.is_some_and(|known| known != team) {
        let note = format!("label {OLD} says {team:?} and {NEW} another: {NEW} stays");
        let event = Event {
            type_: EventType::Warning,
            reason: "Contradiction".to_owned(),
            note: Some(note),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        app.recorder
            .publish(&event, &object.object_ref(&app.kind))
            .await?;
    }
    let labels = json!({OLD: null, NEW: known.unwrap_or(team)});
    let metadata = &object.metadata;
    // An object that changed meanwhile is looked at again.
    let patch = json!({"metadata": {"labels": labels, "resourceVersion": metadata.resource_version}});
    let client = app.client.clone();
    let api: Api<DynamicObject> = match &metadata.namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &app.kind),
        None => Api::all_with(client, &app.kind),
    };
    match api
        .patch_metadata(&object.name_any(), &PatchParams::default(), &Patch::Merge(patch))
        .await
    {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
        result => drop(result?),
    }
    app.backoff.succeeded(&*object);
    Ok(Action::await_change())
}

#[expect(clippy::needless_pass_by_value, reason = "as kube calls it")]
fn error_policy(object: Arc<Object>, error: &kube::Error, app: Arc<App>) -> Action {
    tracing::warn!(%error, object = object.name_any(), "a reconcile failed");
    app.backoff.failed(&*object)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let kinds = std::env::var("JANITOR_KINDS").unwrap_or_else(|_| KINDS.to_owned());
    let kinds = kinds.split(',').map(|text| kind(text.trim()));
    let kinds: Vec<_> = kinds.collect::<Result<_, _>>()?;
    let client = Client::try_default().await?;
    join_all(kinds.into_iter().map(|kind| run(client.clone(), kind))).await;
    Ok(())
}

async fn run(client: Client, kind: ApiResource) {
    let objects = Api::<Object>::all_with(client.clone(), &kind);
    let untidy = watcher::Config::default().labels(OLD);
    let app = App {
        recorder: Recorder::new(client.clone(), "label-janitor".into()),
        client,
        kind: kind.clone(),
        backoff: Backoff::default(),
    };
    Controller::new_with(objects, untidy, kind)
        .shutdown_on_signal()
        .run(tidy, error_policy, Arc::new(app))
        .for_each(|_| std::future::ready(()))
        .await;
}

/// `v1/ConfigMap`, `apps/v1/Deployment`; with `=plural` behind it where that cannot be guessed.
fn kind(text: &str) -> Result<ApiResource, String> {
    let (path, plural) = text
        .split_once('=')
        .map_or((text, None), |(path, plural)| (path, Some(plural)));
    let parts: Vec<_> = path.split('/').collect();
    let (group, version, kind) = match parts.as_slice() {
        [version, kind] => ("", *version, *kind),
        [group, version, kind] => (*group, *version, *kind),
        _ => {
            return Err(format!(
                "{text:?} is no kind: write v1/ConfigMap or apps/v1/Deployment"
            ));
        }
    };
    let gvk = GroupVersionKind::gvk(group, version, kind);
    Ok(match plural {
        Some(plural) => ApiResource::from_gvk_with_plural(&gvk, plural),
        None => ApiResource::from_gvk(&gvk),
    })
}
