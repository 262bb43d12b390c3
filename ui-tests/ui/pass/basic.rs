//! The grammar of the first page: a controller with everything it usually has.

use std::sync::Arc;

use controller_runtime::{Action, controller, declare::Runnable, object::ObjectRef, store::Store};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::{Client, Resource};

struct App {
    client: Client,
}

impl App {
    async fn connect(client: &Client) -> Result<Self, kube::Error> {
        Ok(Self {
            client: client.clone(),
        })
    }
}

fn accounts(secret: &Secret) -> Option<ObjectRef<ServiceAccount>> {
    let meta = secret.meta();
    Some(ObjectRef::new(meta.name.as_deref()?).within(meta.namespace.as_deref()?))
}

fn renamed(old: &ServiceAccount, new: &ServiceAccount) -> bool {
    old.meta().labels != new.meta().labels
}

#[controller(
    name = "accounts",
    owns(ConfigMap, labels = "app=web", predicates(resource_version)),
    watches(Secret, map(accounts)),
    predicates(generation, all(labels, not(finalizers)), renamed),
    config(debounce = "500ms", concurrency = 4, timeout = "30s", resync = "1h"),
    backoff(initial = "1s", max = "5m", factor = 2.0, jitter = 0.1),
    rbac("core/pods/log": get, "apps/deployments": get list),
    error = pub enum AccountError {
        #[error("kubernetes: {0}")]
        Kube(#[from] kube::Error),
        #[error("invalid {0}: {1:?}")]
        #[permanent]
        Invalid(String, u8),
    },
)]
async fn reconcile(
    account: Arc<ServiceAccount>,
    ctx: Arc<App>,
    secrets: Store<Secret>,
) -> Result<Action, AccountError> {
    let _ = (&ctx.client, secrets.get("x"));
    if account.metadata.labels.is_none() {
        return Err(AccountError::Invalid("labels".into(), 1));
    }
    Ok(Action::await_change())
}

fn main() {
    let declared = reconcile::controller(App::connect);
    assert_eq!(declared.declaration().name, "accounts");
    assert_eq!(declared.declaration().relations.len(), 2);
    assert_eq!(AccountError::Invalid("a".into(), 1).to_string(), "invalid a: 1");
}
