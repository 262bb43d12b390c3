//! A crate as strict as it can be.
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unused_qualifications,
    unreachable_pub,
    unsafe_code,
    single_use_lifetimes,
    unused_lifetimes,
    unused_import_braces,
    rust_2018_idioms,
    private_interfaces,
    private_bounds
)]

use std::sync::Arc;

use controller_runtime::{Action, controller, reconcile::Children};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

/// The context.
#[derive(Debug)]
pub struct App;

/// Reconciles.
#[controller(
    name = "strict",
    owns(Secret),
    predicates(generation),
    config(debounce = "1s"),
    error =
        /// What can go wrong.
        pub enum Failure {
            /// The API.
            #[error("kubernetes: {0}")]
            Kube(#[from] kube::Error),
            /// The user.
            #[error("invalid {field}")]
            #[permanent]
            Invalid {
                /// Which field.
                field: String,
            },
        },
)]
pub async fn reconcile(
    config: Arc<ConfigMap>,
    _app: Arc<App>,
    children: Children,
) -> Result<Action, Failure> {
    children.apply(Vec::<Secret>::new()).await?;
    match &config.data {
        Some(_) => Ok(Action::await_change()),
        None => Err(Failure::Invalid {
            field: "data".to_owned(),
        }),
    }
}

/// A module of private things.
mod inner {
    use super::{Action, App, Arc, ConfigMap, controller};

    #[controller]
    pub(super) async fn reconcile(_config: Arc<ConfigMap>, _app: Arc<App>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }
}

fn main() {
    let _ = reconcile::controller(App);
    let _ = inner::reconcile::controller(App);
}
