//! Admission by the rights of who writes.
//!
//! A write that makes an object needs the verb `create`, however it came. One of a role or binding
//! may not grant what the writer does not have. One that sets owner references may need more, where
//! that admission is on. Admission that would have to call others is refused where it is set up.

use serde_json::Value;

use crate::access::{Attributes, Escalation, Mapping, OwnedWrite, PolicyWrite, RBAC_GROUP, ResourceTarget};
use crate::call::{Session, Verb};
use crate::object::meta_str;
use crate::rights::Right;
use crate::status::ApiError;

impl Session<'_> {
    /// Webhooks and admission policies are not called, so there may be none.
    pub(super) fn admit_kind(&self) -> Result<(), ApiError> {
        let resource = self.resource();
        if resource.group == "admissionregistration.k8s.io" && !resource.is_custom() {
            let what = format!(
                "{}: it calls no admission webhooks and evaluates no admission policies",
                resource.named()
            );
            return Err(ApiError::not_supported(what));
        }
        Ok(())
    }

    /// PUT and apply to a name that is not there make an object, and need the right to.
    pub(super) fn admit_creation(&mut self) -> Result<(), ApiError> {
        if self.call.verb == Verb::Create {
            return Ok(());
        }
        let attributes = Attributes::resource("create", self.access_target());
        self.also.extend(Right::of(&attributes));
        Ok(self.state.guard.policy.check(&self.call.user, &attributes)?)
    }

    /// Nobody grants what he does not have.
    pub(super) fn admit_grants(&self, old: Option<&Value>, new: &Value) -> Result<(), ApiError> {
        let target = &self.call.target;
        if target.resource.group != RBAC_GROUP {
            return Ok(());
        }
        let write = PolicyWrite {
            user: &self.call.user,
            resource: &target.resource.plural,
            namespace: &target.namespace,
            old,
            new,
        };
        let named = target.resource.named();
        write
            .check(&self.state.guard.policy)
            .map_err(|escalation| match escalation {
                Escalation::Forbidden(why) => ApiError::forbidden(&named, meta_str(new, "name"), &why),
                Escalation::MissingRole(role) => ApiError::not_found(&named, &role),
            })
    }

    /// `OwnerReferencesPermissionEnforcement`, where it is on.
    pub(super) fn admit_owners(&mut self, old: Option<&Value>, new: &Value) -> Result<(), ApiError> {
        if !self.state.guard.owner_references || !self.call.target.subresource.is_empty() {
            return Ok(());
        }
        let name = meta_str(new, "name");
        let target = ResourceTarget {
            name: name.to_owned(),
            ..self.access_target()
        };
        let write = OwnedWrite {
            user: &self.call.user,
            target: &target,
            old,
            new,
        };
        let mut also = Vec::new();
        let allowed = |attributes: &Attributes| {
            also.extend(Right::of(attributes));
            let policy = &self.state.guard.policy;
            policy.authorize(&self.call.user, attributes).is_allowed()
        };
        let checked = write.check(allowed, |version, kind| self.mapping(version, kind));
        self.also.append(&mut also);
        checked.map_err(|why| ApiError::forbidden(&self.resource().named(), name, &why))
    }

    fn access_target(&self) -> ResourceTarget {
        let target = &self.call.target;
        ResourceTarget {
            group: target.resource.group.clone(),
            version: target.resource.version.clone(),
            resource: target.resource.plural.clone(),
            subresource: target.subresource.clone(),
            namespace: target.namespace.clone(),
            name: target.name.clone(),
        }
    }

    fn mapping(&self, api_version: &str, kind: &str) -> Option<Mapping> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = self.state.registry.by_kind(group, version, kind)?;
        Some(Mapping {
            group: resource.group.clone(),
            resource: resource.plural.clone(),
            namespaced: resource.namespaced,
        })
    }
}
