//! Controllers that a macro of the user's writes, with names and kinds from its call.

use std::sync::Arc;

use controller_runtime::{Action, controller, declare::Runnable, object::ObjectRef, reconcile::Attempt};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

macro_rules! controllers {
    ($($name:ident: $primary:ident, $other:ident;)*) => {$(
        #[controller(watches($other, map(|_| None::<ObjectRef<$primary>>)))]
        async fn $name(_: Arc<$primary>, _attempt: Attempt) -> Result<Action, kube::Error> {
            Ok(Action::await_change())
        }
    )*};
}

controllers! {
    maps: ConfigMap, Secret;
    secrets: Secret, ConfigMap;
}

fn main() {
    let kinds = [
        maps::controller().declaration().clone(),
        secrets::controller().declaration().clone(),
    ];
    assert_eq!(
        kinds.map(|declared| declared.primary.resource.kind),
        ["ConfigMap", "Secret"]
    );
}
