//! The rules of attachment, from GEP-1364 and the API's own documentation. Pure.

use controller_runtime::prelude::*;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::{PartialObjectMeta, Selector, SelectorExt};

use crate::types::{Gateway, HTTPRoute, Listener, ParentRef};

/// The namespace of a route: its labels say where the route may attach.
pub(crate) type Home = PartialObjectMeta<Namespace>;

/// The reason of a route's `Accepted` condition. What is nearer to being accepted is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Accepted,
    NoMatchingListenerHostname,
    NotAllowedByListeners,
    NoMatchingParent,
}

/// The parents of a route that are gateways, and which.
pub(crate) fn parents(route: &HTTPRoute) -> impl Iterator<Item = (&ParentRef, ObjectRef<Gateway>)> {
    let is_gateway = |parent: &&ParentRef| parent.kind.as_deref().is_none_or(|kind| kind == "Gateway");
    let here = route.namespace().unwrap_or_default();
    let gateways = route.spec.parent_refs.iter().filter(is_gateway);
    gateways.map(move |parent| {
        let namespace = parent.namespace.as_deref().unwrap_or(&here);
        (parent, ObjectRef::new(&parent.name).within(namespace))
    })
}

/// Whether a listener of the gateway takes the route.
pub(crate) fn verdict(
    route: &HTTPRoute,
    parent: &ParentRef,
    gateway: &Gateway,
    listener: &Listener,
    home: Option<&Home>,
) -> Verdict {
    let section = parent.section_name.as_ref();
    let is_meant = section.is_none_or(|name| *name == listener.name)
        && parent.port.is_none_or(|port| port == listener.port)
        && matches!(listener.protocol.as_str(), "HTTP" | "HTTPS");
    if !is_meant {
        Verdict::NoMatchingParent
    } else if !is_allowed(listener, route, gateway, home) {
        Verdict::NotAllowedByListeners
    } else if !shares_a_host(listener, &route.spec.hostnames) {
        Verdict::NoMatchingListenerHostname
    } else {
        Verdict::Accepted
    }
}

fn is_allowed(listener: &Listener, route: &HTTPRoute, gateway: &Gateway, home: Option<&Home>) -> bool {
    let allowed = &listener.allowed_routes.namespaces;
    let selector = Selector::try_from(allowed.selector.clone().unwrap_or_default());
    match allowed.from.as_deref().unwrap_or("Same") {
        "All" => true,
        "Same" => route.namespace() == gateway.namespace(),
        "Selector" => selector.is_ok_and(|selector| home.is_some_and(|home| selector.matches(home.labels()))),
        _ => false,
    }
}

fn shares_a_host(listener: &Listener, hostnames: &[String]) -> bool {
    let own = listener.hostname.as_deref().unwrap_or_default();
    let shared = |other: &String| covers(own, other) || covers(other, own);
    own.is_empty() || hostnames.is_empty() || hostnames.iter().any(shared)
}

/// `*.example.com` covers every name below it.
fn covers(pattern: &str, name: &str) -> bool {
    let is_below = |suffix: &str| name.len() > suffix.len() && name.ends_with(suffix);
    pattern == name || pattern.strip_prefix('*').is_some_and(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_covers_names_below_and_nothing_else() {
        let listener = |hostname: &str| Listener {
            hostname: Some(hostname.to_owned()),
            ..Listener::default()
        };
        let shares = |own: &str, other: &str| shares_a_host(&listener(own), &[other.to_owned()]);
        assert!(shares("*.example.com", "a.example.com"));
        assert!(shares("a.example.com", "*.example.com"));
        assert!(shares("*.example.com", "*.a.example.com"));
        assert!(!shares("*.example.com", "example.com"));
        assert!(!shares("a.example.com", "b.example.com"));
        assert!(shares_a_host(&listener(""), &["any.where".to_owned()]));
    }
}
