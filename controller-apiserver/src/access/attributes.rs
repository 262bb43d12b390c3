//! What a request asks for: a verb upon a resource, or upon a path outside the resource API.
//!
//! Derived from method, path and query alone, before anything is known to exist: Kubernetes
//! documentation, "Determine the Request Verb". No input makes this panic; a path that is no
//! resource path is a non-resource request.

use super::User;
use http::request::Parts;
use std::fmt::Write as _;

/// A verb and its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for paths
    /// the HTTP method in lower case.
    pub verb: String,
    /// Upon what.
    pub target: Target,
}

/// The object of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A path below `/api/VERSION/` or `/apis/GROUP/VERSION/`.
    Resource(ResourceTarget),
    /// Any other path, such as `/version`.
    Path(String),
}

/// A resource as a URL names it; empty strings where it names none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceTarget {
    /// API group, "" for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural name.
    pub resource: String,
    /// `status`, `scale`, `token`, …
    pub subresource: String,
    /// Namespace, "" at the cluster scope.
    pub namespace: String,
    /// Object name. For list and watch the one that a `metadata.name` field selector demands.
    pub name: String,
}

impl ResourceTarget {
    /// `resource` or `resource/subresource`, as rules write it.
    pub fn combined(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }

    /// `resource` or `resource.group`, as messages write it.
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }
}

impl Attributes {
    /// A request for a resource.
    pub fn resource(verb: &str, target: ResourceTarget) -> Self {
        Self {
            verb: verb.to_owned(),
            target: Target::Resource(target),
        }
    }

    /// A request for a path outside the resource API.
    pub fn path(verb: &str, path: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            target: Target::Path(path.to_owned()),
        }
    }

    /// What `method` upon `path` (percent-decoded) with the raw `query` string asks for.
    ///
    /// ```
    /// # use controller_apiserver::access::Attributes;
    /// let list = Attributes::of("GET", "/apis/apps/v1/namespaces/a/deployments", "watch=1");
    /// assert_eq!(list.verb, "watch");
    /// ```
    pub fn of(method: &str, path: &str, query: &str) -> Self {
        resource_request(method, path, query)
            .unwrap_or_else(|| Self::path(&method.to_ascii_lowercase(), path))
    }

    /// What an HTTP request asks for.
    pub fn of_request(request: &Parts) -> Self {
        let path = request.uri.path();
        let decoded = percent_decoded(path);
        let query = request.uri.query().unwrap_or_default();
        Self::of(request.method.as_str(), decoded.as_deref().unwrap_or(path), query)
    }

    /// The same target under another verb.
    #[must_use]
    pub fn with_verb(&self, verb: impl Into<String>) -> Self {
        Self {
            verb: verb.into(),
            target: self.target.clone(),
        }
    }

    /// The namespace of a resource request; "" for all others.
    pub fn namespace(&self) -> &str {
        match &self.target {
            Target::Resource(target) => &target.namespace,
            Target::Path(_) => "",
        }
    }

    /// The refusal of this request to `user`; `reason` may be empty.
    pub fn denial(&self, user: &User, reason: &str) -> Denial {
        let mut message = format!("User {:?} cannot {} ", user.name, self.verb);
        let target = match &self.target {
            Target::Path(path) => {
                let _ = write!(message, "path {path:?}");
                ResourceTarget::default()
            }
            Target::Resource(target) => {
                let _ = write!(
                    message,
                    "resource {:?} in API group {:?} ",
                    target.combined(),
                    target.group
                );
                let _ = match target.namespace.as_str() {
                    "" => message.write_str("at the cluster scope"),
                    namespace => write!(message, "in the namespace {namespace:?}"),
                };
                target.clone()
            }
        };
        if !reason.is_empty() {
            let _ = write!(message, ": {reason}");
        }
        Denial {
            group: target.group,
            resource: target.resource,
            name: target.name,
            message,
        }
    }
}

fn resource_request(method: &str, path: &str, query: &str) -> Option<Attributes> {
    let trimmed = path.trim_matches('/');
    let (group, rest) = match trimmed.split_once('/')? {
        ("api", rest) => ("", rest),
        ("apis", rest) => rest.split_once('/')?,
        _ => return None,
    };
    let (version, rest) = rest.split_once('/')?;
    let mut parts: Vec<&str> = rest.split('/').collect();
    let mut verb = match method {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    };
    let special = parts.len() > 1 && matches!(parts[0], "watch" | "proxy");
    if special {
        verb = parts.remove(0);
    }
    let mut namespace = "";
    if parts[0] == "namespaces" && parts.len() > 1 {
        namespace = parts[1];
        if parts.len() > 2 && !matches!(parts[2], "status" | "finalize") {
            parts.drain(..2);
        }
    }
    let part = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
    let mut target = ResourceTarget {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: part(0),
        name: part(1),
        subresource: if special { String::new() } else { part(2) },
        namespace: namespace.to_owned(),
    };
    if target.name.is_empty() && !special {
        verb = match verb {
            "get" => {
                target.name = selected_name(query).unwrap_or_default();
                if wants_watch(query) { "watch" } else { "list" }
            }
            "delete" => "deletecollection",
            other => other,
        };
    }
    Some(Attributes::resource(verb, target))
}

/// Anything but `false` and `0` is a watch, as the API server reads a boolean parameter.
fn wants_watch(query: &str) -> bool {
    parameter(query, "watch")
        .is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
}

/// The name that a field selector demands, if a URL could name it.
fn selected_name(query: &str) -> Option<String> {
    let selector = parameter(query, "fieldSelector")?;
    let name = selector.split(',').find_map(|term| {
        let (field, value) = term.split_once('=')?;
        (field == "metadata.name").then(|| value.strip_prefix('=').unwrap_or(value).to_owned())
    })?;
    let segment = !matches!(name.as_str(), "" | "." | "..") && !name.contains(['/', '%']);
    segment.then_some(name)
}

fn parameter(query: &str, key: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name) == key).then(|| decode(value))
    })
}

/// Percent- and plus-decoding of a query component; what is malformed stays as it is.
fn decode(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_decoded(&spaced).unwrap_or(spaced)
}

/// The text with `%XX` decoded; `None` if an escape is malformed or the result is not UTF-8.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            let value = digit()? * 16 + digit()?;
            decoded.push(u8::try_from(value).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}

/// A 403: which object of which resource, and the server's own sentence about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denial {
    /// API group, `details.group`.
    pub group: String,
    /// Plural name, `details.kind`; empty for a path.
    pub resource: String,
    /// Object name, `details.name`.
    pub name: String,
    /// As in `User "dev" cannot get path "/metrics"`.
    pub message: String,
}
