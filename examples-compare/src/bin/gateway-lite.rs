//! `examples/gateway-lite` in plain kube-rs.

#[path = "../../../examples/gateway-lite/src/attach.rs"]
mod attach;
#[path = "../backoff.rs"]
mod backoff;
#[path = "../status.rs"]
mod status;
#[path = "../../../examples/gateway-lite/src/types.rs"]
mod types;

use std::{collections::HashMap, sync::Arc};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams},
    runtime::{
        Controller,
        controller::Action,
        reflector::{ObjectRef, Store},
        watcher,
    },
};
use serde_json::json;

use crate::{
    attach::{
        Home,
        Verdict::{Accepted, NoMatchingParent},
        parents, verdict,
    },
    backoff::Backoff,
    status::{set_condition, write_status},
    types::{Gateway, GatewayClass, HTTPRoute, Listener, ListenerStatus, ParentStatus, RouteKind},
};

/// The name in the classes that are ours.
const CONTROLLER: &str = "acme.io/gateway-controller";

struct App {
    client: Client,
    backoff: Backoff,
}

async fn reconcile_route(route: Arc<HTTPRoute>, app: Arc<App>) -> kube::Result<Action> {
    let client = &app.client;
    let generation = route.metadata.generation;
    let namespace = route.namespace().unwrap_or_default();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let home = namespaces.get_metadata_opt(&namespace).await?;
    let before = route.status.clone().unwrap_or_default().parents;
    // The entries of other controllers stay as they are.
    let (ours, mut all): (Vec<_>, Vec<_>) = before
        .iter()
        .cloned()
        .partition(|parent| parent.controller_name == CONTROLLER);
    for (parent, key) in parents(&route) {
        let Some(gateway) = our_gateway(client, &key).await? else {
            continue;
        };
        let says = |listener| verdict(&route, parent, &gateway, listener, home.as_ref());
        let best = gateway.spec.listeners.iter().map(says).min();
        let best = best.unwrap_or(NoMatchingParent);
        let known = ours.iter().find(|known| known.parent_ref == *parent);
        let mut conditions = known.map(|known| known.conditions.clone()).unwrap_or_default();
        let accepted = (best == Accepted, format!("{best:?}"));
        let resolved = (true, "ResolvedRefs".to_owned());
        for (kind, (holds, reason)) in [("Accepted", accepted), ("ResolvedRefs", resolved)] {
            set_condition(&mut conditions, kind, holds, &reason, "", generation);
        }
        all.push(ParentStatus {
            parent_ref: parent.clone(),
            controller_name: CONTROLLER.to_owned(),
            conditions,
        });
    }
    if all != before {
        // Others write the list, too: refused if it changed meanwhile.
        let version = &route.metadata.resource_version;
        let patch = json!({"metadata": {"resourceVersion": version}, "status": {"parents": all}});
        let api: Api<HTTPRoute> = Api::namespaced(client.clone(), &namespace);
        api.patch_status(&route.name_any(), &PatchParams::default(), &Patch::Merge(patch))
            .await?;
    }
    app.backoff.succeeded(&*route);
    Ok(Action::await_change())
}

async fn our_gateway(client: &Client, key: &ObjectRef<Gateway>) -> kube::Result<Option<Gateway>> {
    let namespace = key.namespace.as_deref().unwrap_or_default();
    let gateways: Api<Gateway> = Api::namespaced(client.clone(), namespace);
    let Some(gateway) = gateways.get_opt(&key.name).await? else {
        return Ok(None);
    };
    Ok(is_ours(client, &gateway).await?.then_some(gateway))
}

async fn is_ours(client: &Client, gateway: &Gateway) -> kube::Result<bool> {
    let classes: Api<GatewayClass> = Api::all(client.clone());
    let class = classes.get_opt(&gateway.spec.gateway_class_name).await?;
    Ok(class.is_some_and(|class| class.spec.controller_name == CONTROLLER))
}

async fn reconcile_gateway(gateway: Arc<Gateway>, app: Arc<App>) -> kube::Result<Action> {
    let client = &app.client;
    if !is_ours(client, &gateway).await? {
        return Ok(Action::await_change());
    }
    let generation = gateway.metadata.generation;
    let routes: Api<HTTPRoute> = Api::all(client.clone());
    let routes = routes.list(&ListParams::default()).await?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespaces = namespaces.list_metadata(&ListParams::default()).await?;
    let homes: HashMap<String, Home> = namespaces
        .into_iter()
        .map(|namespace| (namespace.name_any(), namespace))
        .collect();
    let is_attached = |route: &HTTPRoute, listener: &Listener| {
        let home = homes.get(&route.namespace().unwrap_or_default());
        let mut ours = parents(route).filter(|(_, key)| *key == ObjectRef::from_obj(&*gateway));
        ours.any(|(parent, _)| verdict(route, parent, &gateway, listener, home) == Accepted)
    };
    let mut status = gateway.status.clone().unwrap_or_default();
    let before = std::mem::take(&mut status.listeners);
    for listener in &gateway.spec.listeners {
        let known = before.iter().find(|known| known.name == listener.name);
        let mut conditions = known.map(|known| known.conditions.clone()).unwrap_or_default();
        for kind in ["Accepted", "Programmed", "ResolvedRefs"] {
            set_condition(&mut conditions, kind, true, kind, "", generation);
        }
        status.listeners.push(ListenerStatus {
            name: listener.name.clone(),
            attached_routes: routes.iter().filter(|route| is_attached(route, listener)).count(),
            supported_kinds: vec![RouteKind::of::<HTTPRoute>()],
            conditions,
        });
    }
    for kind in ["Accepted", "Programmed"] {
        set_condition(&mut status.conditions, kind, true, kind, "", generation);
    }
    let namespace = gateway.namespace().unwrap_or_default();
    let api: Api<Gateway> = Api::namespaced(client.clone(), &namespace);
    write_status(&api, &gateway.name_any(), gateway.status.as_ref(), &status).await?;
    app.backoff.succeeded(&*gateway);
    Ok(Action::await_change())
}

#[expect(clippy::needless_pass_by_value, reason = "as kube calls it")]
fn error_policy<K: ResourceExt>(object: Arc<K>, error: &kube::Error, app: Arc<App>) -> Action {
    tracing::warn!(%error, object = object.name_any(), "a reconcile failed");
    app.backoff.failed(&*object)
}

async fn run_routes(app: Arc<App>) {
    let routes = Api::<HTTPRoute>::all(app.client.clone());
    let gateways = Api::<Gateway>::all(app.client.clone());
    let classes = Api::<GatewayClass>::all(app.client.clone());
    let namespaces = Api::<Home>::all(app.client.clone());
    let controller = Controller::new(routes, watcher::Config::default());
    let (known, all) = (controller.store(), controller.store());
    let routes_of = move |gateway: Gateway| {
        let gateway = ObjectRef::from_obj(&gateway);
        let known = known.state_filter(|route| parents(route).any(|(_, key)| key == gateway));
        refs(&known)
    };
    controller
        .watches(gateways, watcher::Config::default(), routes_of)
        .watches(classes, watcher::Config::default(), every(all.clone()))
        .watches(namespaces, watcher::Config::default(), every(all))
        .shutdown_on_signal()
        .run(reconcile_route, error_policy, app)
        .for_each(|_| std::future::ready(()))
        .await;
}

async fn run_gateways(app: Arc<App>) {
    let gateways = Api::<Gateway>::all(app.client.clone());
    let classes = Api::<GatewayClass>::all(app.client.clone());
    let routes = Api::<HTTPRoute>::all(app.client.clone());
    let namespaces = Api::<Home>::all(app.client.clone());
    let controller = Controller::new(gateways, watcher::Config::default());
    let (known, all) = (controller.store(), controller.store());
    let gateways_of = move |class: GatewayClass| {
        let name = class.name_any();
        let known = known.state_filter(|gateway| gateway.spec.gateway_class_name == name);
        refs(&known)
    };
    controller
        .watches(classes, watcher::Config::default(), gateways_of)
        // A route that goes to another parent tells the new one only: so all are told.
        .watches(routes, watcher::Config::default(), every(all.clone()))
        .watches(namespaces, watcher::Config::default(), every(all))
        .shutdown_on_signal()
        .run(reconcile_gateway, error_policy, app)
        .for_each(|_| std::future::ready(()))
        .await;
}

/// Whatever changes, all are told.
fn every<O, K>(known: Store<K>) -> impl Fn(O) -> Vec<ObjectRef<K>> + Send + Sync + 'static
where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    move |_| refs(&known.state())
}

fn refs<K: Resource<DynamicType = ()>>(known: &[Arc<K>]) -> Vec<ObjectRef<K>> {
    known
        .iter()
        .map(|object| ObjectRef::from_obj(&**object))
        .collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let app = App {
        client: Client::try_default().await?,
        backoff: Backoff::default(),
    };
    let app = Arc::new(app);
    tokio::join!(run_routes(Arc::clone(&app)), run_gateways(app));
    Ok(())
}
