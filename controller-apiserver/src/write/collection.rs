//! DELETE of a collection: every selected object is deleted by its own rules.

use super::delete::delete_stored;
use super::options::DeleteOptions;
use crate::call::{Answer, Session};
use crate::select::Selection;
use crate::status::ApiError;
use crate::view::ListMeta;

impl Session<'_> {
    /// DELETE on a collection; the answer is the list as it was before.
    pub(crate) fn delete_collection(&mut self) -> Result<Answer, ApiError> {
        let resource = self.resource();
        let query = &self.call.query;
        let options = DeleteOptions::of(self.call)?;
        let selection = Selection::parse(query.text("labelSelector"), query.text("fieldSelector"), resource)?;
        let prefix = resource.prefix(&self.call.target.namespace);
        let selected: Vec<_> = self
            .state
            .store
            .scan(&resource.collection, &prefix)
            .filter(|(key, object)| selection.matches(key, object))
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect();
        let meta = ListMeta {
            revision: self.state.store.revision(),
            ..ListMeta::default()
        };
        for (key, object) in &selected {
            delete_stored(self.state, resource, key, object, &options, &mut self.warnings)?;
        }
        let items = selected.into_iter().map(|(_, object)| object).collect();
        Ok(Answer::List { meta, items })
    }
}
