//! A kind that may be the same as another.

use std::sync::Arc;

use controller_runtime::{Action, controller, object::Object, store::Store};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

#[controller(owns(Secret), watches(T, map(|_| None)))]
async fn reconcile<T: Object<DynamicType = ()>>(object: Arc<ConfigMap>, all: Store<T>) -> Result<Action, kube::Error> {
    let _ = (object, all);
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::<Secret>::controller();
}
