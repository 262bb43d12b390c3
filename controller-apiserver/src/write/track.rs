//! Whose fields are whose: server-side apply and `metadata.managedFields` (KEP-555).

use serde_json::Value;

use super::WriteOptions;
use crate::call::{Answer, Session};
use crate::object::meta_mut;
use crate::status::ApiError;

impl Session<'_> {
    /// PATCH with an applied configuration.
    #[expect(
        clippy::unused_self,
        clippy::needless_pass_by_ref_mut,
        reason = "wired in when apply lands"
    )]
    pub(super) fn apply(&mut self, _options: &WriteOptions) -> Result<Answer, ApiError> {
        Err(ApiError::not_supported("server-side apply"))
    }

    /// PATCH of a Scale with an applied configuration.
    #[expect(
        clippy::unused_self,
        clippy::needless_pass_by_ref_mut,
        reason = "wired in when apply lands"
    )]
    pub(super) fn apply_scale(&mut self, _options: &WriteOptions) -> Result<Answer, ApiError> {
        Err(ApiError::not_supported("server-side apply"))
    }

    /// Attributes the fields of a new object to its creator.
    #[expect(clippy::unused_self, reason = "wired in when tracking lands")]
    pub(super) fn track_create(&self, object: &mut Value, _options: &WriteOptions) {
        meta_mut(object).remove("managedFields");
    }

    /// Attributes changed fields to who changed them.
    #[expect(clippy::unused_self, reason = "wired in when tracking lands")]
    pub(super) fn track_update(&self, _old: &Value, new: &mut Value, _options: &WriteOptions) {
        meta_mut(new).remove("managedFields");
    }
}
