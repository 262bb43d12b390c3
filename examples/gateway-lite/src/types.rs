//! The kinds of the Gateway API, as far as attachment looks at them. Their definitions are in `manifests/`.

use controller_runtime::prelude::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use serde::{Deserialize, Serialize};

/// Who is responsible for gateways of this class.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "gateway.networking.k8s.io",
    version = "v1",
    kind = "GatewayClass",
    plural = "gatewayclasses",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GatewayClassSpec {
    pub(crate) controller_name: String,
}

/// Where traffic comes in.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "gateway.networking.k8s.io",
    version = "v1",
    kind = "Gateway",
    plural = "gateways",
    namespaced,
    schema = "disabled",
    status = "GatewayStatus"
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GatewaySpec {
    pub(crate) gateway_class_name: String,
    pub(crate) listeners: Vec<Listener>,
}

/// A port of a Gateway.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Listener {
    pub(crate) name: String,
    pub(crate) hostname: Option<String>,
    pub(crate) port: i32,
    pub(crate) protocol: String,
    pub(crate) allowed_routes: AllowedRoutes,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct AllowedRoutes {
    pub(crate) namespaces: RouteNamespaces,
}

/// From which namespaces routes may attach.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct RouteNamespaces {
    /// `Same` (or nothing), `All`, `Selector`, `None`.
    pub(crate) from: Option<String>,
    pub(crate) selector: Option<LabelSelector>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct GatewayStatus {
    pub(crate) listeners: Vec<ListenerStatus>,
    pub(crate) conditions: Vec<Condition>,
}

/// How many routes a listener has.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListenerStatus {
    pub(crate) name: String,
    pub(crate) attached_routes: usize,
    pub(crate) supported_kinds: Vec<RouteKind>,
    pub(crate) conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct RouteKind {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    pub(crate) kind: String,
}

impl RouteKind {
    pub(crate) fn of<K: Resource<DynamicType = ()>>() -> Self {
        Self {
            group: Some(K::group(&()).into_owned()),
            kind: K::kind(&()).into_owned(),
        }
    }
}

/// Which requests go where.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "gateway.networking.k8s.io",
    version = "v1",
    kind = "HTTPRoute",
    plural = "httproutes",
    namespaced,
    schema = "disabled",
    status = "RouteStatus"
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HTTPRouteSpec {
    #[serde(default)]
    pub(crate) parent_refs: Vec<ParentRef>,
    #[serde(default)]
    pub(crate) hostnames: Vec<String>,
}

/// What a route wants to attach to.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ParentRef {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) section_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<i32>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct RouteStatus {
    /// Other controllers write some of them.
    pub(crate) parents: Vec<ParentStatus>,
}

/// Whether a parent takes a route, as its controller says.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ParentStatus {
    pub(crate) parent_ref: ParentRef,
    pub(crate) controller_name: String,
    pub(crate) conditions: Vec<Condition>,
}
