//! Type parameters, bounds, where clauses and constants (oxidecomputer/dropshot#132, #1023).

use std::{fmt::Debug, sync::Arc};

use controller_runtime::{
    Action, controller,
    reconcile::{Reconciled, Related},
    store::Store,
};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::Resource;

#[controller(owns(Secret))]
async fn reconcile<K, C: Debug + Send + Sync + 'static, const N: usize>(
    object: Arc<K>,
    _ctx: Arc<C>,
    secrets: Store<Secret>,
) -> Result<Action, kube::Error>
where
    K: Reconciled + Resource<DynamicType = ()>,
{
    let _ = (object.meta(), secrets.len() + N);
    Ok(Action::await_change())
}

#[controller(watches(T, map(|_| None)))]
async fn watcher<T: Related>(_: Arc<ConfigMap>, _: Store<T>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::<ConfigMap, u8, 3>::controller(1);
    let _ = reconcile::<Pod, String, 0>::controller(String::new());
    let _ = watcher::<Secret>::controller();
    let _ = watcher::<Pod>::controller();
}
