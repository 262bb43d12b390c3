//! Paths: what a request is about.
//!
//! Source: "API groups and versioning", "Resource URIs" in the API concepts documentation. A path
//! that leads nowhere is answered in three ways, as on a real server: as text where no group is
//! there, as a `Status` under a built-in group, as a missing object under a custom resource.

use std::sync::Arc;

use super::{health, query};
use crate::registry::{Registry, Resource};
use crate::status::ApiError;

/// Where a path leads.
#[derive(Debug)]
pub(crate) enum Route {
    /// `404 page not found`.
    Nowhere,
    /// A refusal.
    Refused(ApiError),
    /// `/version`.
    Version,
    /// `/healthz`, `/livez`, `/readyz` and their single checks.
    Health,
    /// `/metrics`.
    Metrics,
    /// `/api`, `/apis`, and below: which groups, versions and resources there are.
    Discovery(Discovery),
    /// Below `/-/`: what tests do to the server.
    Control(String),
    /// `/openapi/v2`, `/openapi/v3…`: the part behind `/openapi/`.
    OpenApi(String),
    /// Objects.
    Resource(Target),
}

/// What discovery tells of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Discovery {
    CoreVersions,
    Groups,
    Group(String),
    Resources { group: String, version: String },
}

/// The objects a request is about.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) resource: Arc<Resource>,
    /// Empty for cluster-scoped resources, and for all namespaces.
    pub(crate) namespace: String,
    /// Empty for collections.
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    /// The path has the old form `/api/v1/watch/…`.
    pub(crate) watch: bool,
}

/// Follows a path.
pub(crate) fn route(registry: &Registry, path: &str) -> Route {
    let segments: Vec<String> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| query::decode(segment, false))
        .collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match *segments.as_slice() {
        ["version"] => Route::Version,
        ["metrics"] => Route::Metrics,
        ["healthz" | "livez" | "readyz"] => Route::Health,
        ["healthz" | "livez" | "readyz", check] if health::CHECKS.contains(&check) => Route::Health,
        ["api"] => Route::Discovery(Discovery::CoreVersions),
        ["apis"] => Route::Discovery(Discovery::Groups),
        ["-", ref rest @ ..] => Route::Control(rest.join("/")),
        ["openapi", ref rest @ ..] => Route::OpenApi(rest.join("/")),
        ["api", "v1"] => Route::Discovery(Discovery::Resources {
            group: String::new(),
            version: "v1".to_owned(),
        }),
        ["api", "v1", ref rest @ ..] => resource(registry, "", "v1", rest),
        ["api", ..] => Route::Refused(ApiError::no_such_resource()),
        ["apis", group] => match registry.versions(group) {
            Some(_) => Route::Discovery(Discovery::Group(group.to_owned())),
            None => Route::Nowhere,
        },
        ["apis", group, version] => group_version(registry, group, version),
        ["apis", group, version, ref rest @ ..] => resource(registry, group, version, rest),
        _ => Route::Nowhere,
    }
}

fn group_version(registry: &Registry, group: &str, version: &str) -> Route {
    match registry.versions(group) {
        Some(versions) if versions.contains(&version) => Route::Discovery(Discovery::Resources {
            group: group.to_owned(),
            version: version.to_owned(),
        }),
        _ => unknown(registry, group),
    }
}

fn unknown(registry: &Registry, group: &str) -> Route {
    if registry.is_builtin_group(group) {
        Route::Refused(ApiError::no_such_resource())
    } else {
        Route::Nowhere
    }
}

fn resource(registry: &Registry, group: &str, version: &str, rest: &[&str]) -> Route {
    let (watch, rest) = match rest {
        ["watch", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let find = |plural: &str| registry.get(group, version, plural);
    let (namespace, rest) = match *rest {
        ["namespaces", namespace, ref below @ ..] if below.first().is_some_and(|p| find(p).is_some()) => {
            (namespace, below)
        }
        ["namespaces", _, ..] if !group.is_empty() => return unknown(registry, group),
        _ => ("", rest),
    };
    let [plural, below @ ..] = rest else {
        return unknown(registry, group);
    };
    let Some(resource) = find(plural) else {
        return unknown(registry, group);
    };
    let wrong_scope = if resource.namespaced {
        namespace.is_empty() && !below.is_empty()
    } else {
        !namespace.is_empty()
    };
    if wrong_scope {
        return unknown(registry, group);
    }
    let (name, subresource) = match *below {
        [] => ("", ""),
        [name] => (name, ""),
        [name, subresource] => (name, subresource),
        // Behind a custom resource's subresource a real server looks no further.
        [name, subresource, ..] if resource.is_custom() => (name, subresource),
        _ => return unknown(registry, group),
    };
    if !subresource.is_empty() && !resource.is_custom() && resource.subresource(subresource).is_none() {
        return unknown(registry, group);
    }
    Route::Resource(Target {
        resource: Arc::clone(resource),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
        watch,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> Option<(String, String, String, String)> {
        match route(&Registry::new(), path) {
            Route::Resource(t) => Some((t.resource.plural.clone(), t.namespace, t.name, t.subresource)),
            _ => None,
        }
    }

    #[test]
    fn paths_lead_to_objects() {
        let parts = |a: &str, b: &str, c: &str, d: &str| {
            Some((a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned()))
        };
        for (path, expected) in [
            ("/api/v1/pods", parts("pods", "", "", "")),
            ("/api/v1/namespaces", parts("namespaces", "", "", "")),
            ("/api/v1/namespaces/x", parts("namespaces", "", "x", "")),
            (
                "/api/v1/namespaces/x/status",
                parts("namespaces", "", "x", "status"),
            ),
            ("/api/v1/namespaces/x/pods", parts("pods", "x", "", "")),
            (
                "/api/v1/namespaces/x/pods/p/status",
                parts("pods", "x", "p", "status"),
            ),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%3Ab",
                parts("clusterroles", "", "a:b", ""),
            ),
            ("/api/v1/watch/namespaces/x/pods/p", parts("pods", "x", "p", "")),
            ("/api/v1/configmaps/a", None),
            ("/api/v1/nonsense", None),
            ("/api/v1/namespaces/x/nodes/n", None),
            ("/api/v1/namespaces/x/configmaps/a/status", None),
            ("/apis/apps/v9/deployments", None),
        ] {
            assert_eq!(target(path), expected, "{path}");
        }
    }

    #[test]
    fn what_leads_nowhere_is_told_apart() {
        let registry = Registry::new();
        assert!(matches!(route(&registry, "/apis/no.such/v1/x"), Route::Nowhere));
        assert!(matches!(route(&registry, "/nonsense"), Route::Nowhere));
        assert!(matches!(route(&registry, "/livez/nonsense"), Route::Nowhere));
        assert!(matches!(route(&registry, "/apis/apps/v9"), Route::Refused(_)));
        assert!(matches!(route(&registry, "/api/v1/nonsense"), Route::Refused(_)));
        assert!(matches!(
            route(&registry, "/apis/apps/"),
            Route::Discovery(Discovery::Group(_))
        ));
    }
}
