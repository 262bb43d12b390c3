//! Cleanup before an object goes, as a function: the counterpart of `kube::runtime::finalizer`.
//!
//! The state machine and the patches are kube's; here it returns this crate's [`Action`], and a lost race is no error.
//! `#[controller(cleanup(…))]` does the same without a call.

use std::{error::Error as StdError, fmt::Debug, sync::Arc, time::Duration};

pub use kube::runtime::finalizer::{Error, Event};
use kube::{Api, Resource, ResourceExt, runtime};
use serde::{Serialize, de::DeserializeOwned};

use futures::{TryFuture, TryFutureExt};

use crate::Action;

/// How soon to look again after a lost race. The change that won it usually comes sooner.
const SOON: Duration = Duration::from_secs(1);

/// Calls `reconcile` with `Apply` while the object lives, and with `Cleanup` when it is being deleted.
///
/// The finalizer `finalizer_name` is stored before the first `Apply` and removed after a successful `Cleanup`, which
/// must therefore happen before the object is gone. Both must bear to be called again. When another controller changes
/// the finalizers at the same time, nothing is overwritten and the object is looked at again soon.
///
/// # Errors
///
/// Those of `reconcile`, and of adding and removing the finalizer.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use controller_runtime::{Action, finalizer::{self, Event, finalizer}};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use kube::Api;
/// # async fn apply(_: Arc<ConfigMap>) -> Result<Action, kube::Error> { Ok(Action::await_change()) }
/// # async fn cleanup(_: Arc<ConfigMap>) -> Result<Action, kube::Error> { Ok(Action::await_change()) }
/// # async fn reconcile(api: Api<ConfigMap>, object: Arc<ConfigMap>) -> Result<Action, finalizer::Error<kube::Error>> {
/// finalizer(&api, "example.com/cleanup", object, |event| async {
///     match event {
///         Event::Apply(object) => apply(object).await,
///         Event::Cleanup(object) => cleanup(object).await,
///     }
/// })
/// .await
/// # }
/// ```
pub async fn finalizer<K, ReconcileFut>(
    api: &Api<K>,
    finalizer_name: &str,
    object: Arc<K>,
    reconcile: impl FnOnce(Event<K>) -> ReconcileFut,
) -> Result<Action, Error<ReconcileFut::Error>>
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug,
    ReconcileFut: TryFuture<Ok = Action>,
    ReconcileFut::Error: StdError + 'static,
{
    // kube's function wants kube's action; ours is kept beside it.
    let mut wanted = Action::await_change();
    let keep = &mut wanted;
    let seen = Arc::clone(&object);
    let done = runtime::finalizer(api, finalizer_name, object, |event| {
        let running = TryFutureExt::into_future(reconcile(event));
        async move {
            *keep = running.await?;
            Ok(runtime::controller::Action::await_change())
        }
    })
    .await;
    match done {
        Ok(_) => Ok(wanted),
        Err(Error::AddFinalizer(error) | Error::RemoveFinalizer(error))
            if is_lost_race(api, &*seen, &error).await =>
        {
            tracing::debug!(%error, "someone else changed the finalizers at the same time");
            Ok(Action::requeue(SOON))
        }
        Err(error) => Err(error),
    }
}

/// Whether a patch was refused because the finalizers are no longer those that were seen.
async fn is_lost_race<K>(api: &Api<K>, seen: &K, error: &kube::Error) -> bool
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let kube::Error::Api(status) = error else {
        return false;
    };
    match status.code {
        404 | 409 => true,
        422 => match api.get_metadata_opt(&seen.name_any()).await {
            Ok(Some(now)) => now.finalizers() != seen.finalizers() || now.uid() != seen.uid(),
            Ok(None) => true,
            Err(_) => false,
        },
        _ => false,
    }
}
