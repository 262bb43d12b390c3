//! Fields that an endpoint does not take: nobody comes to own them through it.

use crate::patch::fields::Set;

/// The fields that one endpoint resets: `status` for an object with a status endpoint, `spec` and
/// some metadata for that endpoint.
#[derive(Clone, Debug, Default)]
pub struct ResetFields(Set);

impl ResetFields {
    /// Of no field.
    pub fn none() -> Self {
        Self::default()
    }

    /// Of these paths, such as `["status"]` or `["metadata", "labels"]`.
    pub fn of<'a, P>(paths: impl IntoIterator<Item = P>) -> Self
    where
        P: IntoIterator<Item = &'a str>,
    {
        Self(Set::of(paths))
    }

    /// Of a kind's endpoint, as Kubernetes' own strategies say. `kind` is that of a built-in object
    /// or empty; `has_status` says whether there is a status endpoint.
    pub fn endpoint(kind: &str, subresource: &str, has_status: bool) -> Self {
        let paths: &[&[&str]] = match (subresource, kind) {
            ("", _) if has_status => &[&["status"]],
            ("status", "Deployment") => &[&["spec"], &["metadata", "labels"]],
            ("status", "Pod") => &[
                &["spec"],
                &["metadata", "deletionTimestamp"],
                &["metadata", "ownerReferences"],
            ],
            ("status", "CustomResourceDefinition") => &[&["metadata"], &["spec"]],
            ("status", _) => &[&["spec"]],
            _ => &[],
        };
        Self::of(paths.iter().map(|path| path.iter().copied()))
    }

    pub(super) fn set(&self) -> &Set {
        &self.0
    }
}
