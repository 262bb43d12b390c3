//! Two controllers: one tells each `HTTPRoute` which Gateways take it, one tells each Gateway how many routes it has.

use controller_runtime::prelude::*;
use k8s_openapi::api::core::v1::Namespace;
use serde_json::json;

use crate::{
    attach::{
        Home,
        Verdict::{Accepted, NoMatchingParent},
        parents, verdict,
    },
    types::{Gateway, GatewayClass, HTTPRoute, Listener, ListenerStatus, ParentStatus, RouteKind},
};

/// The name in the classes that are ours.
pub(crate) const CONTROLLER: &str = "acme.io/gateway-controller";

#[controller(
    name = "gateway-lite-routes",
    references(Gateway, gateways_of),
    watches(GatewayClass, all),
    watches(Namespace, all, metadata_only, predicates(labels)),
    predicates(generation)
)]
pub(crate) async fn routes(
    route: Arc<HTTPRoute>,
    gateways: Store<Gateway>,
    classes: Store<GatewayClass>,
    namespaces: Store<Home>,
    status: Status,
) -> Result<Action, kube::Error> {
    let before = route.status.clone().unwrap_or_default().parents.into_iter();
    // The entries of other controllers stay as they are.
    let (ours, mut all): (Vec<_>, Vec<_>) = before.partition(|parent| parent.controller_name == CONTROLLER);
    let our = |key| gateways.get(&key).filter(|gateway| is_ours(gateway, &classes));
    let home = namespaces.get(route.namespace().unwrap_or_default());
    for (parent, key) in parents(&route) {
        let Some(gateway) = our(key) else { continue };
        let says = |listener| verdict(&route, parent, &gateway, listener, home.as_deref());
        let best = gateway.spec.listeners.iter().map(says).min();
        let best = best.unwrap_or(NoMatchingParent);
        let known = ours.iter().find(|known| known.parent_ref == *parent);
        let known = known.map_or(&[][..], |known| &known.conditions);
        let accepted = status.inner_condition(known, "Accepted", best == Accepted, format!("{best:?}"), "");
        let resolved = status.inner_condition(known, "ResolvedRefs", true, "ResolvedRefs", "");
        all.push(ParentStatus {
            parent_ref: parent.clone(),
            controller_name: CONTROLLER.to_owned(),
            conditions: vec![accepted, resolved],
        });
    }
    status.set(json!({ "parents": all }));
    Ok(Action::await_change())
}

#[controller(
    name = "gateway-lite",
    references(GatewayClass, |gateway| gateway.spec.gateway_class_name.clone()),
    watches(HTTPRoute, map(gateways_of), predicates(generation)),
    watches(Namespace, all, metadata_only, predicates(labels)),
    predicates(generation),
)]
pub(crate) async fn gateways(
    gateway: Arc<Gateway>,
    classes: Store<GatewayClass>,
    routes: Store<HTTPRoute>,
    namespaces: Store<Home>,
    status: Status,
) -> Result<Action, kube::Error> {
    if !is_ours(&gateway, &classes) {
        return Ok(Action::await_change());
    }
    let routes = routes.everywhere().snapshot();
    let is_attached = |route: &HTTPRoute, listener: &Listener| {
        let home = namespaces.get(route.namespace().unwrap_or_default());
        let mut ours = parents(route).filter(|(_, key)| *key == ObjectRef::from_obj(&*gateway));
        ours.any(|(parent, _)| verdict(route, parent, &gateway, listener, home.as_deref()) == Accepted)
    };
    let before = gateway.status.clone().unwrap_or_default().listeners;
    let listeners = gateway.spec.listeners.iter().map(|listener| {
        let known = before.iter().find(|known| known.name == listener.name);
        let known = known.map_or(&[][..], |known| &known.conditions);
        let holds = |kind| status.inner_condition(known, kind, true, kind, "");
        ListenerStatus {
            name: listener.name.clone(),
            attached_routes: routes.iter().filter(|route| is_attached(route, listener)).count(),
            supported_kinds: vec![RouteKind::of::<HTTPRoute>()],
            conditions: ["Accepted", "Programmed", "ResolvedRefs"].map(holds).into(),
        }
    });
    status.set(json!({ "listeners": listeners.collect::<Vec<_>>() }));
    status.condition("Accepted", true, "Accepted", "");
    status.condition("Programmed", true, "Programmed", "");
    Ok(Action::await_change())
}

fn gateways_of(route: &HTTPRoute) -> Vec<ObjectRef<Gateway>> {
    parents(route).map(|(_, gateway)| gateway).collect()
}

fn is_ours(gateway: &Gateway, classes: &Store<GatewayClass>) -> bool {
    let class = classes.get(&gateway.spec.gateway_class_name);
    class.is_some_and(|class| class.spec.controller_name == CONTROLLER)
}
