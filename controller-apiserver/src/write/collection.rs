//! DELETE of a collection: every selected object is deleted by its own rules.

use super::delete::delete_stored;
use super::options::DeleteOptions;
use crate::call::{Answer, Session};
use crate::status::ApiError;

impl Session<'_> {
    /// DELETE on a collection: what a list with the same parameters shows, one page if there is a limit.
    /// The answer is that list, as it was before.
    pub(crate) fn delete_collection(&mut self) -> Result<Answer, ApiError> {
        let resource = self.resource();
        let options = DeleteOptions::of(self.call)?;
        let listed = self.list()?;
        let Answer::List { items, .. } = &listed else {
            return Ok(listed);
        };
        for listed in items {
            let (namespace, name) = listed.place();
            let Some(object) = self.state.get(resource, &namespace, &name) else {
                continue;
            };
            let key = resource.key(&namespace, &name);
            delete_stored(self.state, resource, &key, &object, &options, &mut self.warnings)?;
        }
        Ok(listed)
    }
}
