//! The `Recorder` extractor: Events of the reconciled object.

use std::fmt;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client, Resource,
    runtime::events::{self, Event, EventType, Reporter},
};

use super::{FromReconcile, Reconciler, Run};
use crate::declare::Declaration;

/// Publishes Events of the reconciled object: what a person reads under `kubectl describe`.
///
/// The same reason again, soon after, counts up one Event instead of making another. An Event that cannot be published
/// is logged and nothing more: Events explain, they do not decide.
#[derive(Clone)]
pub struct Recorder {
    recorder: events::Recorder,
    reference: ObjectReference,
}

impl Recorder {
    /// For tests of plain functions: Events of `object`, reported by `controller`.
    pub fn new<K: Resource<DynamicType: Default>>(client: Client, controller: &str, object: &K) -> Self {
        Self {
            recorder: recorder(client, controller),
            reference: object.object_ref(&K::DynamicType::default()),
        }
    }

    /// All is as it should be: `reason` is one CamelCase word, `note` a sentence.
    pub async fn normal(&self, reason: &str, note: &str) {
        self.publish(EventType::Normal, reason, note).await;
    }

    /// Something is not as it should be.
    pub async fn warning(&self, reason: &str, note: &str) {
        self.publish(EventType::Warning, reason, note).await;
    }

    async fn publish(&self, kind: EventType, reason: &str, note: &str) {
        let event = Event {
            type_: kind,
            reason: reason.to_owned(),
            // The API takes up to a kibibyte.
            note: Some(note.chars().take(1000).collect()),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &self.reference).await {
            tracing::warn!(%error, reason, "cannot publish an Event");
        }
    }
}

/// One for all runs of a controller, so that repeated Events are seen as such.
pub(super) fn recorder(client: Client, controller: &str) -> events::Recorder {
    let reporter = Reporter {
        controller: controller.to_owned(),
        instance: None,
    };
    events::Recorder::new(client, reporter)
}

impl<R: Reconciler> FromReconcile<R> for Recorder {
    fn from_reconcile(run: &Run<R>) -> Self {
        Self {
            recorder: run.recorder(),
            reference: run.object().object_ref(run.kind()),
        }
    }

    fn declare(declaration: &mut Declaration) {
        declaration.uses.events = true;
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("of", &self.reference.name)
            .finish_non_exhaustive()
    }
}
