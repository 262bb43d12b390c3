//! Whose fields are whose: server-side apply and `metadata.managedFields` (KEP-555), wired into the
//! request path.

use std::sync::Arc;

use serde_json::Value;

use super::WriteOptions;
use super::configuration::Configuration;
use super::decode::{Expected, shape};
use super::scale::{expected as scale_kind, scale_of};
use super::update::Tracked;
use crate::call::{Answer, Session};
use crate::object::{meta_mut, meta_str};
use crate::patch::apply::{self, ApplyError, Manager, ResetFields, Target, Versions};
use crate::patch::typed::{self, Schema};
use crate::registry::{Registry, Resource, convert};
use crate::status::ApiError;
use crate::view;

/// The versions of a resource's kind.
struct KindVersions<'a> {
    resource: &'a Resource,
    registry: &'a Registry,
}

impl KindVersions<'_> {
    /// The resource in another version: of the same store, which may be that of two groups.
    fn view(&self, api_version: &str) -> Option<&Arc<Resource>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let view = self.registry.get(group, version, &self.resource.plural)?;
        (view.collection == self.resource.collection).then_some(view)
    }
}

impl Versions for KindVersions<'_> {
    fn schema(&self, api_version: &str) -> Option<Schema> {
        if let Some(custom) = &self.resource.custom {
            let (group, version) = api_version.split_once('/')?;
            let schema = || custom.typed.get(version).cloned();
            return (group == self.resource.group).then(schema).flatten();
        }
        let view = self.view(api_version)?;
        typed::builtin(&view.group, &view.version, &view.kind)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Value {
        let mut object = object.clone();
        let from = self.view(object["apiVersion"].as_str().unwrap_or_default());
        if let (Some(from), Some(to)) = (from, self.view(api_version)) {
            convert::to_storage(from, &mut object);
            convert::from_storage(to, &mut object);
        }
        object["apiVersion"] = api_version.into();
        object
    }
}

/// The one version of `Scale`.
struct ScaleVersions;

impl Versions for ScaleVersions {
    fn schema(&self, api_version: &str) -> Option<Schema> {
        (api_version == "autoscaling/v1")
            .then(|| typed::builtin("autoscaling", "v1", "Scale"))
            .flatten()
    }
}

impl From<ApplyError> for ApiError {
    fn from(error: ApplyError) -> Self {
        let mut refusal = Self::new(error.code(), error.reason(), error.to_string());
        let causes = error.causes();
        if !causes.is_empty() {
            refusal.details.get_or_insert_default().causes = causes;
        }
        refusal
    }
}

impl Session<'_> {
    /// PATCH with an applied configuration.
    pub(super) fn apply(&mut self, options: &WriteOptions) -> Result<Answer, ApiError> {
        let configuration = Configuration::parse(&self.call.body)?;
        let applied = &configuration.value;
        let resource = self.resource();
        let existing = self.existing();
        if existing.is_none() && !self.call.target.subresource.is_empty() {
            return Err(ApiError::not_found(&resource.named(), &self.call.target.name));
        }
        let live = existing.as_ref().map(|stored| view::value(resource, stored));
        let now = self.state.clock.now();
        let mut object = self.with_target(options, |target, manager| {
            apply::apply(target, live.as_ref(), applied, manager, options.force, now)
        })?;
        self.complain(options, configuration.complaints(options)?);
        carry_preconditions(applied, live.as_ref(), &mut object);
        self.check_name(&object)?;
        self.check_namespace(&object)?;
        view::name(resource, &mut object);
        let decoded = shape(resource, object).map_err(ApiError::internal)?;
        let object = decoded.object;
        match existing {
            Some(existing) => self.replace(&existing, object, options, Tracked::Already),
            None => self.apply_new(object, options),
        }
    }

    /// An apply to a name that is not there creates the object.
    fn apply_new(&mut self, mut object: Value, options: &WriteOptions) -> Result<Answer, ApiError> {
        let resource = self.resource();
        let uid = meta_str(&object, "uid");
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(ApiError::conflict(
                &resource.named(),
                &self.call.target.name,
                &why,
            ));
        }
        meta_mut(&mut object).remove("resourceVersion");
        self.create_object(object, options, Tracked::Already)
    }

    /// Calls with what a write through this endpoint is, and who does it.
    fn with_target<T>(&self, options: &WriteOptions, call: impl FnOnce(&Target<'_>, &Manager<'_>) -> T) -> T {
        let resource = self.resource();
        let kind = if resource.is_custom() { "" } else { &*resource.kind };
        let subresource = &*self.call.target.subresource;
        let reset = ResetFields::endpoint(kind, subresource, resource.has_status());
        let target = Target {
            kind: &resource.kind,
            versions: &KindVersions {
                resource,
                registry: &self.state.registry,
            },
            reset: &reset,
            builtin: !resource.is_custom(),
        };
        let manager = Manager {
            name: &options.manager,
            subresource,
            api_version: &resource.api_version(),
        };
        call(&target, &manager)
    }

    /// Attributes the fields of a new object to its creator, and changed ones to who changed them.
    pub(super) fn track(&self, old: Option<&Value>, new: &mut Value, options: &WriteOptions) {
        let now = self.state.clock.now();
        view::name(self.resource(), new);
        self.with_target(options, |target, manager| {
            apply::track_update(target, old, new, manager, now);
        });
    }

    /// PATCH of a Scale with an applied configuration.
    pub(super) fn applied_scale(
        &mut self,
        object: &Value,
        options: &WriteOptions,
    ) -> Result<Value, ApiError> {
        let configuration = Configuration::parse(&self.call.body)?;
        let applied = &configuration.value;
        let resource = self.resource();
        let mut live = scale_of(resource, object, false)?;
        self.own_scale(object, &mut live);
        let now = self.state.clock.now();
        let mut scale = self.with_scale(options, |target, manager| {
            apply::apply(target, Some(&live), applied, manager, options.force, now)
        })?;
        self.complain(options, configuration.complaints(options)?);
        self.check_name(&scale)?;
        carry_preconditions(applied, None, &mut scale);
        Ok(scale)
    }

    /// Attributes the number of a Scale to who wrote it.
    pub(super) fn track_scale(
        &self,
        object: &Value,
        scale: &mut Value,
        options: &WriteOptions,
    ) -> Result<(), ApiError> {
        let mut old = scale_of(self.resource(), object, false)?;
        self.own_scale(object, &mut old);
        if scale["metadata"]["managedFields"].is_null() {
            self.own_scale(object, scale);
        }
        let now = self.state.clock.now();
        self.with_scale(options, |target, manager| {
            apply::track_update(target, Some(&old), scale, manager, now);
        });
        Ok(())
    }

    /// Carries the ownership of a Scale into its object.
    pub(super) fn disown_scale(&self, object: &mut Value, scale: &Value) {
        let resource = self.resource();
        let path = super::scale::paths(resource).spec_replicas;
        let path: Vec<&str> = path.split('.').collect();
        apply::scale::to_parent(object, scale, &resource.api_version(), &path);
    }

    fn own_scale(&self, object: &Value, scale: &mut Value) {
        let path = super::scale::paths(self.resource()).spec_replicas;
        let path: Vec<&str> = path.split('.').collect();
        if let Some(owners) = apply::scale::to_scale(object, &path) {
            meta_mut(scale).insert("managedFields".into(), owners);
        }
    }

    fn with_scale<T>(&self, options: &WriteOptions, call: impl FnOnce(&Target<'_>, &Manager<'_>) -> T) -> T {
        let reset = ResetFields::none();
        let kind: Expected = scale_kind();
        let target = Target {
            kind: &kind.kind,
            versions: &ScaleVersions,
            reset: &reset,
            builtin: true,
        };
        let manager = Manager {
            name: &options.manager,
            subresource: &self.call.target.subresource,
            api_version: &kind.api_version(),
        };
        call(&target, &manager)
    }
}

/// The resourceVersion and uid of a configuration are preconditions; the rest of the system's
/// fields is the live object's.
fn carry_preconditions(applied: &Value, live: Option<&Value>, object: &mut Value) {
    for field in ["resourceVersion", "uid"] {
        let given = meta_str(applied, field);
        let value = if given.is_empty() {
            live.map(|live| meta_str(live, field).to_owned())
        } else {
            Some(given.to_owned())
        };
        let metadata = meta_mut(object);
        match value {
            Some(value) => metadata.insert(field.to_owned(), value.into()),
            None => metadata.remove(field),
        };
    }
}
