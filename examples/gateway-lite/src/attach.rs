//! The rules of attachment, from GEP-1364 and the API's own documentation. Pure.

use std::collections::BTreeMap;

use controller_runtime::prelude::*;
use kube::core::{Selector, SelectorExt};

use crate::types::{Gateway, HTTPRoute, Listener, ParentRef};

/// Why a route is not attached: the reason of its `Accepted` condition.
pub(crate) type Refusal = &'static str;

/// The gateways that a route names.
pub(crate) fn parents(route: &HTTPRoute) -> Vec<ObjectRef<Gateway>> {
    let gateways = route.spec.parent_refs.iter().filter(|parent| is_gateway(parent));
    let here = route.namespace().unwrap_or_default();
    gateways
        .map(|parent| ObjectRef::new(&parent.name).within(parent.namespace.as_deref().unwrap_or(&here)))
        .collect()
}

pub(crate) fn is_gateway(parent: &ParentRef) -> bool {
    parent.kind.as_deref().is_none_or(|kind| kind == "Gateway")
}

/// The listeners that take the route, or why none does. `labels` are those of the route's namespace.
pub(crate) fn attach<'a>(
    route: &HTTPRoute,
    parent: &ParentRef,
    gateway: &'a Gateway,
    labels: &BTreeMap<String, String>,
) -> Result<Vec<&'a Listener>, Refusal> {
    let named = |listener: &&Listener| {
        parent
            .section_name
            .as_ref()
            .is_none_or(|name| *name == listener.name)
            && parent.port.is_none_or(|port| port == listener.port)
            && matches!(listener.protocol.as_str(), "HTTP" | "HTTPS")
    };
    let mut listeners: Vec<_> = gateway.spec.listeners.iter().filter(named).collect();
    if listeners.is_empty() {
        return Err("NoMatchingParent");
    }
    let same = route.namespace() == gateway.namespace();
    listeners.retain(|listener| is_allowed(listener, same, labels));
    if listeners.is_empty() {
        return Err("NotAllowedByListeners");
    }
    listeners.retain(|listener| shares_a_host(listener, &route.spec.hostnames));
    if listeners.is_empty() {
        return Err("NoMatchingListenerHostname");
    }
    Ok(listeners)
}

fn is_allowed(listener: &Listener, same: bool, labels: &BTreeMap<String, String>) -> bool {
    let namespaces = &listener.allowed_routes.namespaces;
    match namespaces.from.as_deref().unwrap_or("Same") {
        "All" => true,
        "Same" => same,
        "Selector" => {
            let selector = namespaces.selector.clone().unwrap_or_default();
            Selector::try_from(selector).is_ok_and(|selector| selector.matches(labels))
        }
        _ => false,
    }
}

fn shares_a_host(listener: &Listener, hostnames: &[String]) -> bool {
    let Some(own) = listener.hostname.as_deref().filter(|own| !own.is_empty()) else {
        return true;
    };
    hostnames.is_empty()
        || hostnames
            .iter()
            .any(|other| covers(own, other) || covers(other, own))
}

/// `*.example.com` covers every name below it.
fn covers(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(suffix) => name.len() > suffix.len() && name.ends_with(suffix),
        None => pattern == name,
    }
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
