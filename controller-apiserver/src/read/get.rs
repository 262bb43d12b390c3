//! GET of one object.

use super::revision;
use crate::call::{Answer, Session};
use crate::status::ApiError;

impl Session<'_> {
    /// GET on an object or its status.
    pub(crate) fn get(&mut self) -> Result<Answer, ApiError> {
        let text = self.call.query.text("resourceVersion");
        let asked = revision::parse(text).map_err(|why| ApiError::internal(revision::problem(text, &why)))?;
        if asked > self.state.store.revision() {
            return Ok(Answer::NotYet { revision: asked });
        }
        let Some(stored) = self.existing() else {
            return Err(ApiError::not_found(
                &self.resource().named(),
                &self.call.target.name,
            ));
        };
        Ok(Answer::Stored { code: 200, stored })
    }
}
