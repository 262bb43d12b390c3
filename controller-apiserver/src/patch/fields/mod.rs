//! Paths of fields, and sets of them: what a manager owns.
//!
//! A [`Set`] is written as `FieldsV1` in `metadata.managedFields` (KEP-555): `f:` is a field, `k:` an
//! element of a list by its keys, `v:` an element of a set, `i:` one by its index, `.` the node itself.

mod element;
mod encode;
mod set;

pub(crate) use element::{Element, equal};
pub(crate) use set::Set;

/// Writes a path as it stands in conflicts: `.spec.ports[port=80,protocol="TCP"].name`.
pub(crate) fn path_text(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests;
