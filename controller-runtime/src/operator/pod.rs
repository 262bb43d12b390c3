//! What the operator says of itself: Events of its own Pod.
//!
//! They are published with the rights that a controller which takes a `Recorder` has; where none has, or the Pod is not known, logs and
//! `/readyz` say the same.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;

use super::Operator;
use crate::{
    clock::Origin,
    declare::{Declaration, Namespaces},
    reconcile::Recorder,
};

/// The Pod that the operator runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct OwnPod {
    namespace: String,
    name: String,
    uid: Option<String>,
}

impl OwnPod {
    /// By its namespace and name, as the downward API tells them.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            uid: None,
        }
    }

    /// With its uid, by which `kubectl describe pod` finds the Events.
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = Some(uid.into());
        self
    }

    fn reference(self) -> ObjectReference {
        ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some(self.namespace),
            name: Some(self.name),
            uid: self.uid,
            ..ObjectReference::default()
        }
    }
}

impl Operator {
    /// Publishes Events of the operator's Pod, if it is known and a controller may publish Events there.
    pub(super) fn recorder(
        &self,
        pod: Option<OwnPod>,
        namespaces: &Namespaces,
        client: &Client,
        origin: Origin,
    ) -> Option<Recorder> {
        let pod = pod?;
        let watched = match namespaces {
            Namespaces::All => true,
            Namespaces::Only(names) => names.contains(&pod.namespace),
        };
        let mut needs = self.declarations().flat_map(Declaration::needs);
        let may = needs.any(|need| {
            need.resource == "events"
                && need.verb == "create"
                && need
                    .namespace
                    .map_or(watched, |namespace| namespace == pod.namespace)
        });
        may.then(|| Recorder::about(client.clone(), &self.name, origin, pod.reference()))
    }
}

/// Says which rights are missing now, or that none is any more. It does not wait. Each is an Event of its own, for an old list would say
/// what is not true any more.
pub(super) fn tell_of_rights(recorder: &Recorder, missing: &[String]) {
    let (recorder, missing) = (recorder.anew(), missing.join("; "));
    tokio::spawn(async move {
        if missing.is_empty() {
            recorder
                .normal("RightsGranted", "All rights that were missing are granted.")
                .await;
        } else {
            recorder.warning("MissingRights", &missing).await;
        }
    });
}
