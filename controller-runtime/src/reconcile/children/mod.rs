//! `Children`: the objects that a primary owns, written by server-side apply.
//!
//! - [`Children::apply`] takes the *complete* set of one kind: what differs is applied, what is not in it any more is
//!   deleted, after everything was applied. Nothing is deleted when an apply failed, or when `apply` was not called. What
//!   fails after it undoes nothing.
//! - [`Children::upsert`] writes one and deletes nothing.
//! - An object that is somebody else's, or nobody's, is refused unless [`Children::adopt`] was said. Owned is what names this
//!   primary, by uid, as its *controller*; the version in that reference is renewed with the next apply.
//! - What is as desired costs no request, also right after a restart: the live object says which fields are ours.
//! - A child that changed since it was seen is looked at again before it is written: what became somebody else's is not touched.
//! - Fields of other managers are taken over, and an Event says so.
//!
//! Not promised: to see an object that the relation's own selectors hide.

mod differs;
mod kin;
mod refusal;
mod write;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::{BoxFuture, FutureExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Client, Resource, api::ObjectMeta, core::NamespaceResourceScope};
use serde::Serialize;

pub(super) use kin::Family;
use kin::Kin;
pub use refusal::Refusal;
use write::{Applied, Desired, Writer, is_outdated};

use super::{FromReconcile, Reconciler, Recorder, Related, Run};
use crate::{declare::Declaration, store::Store};

/// So often a child is written while others write it at the same time; then the backoff of the key takes over.
const TRIES: usize = 5;

/// Hears of every answer to a write, so that it does not wake its own writer.
pub(super) trait Confirms: Send + Sync {
    fn wrote(&self, meta: &ObjectMeta);
    fn deleted(&self, uid: &str);
}

/// A kind that can be owned.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be owned",
    label = "not a kind that can be written",
    note = "a child is a whole object of a kind with a Rust type: it must be `Serialize`, and not only metadata"
)]
pub trait Child: Related + Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Related + Serialize> Child for T {}

/// The objects that the reconciled one owns.
///
/// ```no_run
/// use std::sync::Arc;
/// use controller_runtime::{Action, controller, reconcile::Children};
/// use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
///
/// #[controller(owns(ConfigMap))]
/// async fn reconcile(account: Arc<ServiceAccount>, children: Children) -> Result<Action, kube::Error> {
///     let mut config = ConfigMap::default();
///     config.metadata.name = account.metadata.name.clone();
///     children.apply([config]).await?;
///     Ok(Action::await_change())
/// }
/// ```
#[derive(Clone)]
pub struct Children {
    owner: Arc<Owner>,
    family: Arc<Family>,
    writer: Writer,
    confirms: Arc<dyn Confirms>,
    recorder: Recorder,
    adopt: bool,
    /// What `upsert` wrote in this run: `apply` leaves it alone.
    upserted: Arc<Mutex<BTreeSet<(String, String)>>>,
}

/// The reconciled object, as its children name it.
#[derive(Debug)]
struct Owner {
    reference: Option<OwnerReference>,
    namespace: Option<String>,
}

impl Children {
    /// For tests of plain functions: the children of `owner`, written with `client` as `manager`.
    ///
    /// What is live is read from the stores that are given with [`knowing`](Self::knowing).
    pub fn new<K>(client: Client, manager: &str, owner: &K) -> Self
    where
        K: Resource<DynamicType: Default>,
    {
        struct Nobody;
        impl Confirms for Nobody {
            fn wrote(&self, _meta: &ObjectMeta) {}
            fn deleted(&self, _uid: &str) {}
        }
        let kind = K::DynamicType::default();
        Self {
            owner: Arc::new(Owner::of(owner, &kind)),
            family: Arc::new(Family::default()),
            recorder: Recorder::new(client.clone(), manager, owner),
            writer: Writer::new(client, manager),
            confirms: Arc::new(Nobody),
            adopt: false,
            upserted: Arc::default(),
        }
    }

    /// For tests of plain functions: children of this kind are read from `store`. To be said once for each kind.
    #[must_use]
    pub fn knowing<T: Child>(self, store: &Store<T>) -> Self {
        let mut family = Family::clone(&self.family);
        family.add(store);
        Self {
            family: Arc::new(family),
            ..self
        }
    }

    /// Takes over objects that nobody controls, instead of refusing them. What another controls stays refused.
    #[must_use]
    pub fn adopt(mut self) -> Self {
        self.adopt = true;
        self
    }

    /// Makes the children of this kind be `set`, all of it and nothing else.
    ///
    /// When it returns, what is not in the set has been deleted: an error that the function gives afterwards brings nothing
    /// back. So let what can fail come first: read, compute and check, then apply. Children of several kinds that belong together are
    /// written with [`upsert`](Self::upsert) first, all of them, and given to `apply` at the end, kind by kind: what is as
    /// desired by then costs no request.
    ///
    /// # Errors
    ///
    /// Those of the requests; and a [`Refusal`] (as [`kube::Error::Service`]) for a child that may not be written.
    /// Every child is tried; the first error is returned, and nothing is deleted. An error of a deletion leaves the rest for the
    /// next run.
    ///
    /// # Cancel safety
    ///
    /// Dropped, as by the controller's timeout, it has written some of the children, and deleted something only if all were
    /// written. The next run does the rest.
    pub fn apply<T: Child>(
        &self,
        set: impl IntoIterator<Item = T>,
    ) -> BoxFuture<'_, Result<(), kube::Error>> {
        // Collected at once: a lazy iterator that borrows could not be held over an await of a spawned task.
        let set: Vec<T> = set.into_iter().collect();
        self.apply_all(set).boxed()
    }

    async fn apply_all<T: Child>(&self, set: Vec<T>) -> Result<(), kube::Error> {
        let kin = self.kin::<T>()?;
        let mut wanted = BTreeSet::new();
        let mut failed = None;
        for child in set {
            match self.one(&kin, child).await {
                Ok(live) => {
                    wanted.insert(live.meta().uid.clone());
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => self.prune(&kin, &wanted).await,
        }
    }

    /// Writes one child, if it differs, and deletes nothing. Gives the live object.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    pub async fn upsert<T: Child>(&self, child: T) -> Result<Arc<T>, kube::Error> {
        let kin = self.kin::<T>()?;
        let live = self.one(&kin, child).await?;
        let mut upserted = self.upserted.lock().unwrap_or_else(PoisonError::into_inner);
        upserted.insert(Kin::<T>::key_of(&live));
        Ok(live)
    }

    fn kin<T: Child>(&self) -> Result<Kin<T>, kube::Error> {
        let kind = T::kind(&T::DynamicType::default()).into_owned();
        self.family
            .get::<T>()
            .ok_or_else(|| Refusal::NotDeclared { kind }.into())
    }

    /// An apply names the version that it is made for. So what it meets is what was looked at, and an answer with another version
    /// is of our making: were it not certain, a change of somebody else's could be taken for ours, and would wake nobody.
    async fn one<T: Child>(&self, kin: &Kin<T>, child: T) -> Result<Arc<T>, kube::Error> {
        let desired = self.desired(child)?;
        let mut live = kin.live(desired.namespace.as_deref(), &desired.name);
        let mut tries = 1;
        loop {
            let met = match &live {
                Some(live) => {
                    self.check_owner(&**live)?;
                    if kin.is_as_desired(&desired, live, self.writer.manager()) {
                        return Ok(Arc::clone(live));
                    }
                    live.meta().resource_version.clone()
                }
                None => match self.writer.look_up::<T>(&desired).await? {
                    Some(hidden) => {
                        self.check_owner(&hidden)?;
                        hidden.metadata.resource_version
                    }
                    None => None,
                },
            };
            let outdated = match self.writer.apply::<T>(&desired, met.as_deref()).await {
                Ok(applied) => return Ok(self.applied(kin, &desired, met, applied).await),
                Err(error) if tries < TRIES && met.is_some() && is_outdated(&error) => error,
                Err(error) => return Err(error),
            };
            tracing::debug!(error = %outdated, kind = desired.kind, name = desired.name, "the child changed at the same time");
            tries += 1;
            // A read may be old: that it does not find the child is no proof that it can be made anew.
            let newer = self.writer.read::<T>(&desired).await?.ok_or(outdated)?;
            live = Some(Arc::new(newer));
        }
    }

    /// Takes note of the answer to an apply over the version `met`.
    async fn applied<T: Child>(
        &self,
        kin: &Kin<T>,
        desired: &Desired,
        met: Option<String>,
        applied: Applied<T>,
    ) -> Arc<T> {
        let Applied { answer, taken } = applied;
        if met.is_some() && met == answer.meta().resource_version {
            kin.settle(desired, met);
        } else {
            self.confirms.wrote(answer.meta());
        }
        if let Some(conflict) = taken {
            let note = format!("{} {}: {conflict}", desired.kind, desired.name);
            self.recorder.warning("TookOver", &note).await;
        }
        kin.show(answer)
    }

    /// The child as it is to be: with its owner, and in its owner's namespace.
    fn desired<T: Child>(&self, mut child: T) -> Result<Desired, Refusal> {
        let kind = T::kind(&T::DynamicType::default()).into_owned();
        let reference = self.owner.reference.clone().ok_or(Refusal::OwnerUnknown)?;
        let meta = child.meta_mut();
        let name = meta
            .name
            .clone()
            .ok_or_else(|| Refusal::NoName { kind: kind.clone() })?;
        let namespaced =
            std::any::TypeId::of::<T::Scope>() == std::any::TypeId::of::<NamespaceResourceScope>();
        match (&self.owner.namespace, namespaced) {
            (Some(_), false) => return Err(Refusal::ClusterScoped { kind, name }),
            (Some(owner), true) => {
                let namespace = meta.namespace.get_or_insert_with(|| owner.clone());
                if namespace != owner {
                    return Err(Refusal::OtherNamespace {
                        kind,
                        name,
                        namespace: namespace.clone(),
                    });
                }
            }
            (None, _) => {}
        }
        let owners = meta.owner_references.get_or_insert_default();
        owners.retain(|other| other.uid != reference.uid);
        owners.push(reference);
        meta.managed_fields = None;
        Desired::new(&child, kind, name)
    }

    /// Only what this owner controls is written, or what nobody controls if that was said.
    fn check_owner<T: Resource<DynamicType: Default>>(&self, live: &T) -> Result<(), Refusal> {
        let controller = kin::controller_of(live.meta());
        let ours = self.owner.reference.as_ref().map(|owner| &owner.uid);
        match controller {
            Some(controller) if Some(&controller.uid) == ours => Ok(()),
            None if self.adopt => Ok(()),
            controller => Err(Refusal::NotOurs {
                kind: T::kind(&T::DynamicType::default()).into_owned(),
                name: live.meta().name.clone().unwrap_or_default(),
                owner: controller.map(|owner| format!("{} {}", owner.kind, owner.name)),
            }),
        }
    }

    /// Deletes what this controller applied for this owner and is not wanted any more.
    async fn prune<T: Child>(
        &self,
        kin: &Kin<T>,
        wanted: &BTreeSet<Option<String>>,
    ) -> Result<(), kube::Error> {
        let upserted = self
            .upserted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let manager = self.writer.manager();
        let ours = self.owner.reference.as_ref().map(|owner| &*owner.uid);
        for child in kin.of_owner(ours.unwrap_or_default()) {
            let meta = child.meta();
            let superfluous = !wanted.contains(&meta.uid)
                && meta.deletion_timestamp.is_none()
                && !upserted.contains(&Kin::<T>::key_of(&child))
                && kin::entry_of(meta, manager).is_some();
            if superfluous {
                self.delete(kin, &child).await?;
            }
        }
        Ok(())
    }

    async fn delete<T: Child>(&self, kin: &Kin<T>, child: &Arc<T>) -> Result<(), kube::Error> {
        let meta = child.meta();
        match self.writer.delete::<T>(meta).await {
            // Something holds it back; its end is told by the watch, as is this: it may be dying by another hand.
            Ok(Some(dying)) => {
                kin.show(dying);
                Ok(())
            }
            Ok(None) => {
                self.confirms.deleted(meta.uid.as_deref().unwrap_or_default());
                kin.gone(child);
                Ok(())
            }
            // It is gone, or another one by that name.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Owner {
    fn of<K: Resource>(object: &K, kind: &K::DynamicType) -> Self {
        Self {
            // As Go's SetControllerReference: a foreground deletion of the owner waits for its children.
            reference: object.controller_owner_ref(kind).map(|reference| OwnerReference {
                block_owner_deletion: Some(true),
                ..reference
            }),
            namespace: object.meta().namespace.clone(),
        }
    }
}

impl<R: Reconciler> FromReconcile<R> for Children {
    fn from_reconcile(run: &Run<R>) -> Self {
        let (client, manager) = (run.client().clone(), run.manager());
        Self {
            owner: Arc::new(Owner::of(&**run.object(), run.kind())),
            family: run.family(),
            writer: Writer::new(client, manager),
            confirms: run.confirms(),
            recorder: Recorder::from_reconcile(run),
            adopt: false,
            upserted: Arc::default(),
        }
    }

    fn declare(declaration: &mut Declaration) {
        declaration.uses.children = true;
        declaration.uses.events = true;
    }
}

impl fmt::Debug for Children {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Children")
            .field("owner", &self.owner)
            .field("adopt", &self.adopt)
            .finish_non_exhaustive()
    }
}
