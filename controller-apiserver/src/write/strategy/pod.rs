//! Admission of Pods.

use serde_json::Value;

use crate::builtin;
use crate::call::Session;
use crate::object::meta_str;
use crate::status::ApiError;

impl Session<'_> {
    /// Gives a new Pod its service account, and what every Pod gets.
    pub(in crate::write) fn admit_pod(&mut self, object: &mut Value) -> Result<(), ApiError> {
        let resource = self.resource();
        if !resource.is("", "pods") {
            return Ok(());
        }
        if self.state.accounts {
            let namespace = &self.call.target.namespace;
            let name = builtin::account_of(object);
            let Some(account) = self
                .state
                .store
                .get("serviceaccounts", &format!("{namespace}/{name}"))
            else {
                let why = format!(
                    "error looking up service account {namespace}/{name}: serviceaccount {name:?} not found"
                );
                return Err(ApiError::forbidden(
                    &resource.named(),
                    meta_str(object, "name"),
                    &why,
                ));
            };
            let account = account.value();
            let volume = self.state.ids.name("kube-api-access-");
            builtin::attach(object, &account, &volume);
        }
        builtin::admit(object);
        Ok(())
    }
}
