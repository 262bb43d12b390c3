//! GET of one object.

use std::sync::Arc;

use super::revision;
use crate::call::{Answer, Session};
use crate::status::ApiError;
use crate::storage::Stored;

impl Session<'_> {
    /// GET on an object or its status.
    pub(crate) fn get(&mut self) -> Result<Answer, ApiError> {
        let text = self.call.query.text("resourceVersion");
        let asked = revision::parse(text).map_err(|why| ApiError::internal(revision::problem(text, &why)))?;
        if asked > self.state.store.revision() {
            return Ok(Answer::NotYet { revision: asked });
        }
        let Some(stored) = self.shown() else {
            return Err(ApiError::not_found(
                &self.resource().named(),
                &self.call.target.name,
            ));
        };
        Ok(Answer::Stored { code: 200, stored })
    }

    /// The object in the state that is shown.
    fn shown(&self) -> Option<Arc<Stored>> {
        if self.lag.is_none() {
            return self.existing();
        }
        let target = &self.call.target;
        let key = target.resource.key(&target.namespace, &target.name);
        let revision = self.shown_revision();
        let past = self
            .state
            .store
            .at(&target.resource.collection, &key, revision)
            .ok()?;
        past.get(&*key).cloned()
    }
}
