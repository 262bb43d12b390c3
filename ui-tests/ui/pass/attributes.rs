//! Inner attributes, docs, and attributes above and below (tokio-rs/tracing#2294).
#![deny(unused_must_use, deprecated)]
#![allow(
    clippy::needless_return,
    clippy::mixed_attributes_style,
    clippy::duplicated_attributes
)]

use std::sync::Arc;

use controller_runtime::{Action, controller, object::ObjectRef, store::Store};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

/// Docs above.
#[allow(clippy::unused_async)]
#[controller(name = "a")]
/// Docs below.
#[must_use = "a result"]
#[inline]
#[cfg_attr(all(), allow(dead_code))]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    #![allow(dead_code, unused_variables)]
    //! Docs of the body.
    let unused = 1;
    fn helper() {}
    let _ = object;
    return Ok(Action::await_change());
}

#[controller]
#[deprecated = "use the other one"]
async fn old(_: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    panic!("a diverging body has every type")
}

#[deprecated = "take `ConfigMap`"]
type Old = ConfigMap;

/// A deprecated kind, borne on purpose: what is generated names it, too.
#[controller(watches(Secret, map(|_| None::<ObjectRef<Old>>)), references(Secret, |map| map.metadata.name.clone()))]
#[allow(deprecated)]
async fn bearing(_: Arc<Old>, _: Store<Secret>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = bearing::controller();
    let _ = reconcile::controller();
    let _ = old::controller();
}
