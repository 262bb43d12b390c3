//! What goes around the user's function: the finalizer before it, the cleanup instead of it, the status after it.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use kube::Resource;
use serde_json::{Map, Value, json};

use super::{
    Failed, ReconcileError, Reconciler, Retry, Run,
    finalizer::{self, Edited},
    requests::{Requests, is_gone, is_lost_race},
    status::{self, ReadStatus, Said},
    wiring::Function,
};
use crate::{Action, object::ObjectRef, runner::Interrupted, store::key_of};

/// So often a status is written while others write at the same time; then the backoff of the key takes over.
const TRIES: usize = 5;

/// Brings what the runs of one key read.
pub(super) type Preparation<K> =
    Box<dyn Fn(&ObjectRef<K>) -> BoxFuture<'static, Result<(), kube::Error>> + Send + Sync>;
type CleanupFunction<R> = Box<dyn Fn(&Run<R>) -> BoxFuture<'static, Result<(), Failed>> + Send + Sync>;

/// The user's functions, and what the declaration puts around them.
pub(super) struct Around<R: Reconciler> {
    pub(super) requests: Requests<R::Object>,
    pub(super) function: Function<R>,
    pub(super) cleanup: Option<(String, CleanupFunction<R>)>,
    /// How the status is read, if there is one to write.
    pub(super) status: Option<ReadStatus<R::Object>>,
    pub(super) conditions: bool,
    /// What must be there before a function may run.
    pub(super) preparations: Vec<Preparation<R::Object>>,
}

impl<R: Reconciler> Around<R> {
    pub(super) async fn run(self: Arc<Self>, mut run: Run<R>) -> Result<Action, Failed> {
        for prepare in &self.preparations {
            let key = key_of(&**run.object(), run.kind());
            if let Err(error) = prepare(&key).await {
                return self.finish(&run, Err(Failed::new(error))).await;
            }
        }
        if let Some((finalizer, cleanup)) = &self.cleanup {
            if finalizer::is_dying(run.object().meta()) {
                return self.clean_up(&run, finalizer, cleanup).await;
            }
            run.object = match finalizer::add(&self.requests, run.object(), finalizer).await {
                Err(error) => return self.finish(&run, Err(Failed::new(error))).await,
                Ok(Edited::Written(object)) => {
                    run.wrote(&object);
                    object
                }
                Ok(Edited::Found(object)) if !finalizer::is_dying(object.meta()) => object,
                // Its deletion is told by a watch.
                Ok(Edited::Found(_) | Edited::Gone) => return Ok(Action::await_change()),
            };
        }
        let outcome = (self.function)(&run).await;
        self.finish(&run, outcome).await
    }

    async fn clean_up(
        &self,
        run: &Run<R>,
        finalizer: &str,
        cleanup: &CleanupFunction<R>,
    ) -> Result<Action, Failed> {
        if !finalizer::holds(run.object().meta(), finalizer) {
            return Ok(Action::await_change());
        }
        if let Err(error) = cleanup(run).await {
            return self.finish(run, Err(error)).await;
        }
        match finalizer::remove(&self.requests, run.object(), finalizer).await {
            Err(error) => return self.finish(run, Err(Failed::new(error))).await,
            Ok(Edited::Written(left)) => run.wrote(&left),
            Ok(Edited::Found(_) | Edited::Gone) => {}
        }
        Ok(Action::await_change())
    }

    /// The run came to no end of its own: its object is told so, as of any other failure.
    pub(super) async fn interrupted(&self, run: &Run<R>, how: Interrupted) {
        let failed = self.finish(run, Err(Failed::new(how))).await;
        debug_assert!(failed.is_err(), "nothing makes it a success");
    }

    /// Writes the status that the run wants.
    async fn finish(&self, run: &Run<R>, outcome: Result<Action, Failed>) -> Result<Action, Failed> {
        let Some(read) = self.status.or_else(|| run.read_status.get().copied()) else {
            return outcome;
        };
        let Value::Object(mut wanted) = run.status.wanted() else {
            return outcome;
        };
        if self.conditions {
            status::with_ready(&mut wanted, ready(&outcome), run.object().meta().generation);
        }
        match (self.write(run, wanted, read).await, outcome) {
            (Ok(()), outcome) => outcome,
            (Err(error), Ok(_)) => Err(error),
            (Err(error), Err(failed)) => {
                tracing::warn!(%error, "cannot write the status of a failed reconcile");
                Err(failed)
            }
        }
    }

    async fn write(
        &self,
        run: &Run<R>,
        wanted: Map<String, Value>,
        read: ReadStatus<R::Object>,
    ) -> Result<(), Failed> {
        let mut object = Arc::clone(run.object());
        let generation = object.meta().generation;
        let now = run
            .shared
            .origin
            .wall()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        for attempt in 0..TRIES {
            let stored = read(&object);
            let mut wanted = wanted.clone();
            status::with_conditions(&mut wanted, &stored, generation, &now);
            let wanted = Value::Object(wanted);
            if !status::changes(&wanted, &stored) {
                return Ok(());
            }
            let meta = object.meta();
            // A merge replaces lists as a whole: it must not be made of an old one.
            let version = json!({ "uid": meta.uid, "resourceVersion": meta.resource_version });
            let patch = json!({ "metadata": version, "status": wanted });
            match self.requests.merge_status(meta, &patch).await {
                Ok(answer) => {
                    let answer = Arc::new(answer);
                    // The same version: the server found nothing to change, and somebody else made it.
                    if answer.meta().resource_version != meta.resource_version {
                        run.wrote(&answer);
                    }
                    return kept(&wanted, &read(&answer));
                }
                Err(error) if is_gone(&error) => return Ok(()),
                Err(error) if !is_lost_race(&error) || attempt + 1 == TRIES => {
                    return Err(Failed::new(error));
                }
                Err(error) => {
                    tracing::debug!(%error, "the object changed during the reconcile");
                    let newer = self.requests.reread(meta, error).await.map_err(Failed::new)?;
                    object = Arc::new(newer);
                }
            }
        }
        Ok(())
    }
}

/// Conditions that the type or the schema of the kind does not have would be written at every run.
fn kept(wanted: &Value, stored: &Value) -> Result<(), Failed> {
    let lost = |field: &&'static str| !wanted[*field].is_null() && stored[*field].is_null();
    match ["conditions", "observedGeneration"].into_iter().find(lost) {
        Some(field) => Err(Failed::new(NotKept(field))),
        None => Ok(()),
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "status.{0} was written and is not there: add `conditions: Vec<Condition>` and `observed_generation: Option<i64>` \
     (in camelCase) to the status type, and apply its CRD again"
)]
struct NotKept(&'static str);

impl ReconcileError for NotKept {
    fn retry(&self) -> Retry {
        Retry::Never
    }

    fn reason(&self) -> &'static str {
        "StatusNotKept"
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // What a panic says was written for nobody but who wrote the code.
            Self::Panicked => f.write_str("the reconcile panicked; the operator's log says where"),
            Self::TimedOut(limit) => write!(f, "the reconcile took longer than {limit:?}"),
        }
    }
}

impl std::error::Error for Interrupted {}

impl ReconcileError for Interrupted {
    fn reason(&self) -> &'static str {
        match self {
            Self::Panicked => "Panicked",
            Self::TimedOut(_) => "TimedOut",
        }
    }
}

fn ready(outcome: &Result<Action, Failed>) -> Said {
    match outcome {
        Ok(_) => Said {
            r#type: "Ready".to_owned(),
            status: "True",
            reason: "Reconciled".to_owned(),
            message: String::new(),
        },
        Err(failed) => {
            let error = failed.get();
            let retried = if error.retry() == Retry::Never {
                ""
            } else {
                " (it is tried again)"
            };
            // The API takes up to 32768 characters.
            let message: String = error.to_string().chars().take(8192).collect();
            Said {
                r#type: "Ready".to_owned(),
                status: "False",
                reason: error.reason().to_owned(),
                message: message + retried,
            }
        }
    }
}
