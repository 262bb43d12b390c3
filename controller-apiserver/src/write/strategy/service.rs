//! Addresses and ports of Services.

use serde_json::Value;

use crate::builtin::{self, Taken};
use crate::call::Session;
use crate::object::meta_str;
use crate::status::ApiError;

impl Session<'_> {
    /// Gives a Service an address, and ports of nodes if it has such.
    pub(in crate::write) fn allocate(
        &mut self,
        old: Option<&Value>,
        object: &mut Value,
    ) -> Result<(), ApiError> {
        let resource = self.resource();
        if !resource.is("", "services") {
            return Ok(());
        }
        let own = resource.key(&self.call.target.namespace, meta_str(object, "name"));
        let mut taken = Taken::none(self.state.store.revision());
        let others = self
            .state
            .store
            .scan("services", "")
            .filter(|(key, _)| ***key != *own);
        if builtin::asks(object, old) {
            others.for_each(|(_, stored)| taken.note(&stored.value()));
        }
        builtin::allocate(object, &mut taken).map_err(|cause| {
            let name = meta_str(object, "name").to_owned();
            ApiError::invalid(&resource.named_kind(), &name, vec![cause])
        })
    }
}
