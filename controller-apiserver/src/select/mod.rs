//! Label and field selectors.

mod field;
mod label;

pub(crate) use field::FieldSelector;
pub(crate) use label::LabelSelector;

use crate::registry::Resource;
use crate::status::ApiError;
use crate::storage::Stored;

/// Which objects of a collection a request is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    /// Reads both selectors of a request.
    pub(crate) fn parse(labels: &str, fields: &str, resource: &Resource) -> Result<Self, ApiError> {
        Ok(Self {
            labels: LabelSelector::parse(labels).map_err(ApiError::bad_request)?,
            fields: FieldSelector::parse(fields, resource).map_err(ApiError::bad_request)?,
        })
    }

    /// Everything is selected.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// The object stored under `key` is selected.
    pub(crate) fn matches(&self, key: &str, object: &Stored) -> bool {
        self.labels.matches(|key| object.label(key)) && self.fields.matches(key, object)
    }
}
