//! POST, and the other ways in which an object comes to be.

use serde_json::Value;

use super::update::Tracked;
use super::{WriteOptions, generation, metadata, strategy};
use crate::call::{Answer, Session};
use crate::object::{is_terminating, meta_mut, meta_str};
use crate::status::{ApiError, Cause, Named};

impl Session<'_> {
    /// POST on a collection.
    pub(crate) fn create(&mut self) -> Result<Answer, ApiError> {
        let options = WriteOptions::of(self.call, false)?;
        let object = self.decode(&options)?;
        self.check_namespace(&object)?;
        self.create_object(object, &options, Tracked::Not)
    }

    /// Creates a decoded object in the namespace of the request.
    pub(super) fn create_object(
        &mut self,
        mut object: Value,
        options: &WriteOptions,
        tracked: Tracked,
    ) -> Result<Answer, ApiError> {
        let resource = self.resource();
        self.admit_namespace(&object)?;
        self.admit_definition(&object)?;
        self.admit_kind()?;
        if tracked == Tracked::Not {
            self.track(None, &mut object, options);
        }
        let generated = self.fill_in(&mut object);
        self.admit_pod(&mut object)?;
        strategy::prepare_create(resource, &mut object);
        if let Some(custom) = &resource.custom {
            custom.storage_schema.default(&mut object);
        }
        generation::start(resource, &mut object);
        metadata::tidy(&mut object);
        self.admit_grants(None, &object)?;
        self.validate_new(&object)?;
        self.allocate(None, &mut object)?;
        self.admit_creation()?;
        self.admit_owners(None, &object)?;
        self.warnings.extend(metadata::warnings(resource, &object));
        self.warnings.extend(strategy::warnings(resource, &object));
        if let Some(revision) = meta_str(&object, "resourceVersion").parse::<u64>().ok()
            && revision != 0
        {
            return Err(ApiError::internal(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        meta_mut(&mut object).remove("resourceVersion");
        let name = meta_str(&object, "name").to_owned();
        let key = resource.key(&self.call.target.namespace, &name);
        if let Some(existing) = self.state.store.get(&resource.collection, &key) {
            return Err(already_exists(
                &resource.named(),
                &name,
                is_terminating(&existing.value()),
                generated,
            ));
        }
        if options.dry_run {
            crate::view::name(resource, &mut object);
            return Ok(Answer::value(201, object));
        }
        let stored = self.state.put(resource, &key, object);
        Ok(Answer::Stored { code: 201, stored })
    }

    /// The namespace of a body must be the one of the path.
    pub(super) fn check_namespace(&self, object: &Value) -> Result<(), ApiError> {
        let given = meta_str(object, "namespace");
        let resource = self.resource();
        let mismatch = !given.is_empty() && given != self.call.target.namespace;
        if mismatch && (resource.namespaced || !resource.is_custom()) {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        Ok(())
    }

    /// Nothing is created in a namespace that is not there, or is going (`NamespaceLifecycle`).
    fn admit_namespace(&self, object: &Value) -> Result<(), ApiError> {
        let resource = self.resource();
        let namespace = &self.call.target.namespace;
        if !resource.namespaced {
            return Ok(());
        }
        let Some(stored) = self.state.store.get("namespaces", namespace) else {
            return Err(ApiError::not_found(&Named::new("", "namespaces"), namespace));
        };
        // Namespaces are few and small next to what is created in them, so looking inside is cheap.
        if !is_terminating(&stored.value()) {
            return Ok(());
        }
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut error = ApiError::forbidden(&resource.named(), meta_str(object, "name"), &why);
        error.details.get_or_insert_default().causes = vec![Cause::new(
            "NamespaceTerminating",
            "metadata.namespace",
            format!("namespace {namespace} is being terminated"),
        )];
        Err(error)
    }

    fn admit_definition(&self, object: &Value) -> Result<(), ApiError> {
        let resource = self.resource();
        if resource.custom.as_ref().is_some_and(|custom| custom.terminating) {
            return Err(ApiError::forbidden(
                &resource.named(),
                meta_str(object, "name"),
                "create not allowed while custom resource definition is terminating",
            ));
        }
        Ok(())
    }

    /// Sets what only the server sets; tells whether the name was generated.
    fn fill_in(&mut self, object: &mut Value) -> bool {
        metadata::reset(object);
        let now = self.state.now();
        let resource = self.resource();
        let prefix = meta_str(object, "generateName").to_owned();
        let generate = meta_str(object, "name").is_empty() && !prefix.is_empty();
        let uid = self.state.ids.uid();
        let name = generate.then(|| self.state.ids.name(&prefix));
        let metadata = meta_mut(object);
        metadata.insert("uid".into(), uid.into());
        metadata.insert("creationTimestamp".into(), now.into());
        if resource.namespaced {
            metadata.insert("namespace".into(), self.call.target.namespace.clone().into());
        } else {
            metadata.remove("namespace");
        }
        if let Some(name) = name {
            metadata.insert("name".into(), name.into());
        }
        !prefix.is_empty()
    }

    fn validate_new(&mut self, object: &Value) -> Result<(), ApiError> {
        let resource = self.resource();
        let mut causes = metadata::validate(resource, object);
        causes.extend(strategy::review(resource, object, None).causes);
        if causes.is_empty() {
            return Ok(());
        }
        Err(ApiError::invalid(
            &resource.named_kind(),
            meta_str(object, "name"),
            causes,
        ))
    }
}

/// With a `generateName` a client should simply try again.
fn already_exists(resource: &Named, name: &str, terminating: bool, generated: bool) -> ApiError {
    let mut error = ApiError::already_exists(resource, name);
    if generated {
        error.message = format!(
            "{resource} {name:?} already exists, the server was not able to generate a unique name for the object"
        );
        error = error.retry_after(1);
    }
    if terminating {
        error.message = format!("object is being deleted: {}", error.message);
    }
    error
}
