//! What a controller's file needs: `use controller_runtime::prelude::*;`
//!
//! Names that kube has too are this crate's here; kube's are under [`compat`](crate::compat).

pub use std::{sync::Arc, time::Duration};

pub use kube::{Api, Client, Resource, ResourceExt, api::ObjectMeta};

pub use crate::{
    Action, Backoff, Config, Controller, Operator, backoff,
    object::ObjectRef,
    reconcile::{Attempt, Children, Failure, FromReconcile, Now, OrFail, ReconcileError, Recorder, Status},
    store::Store,
    watch::Informer,
};
#[cfg(feature = "testing")]
pub use controller_macros::controller_test;
#[cfg(feature = "macros")]
pub use controller_macros::{ReconcileError, controller};
#[cfg(feature = "macros")]
pub use kube::CustomResource;
