//! Two controllers: one tells each `HTTPRoute` which Gateways take it, one tells each Gateway how many routes it has.

use std::collections::BTreeMap;

use controller_runtime::prelude::*;
use k8s_openapi::{
    api::core::v1::Namespace,
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
};
use kube::core::PartialObjectMeta;
use serde_json::{Value, json};

use crate::{
    attach::{Refusal, attach, is_gateway, parents},
    types::{Gateway, GatewayClass, HTTPRoute, Listener, ParentRef},
};

/// The name in the classes that are ours.
pub(crate) const CONTROLLER: &str = "acme.io/gateway-controller";

type Namespaces = Store<PartialObjectMeta<Namespace>>;

#[controller(
    name = "gateway-lite-routes",
    references(Gateway, parents),
    watches(GatewayClass, all),
    watches(Namespace, all, metadata_only, predicates(labels)),
    predicates(generation)
)]
pub(crate) async fn routes(
    route: Arc<HTTPRoute>,
    gateways: Store<Gateway>,
    classes: Store<GatewayClass>,
    namespaces: Namespaces,
    status: Status,
    Now(now): Now,
) -> Result<Action, kube::Error> {
    let before = route.status.clone().unwrap_or_default().parents;
    // The entries of other controllers stay as they are.
    let mut all: Vec<_> = before
        .iter()
        .filter(|parent| parent["controllerName"] != CONTROLLER)
        .cloned()
        .collect();
    for parent in route.spec.parent_refs.iter().filter(|parent| is_gateway(parent)) {
        let namespace = parent
            .namespace
            .clone()
            .or_else(|| route.namespace())
            .unwrap_or_default();
        let Some(gateway) = gateways.within(&namespace).get(&parent.name) else {
            continue;
        };
        if !is_ours(&gateway, &classes) {
            continue;
        }
        let verdict = attach(&route, parent, &gateway, &labels(&route, &namespaces)).map(drop);
        let parent = json!(parent);
        let known = before
            .iter()
            .find(|known| known["parentRef"] == parent && known["controllerName"] == CONTROLLER);
        let conditions = [accepted(verdict), ("ResolvedRefs", true, "ResolvedRefs")];
        let conditions = conditions.map(|said| condition(said, route.metadata.generation, known, Time(now)));
        all.push(json!({"parentRef": parent, "controllerName": CONTROLLER, "conditions": conditions}));
    }
    status.set(json!({ "parents": all }));
    Ok(Action::await_change())
}

#[controller(
    name = "gateway-lite",
    references(GatewayClass, |gateway| gateway.spec.gateway_class_name.clone()),
    watches(HTTPRoute, map(parents), predicates(generation)),
    watches(Namespace, all, metadata_only, predicates(labels)),
    predicates(generation),
)]
pub(crate) async fn gateways(
    gateway: Arc<Gateway>,
    classes: Store<GatewayClass>,
    routes: Store<HTTPRoute>,
    namespaces: Namespaces,
    status: Status,
    Now(now): Now,
) -> Result<Action, kube::Error> {
    if !is_ours(&gateway, &classes) {
        return Ok(Action::await_change());
    }
    let routes = routes.everywhere().snapshot();
    let attached = |listener: &Listener| {
        let takes = |route: &&Arc<HTTPRoute>| {
            let labels = labels(route, &namespaces);
            let taken = |parent: &ParentRef| attach(route, parent, &gateway, &labels);
            let ours = route.spec.parent_refs.iter().zip(parents(route));
            let mut ours = ours.filter(|(_, key)| *key == ObjectRef::from_obj(&*gateway));
            ours.any(|(parent, _)| {
                taken(parent).is_ok_and(|taken| taken.iter().any(|one| one.name == listener.name))
            })
        };
        routes.iter().filter(takes).count()
    };
    let before = gateway.status.clone().unwrap_or_default().listeners;
    let listeners = gateway.spec.listeners.iter().map(|listener| {
        let known = before.iter().find(|known| known["name"] == listener.name);
        let said = [
            accepted(Ok(())),
            ("Programmed", true, "Programmed"),
            ("ResolvedRefs", true, "ResolvedRefs"),
        ];
        json!({
            "name": listener.name,
            "attachedRoutes": attached(listener),
            "supportedKinds": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}],
            "conditions": said.map(|said| condition(said, gateway.metadata.generation, known, Time(now))),
        })
    });
    status.set(json!({ "listeners": listeners.collect::<Vec<_>>() }));
    status.condition("Accepted", true, "Accepted", "");
    status.condition("Programmed", true, "Programmed", "");
    Ok(Action::await_change())
}

fn is_ours(gateway: &Gateway, classes: &Store<GatewayClass>) -> bool {
    let class = classes.get(&gateway.spec.gateway_class_name);
    class.is_some_and(|class| class.spec.controller_name == CONTROLLER)
}

/// The labels of the route's namespace.
fn labels(route: &HTTPRoute, namespaces: &Namespaces) -> BTreeMap<String, String> {
    let namespace = namespaces.get(route.namespace().unwrap_or_default());
    namespace
        .map(|namespace| namespace.labels().clone())
        .unwrap_or_default()
}

type Said = (&'static str, bool, &'static str);

fn accepted(verdict: Result<(), Refusal>) -> Said {
    match verdict {
        Ok(()) => ("Accepted", true, "Accepted"),
        Err(reason) => ("Accepted", false, reason),
    }
}

/// A condition in a list of conditions; its time is that of the last change of its status.
fn condition(
    (kind, holds, reason): Said,
    generation: Option<i64>,
    before: Option<&Value>,
    now: Time,
) -> Condition {
    let status = if holds { "True" } else { "False" };
    let known: Vec<Condition> = before
        .and_then(|before| serde_json::from_value(before["conditions"].clone()).ok())
        .unwrap_or_default();
    let since = known
        .into_iter()
        .find(|known| known.type_ == kind && known.status == status);
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: String::new(),
        observed_generation: generation,
        last_transition_time: since.map_or(now, |since| since.last_transition_time),
    }
}
