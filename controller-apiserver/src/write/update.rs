//! PUT, and the part of a patch that follows once the new object is known.
//!
//! Source: API conventions, "Concurrency Control and Consistency": a write that carries a
//! resourceVersion succeeds only on that very version.

use std::sync::Arc;

use serde_json::Value;

use super::{WriteOptions, generation, metadata, status, strategy};
use crate::call::{Answer, Session};
use crate::object::{is_terminating, meta_list, meta_mut, meta_str};
use crate::patch::apply;
use crate::status::{ApiError, Cause};
use crate::storage::Stored;
use crate::view;

/// Whether the ownership of fields is settled already, as after an apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracked {
    Already,
    Not,
}

impl Session<'_> {
    /// PUT on an object or its status.
    pub(crate) fn update(&mut self) -> Result<Answer, ApiError> {
        let options = WriteOptions::of(self.call, false)?;
        let object = self.decode(&options)?;
        self.check_name(&object)?;
        self.check_namespace(&object)?;
        let resource = self.resource();
        let Some(existing) = self.existing() else {
            if resource.rules.put_creates && self.call.target.subresource.is_empty() {
                return self.put_new(object, &options);
            }
            return Err(ApiError::not_found(&resource.named(), &self.call.target.name));
        };
        self.check_uid(&existing, &object)?;
        self.replace(&existing, object, &options, Tracked::Not)
    }

    /// PUT to a name that is not there, for kinds that allow it.
    fn put_new(&mut self, mut object: Value, options: &WriteOptions) -> Result<Answer, ApiError> {
        let resource = self.resource();
        let uid = meta_str(&object, "uid");
        if !uid.is_empty() {
            return Err(ApiError::conflict(
                &resource.named(),
                &self.call.target.name,
                &format!("Precondition failed: UID in precondition: {uid}, UID in object meta: "),
            ));
        }
        meta_mut(&mut object).remove("resourceVersion");
        self.create_object(object, options, Tracked::Not)
    }

    /// The name in a body must be the one of the path.
    pub(super) fn check_name(&self, object: &Value) -> Result<(), ApiError> {
        let name = meta_str(object, "name");
        let url = &self.call.target.name;
        if name.is_empty() {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({url} based on URL) was undeterminable: name must be provided"
            )));
        }
        if name != url {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({url})"
            )));
        }
        Ok(())
    }

    fn check_uid(&self, existing: &Stored, object: &Value) -> Result<(), ApiError> {
        let uid = meta_str(object, "uid");
        if uid.is_empty() || uid == &*existing.uid {
            return Ok(());
        }
        let resource = self.resource();
        let target = &self.call.target;
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            resource.collection,
            resource.key(&target.namespace, &target.name),
            existing.uid
        );
        Err(ApiError::conflict(&resource.named(), &target.name, &why))
    }

    /// Checks the resourceVersion of a new object against the stored one.
    fn check_revision(&self, existing: &Stored, object: &Value) -> Result<(), ApiError> {
        let resource = self.resource();
        let name = &self.call.target.name;
        let given = meta_str(object, "resourceVersion");
        let revision = if given.is_empty() {
            0
        } else {
            given.parse::<u64>().map_err(|_| {
                ApiError::internal(format!("strconv.ParseUint: parsing {given:?}: invalid syntax"))
            })?
        };
        if revision == 0 {
            if resource.rules.needs_version {
                let cause = Cause::invalid(
                    "metadata.resourceVersion",
                    &0.into(),
                    "must be specified for an update",
                );
                return Err(ApiError::invalid(&resource.named(), name, vec![cause]));
            }
        } else if revision != existing.revision {
            return Err(ApiError::modified(&resource.named(), name));
        }
        Ok(())
    }

    /// Replaces a stored object by a decoded one, by all the rules.
    pub(super) fn replace(
        &mut self,
        existing: &Arc<Stored>,
        mut new: Value,
        options: &WriteOptions,
        tracked: Tracked,
    ) -> Result<Answer, ApiError> {
        self.check_revision(existing, &new)?;
        let resource = self.resource();
        let old = view::value(resource, existing);
        if tracked == Tracked::Not {
            self.track(Some(&old), &mut new, options);
        }
        let through_status = !self.call.target.subresource.is_empty();
        metadata::inherit(&old, &mut new);
        if through_status {
            status::prepare(resource, &self.call.target.subresource, &old, &mut new);
        } else {
            strategy::prepare_update(resource, &old, &mut new);
        }
        if let Some(custom) = &resource.custom {
            custom.storage_schema.default(&mut new);
        }
        metadata::tidy(&mut new);
        if self.call.target.subresource != "status" {
            generation::advance(resource, &old, &mut new);
        }
        self.admit_grants(Some(&old), &new)?;
        self.validate_change(&old, &new)?;
        if !through_status {
            self.allocate(Some(&old), &mut new)?;
        }
        self.admit_owners(Some(&old), &new)?;
        self.warnings.extend(metadata::warnings(resource, &new));
        self.warnings.extend(strategy::warnings(resource, &new));
        view::name(resource, &mut new);
        apply::keep_times(&old, &mut new);
        Ok(self.commit_change(existing, &old, new, options))
    }

    fn validate_change(&mut self, old: &Value, new: &Value) -> Result<(), ApiError> {
        let resource = self.resource();
        let mut causes = metadata::validate_update(resource, old, new);
        let review = if self.call.target.subresource == "status" {
            strategy::review_status(resource, new, old)
        } else {
            strategy::review(resource, new, Some(old))
        };
        causes.extend(review.causes);
        if causes.is_empty() {
            let unchanged = review.warnings.iter();
            self.warnings
                .extend(unchanged.map(|cause| format!("{}: {}", cause.field, cause.message)));
            return Ok(());
        }
        Err(ApiError::invalid(
            &resource.named_kind(),
            meta_str(new, "name"),
            causes,
        ))
    }

    /// Stores a changed object; nothing is written if nothing changed, and an object that was only
    /// held by its finalizers goes with the last of them.
    pub(super) fn commit_change(
        &mut self,
        existing: &Arc<Stored>,
        old: &Value,
        mut new: Value,
        options: &WriteOptions,
    ) -> Answer {
        let resource = self.resource();
        meta_mut(&mut new).insert("resourceVersion".into(), existing.revision.to_string().into());
        view::name(resource, &mut new);
        let target = &self.call.target;
        let key = resource.key(&target.namespace, meta_str(&new, "name"));
        let served = |object: Value| Answer::value(200, object);
        if released(&new) && !self.holds_namespace(&new) {
            if !options.dry_run {
                self.state.remove(&resource.collection, &key);
            }
            return served(new);
        }
        let same = {
            let mut old = old.clone();
            view::name(resource, &mut old);
            metadata::tidy(&mut old);
            old == new && self.is_stored_in_present_version(existing)
        };
        if same {
            return Answer::Stored {
                code: 200,
                stored: Arc::clone(existing),
            };
        }
        if options.dry_run {
            return served(new);
        }
        let stored = self.state.put(resource, &key, new);
        Answer::Stored { code: 200, stored }
    }

    /// The object was written under the storage version of today; otherwise even a write without a
    /// change stores it anew, once.
    fn is_stored_in_present_version(&self, existing: &Stored) -> bool {
        match &self.resource().custom {
            Some(custom) => existing.stamp >= custom.storage_since,
            None => true,
        }
    }

    /// A namespace goes by its own finalizers in `spec`.
    fn holds_namespace(&self, object: &Value) -> bool {
        self.resource().is("", "namespaces")
            && object["spec"]["finalizers"]
                .as_array()
                .is_some_and(|list| !list.is_empty())
    }
}

/// The object is being deleted, nothing holds it, and no grace period is left.
fn released(object: &Value) -> bool {
    is_terminating(object)
        && meta_list(object, "finalizers").is_empty()
        && crate::object::at(object, "metadata.deletionGracePeriodSeconds")
            .and_then(Value::as_i64)
            .unwrap_or_default()
            == 0
}
