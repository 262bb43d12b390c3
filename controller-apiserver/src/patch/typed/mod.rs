//! Typed schemas: what the fields of a kind are, and how its lists and maps merge.
//!
//! One resolved view serves server-side apply, strategic merge, unknown-field warnings and the
//! empty form of built-in objects. It is made from the `OpenAPI` v3 data of the built-in kinds (parsed
//! once per group version, on first use) and from the structural schemas of custom resources.
//! Markers: `x-kubernetes-list-type`, `-list-map-keys`, `-map-type`, `-patch-strategy`,
//! `-patch-merge-key`, `-preserve-unknown-fields` (KEP-555).
//!
//! Not promised: validation. A typed schema knows types, not patterns, enums or limits.

mod builtin;
mod convert;
mod form;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

pub use builtin::{builtin, document};

/// The schema of one kind in one version. Cheap to clone.
#[derive(Clone)]
pub struct Schema {
    types: Arc<Vec<Type>>,
    root: TypeId,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = self.root().map.as_ref().map(|map| map.fields.keys());
        f.debug_struct("Schema").field("fields", &fields).finish()
    }
}

impl Schema {
    /// The schema of a custom resource, from the `openAPIV3Schema` of one of its versions.
    ///
    /// `metadata` is an `ObjectMeta` whatever the schema says of it. What cannot be understood is
    /// taken as untyped: whether a schema may be used is decided elsewhere.
    pub fn custom(open_api_v3_schema: &Value) -> Self {
        convert::custom(open_api_v3_schema)
    }

    /// A schema without types: every field is known, lists are atomic.
    pub fn untyped() -> Self {
        let types = convert::Converter::new(&Value::Null, false);
        let root = types.deduced();
        types.finish(root)
    }

    pub(crate) fn root(&self) -> &Type {
        self.get(self.root)
    }

    pub(crate) fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0]
    }
}

/// Where a type lies in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(usize);

/// The forms a value of this type may have. Mostly one; several for untyped values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Type {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<List>,
    pub(crate) map: Option<Map>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// Integers and floats.
    Numeric,
    /// Text, also base64.
    String,
    /// `true` and `false`.
    Boolean,
    /// Any of them: quantities, times, `IntOrString`.
    Untyped,
}

#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) element: TypeId,
    pub(crate) kind: ListKind,
}

/// Whose the elements of a list are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// The list has one owner as a whole.
    Atomic,
    /// Each scalar is its own key.
    Set,
    /// Each element is an object, known by these fields.
    Map(Vec<String>),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    pub(crate) fields: BTreeMap<String, Field>,
    /// The type of what is no field; `None` where unknown fields are mistakes.
    pub(crate) element: Option<TypeId>,
    /// Whether the map has one owner as a whole.
    pub(crate) atomic: bool,
}

impl Map {
    /// The type of the member `key`.
    pub(crate) fn member(&self, key: &str) -> Option<TypeId> {
        self.fields.get(key).map(|field| field.ty).or(self.element)
    }
}

/// A declared member of a [`Map`].
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) ty: TypeId,
    /// The default, which counts where the field is a key of a list and absent.
    pub(crate) default: Option<Value>,
    /// What a built-in object holds in this field when nobody set it; `None`: nothing.
    pub(crate) zero: Option<Value>,
    pub(crate) patch: PatchStrategy,
}

/// How strategic merge treats a field (`x-kubernetes-patch-*`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatchStrategy {
    /// Lists are merged; otherwise they are replaced.
    pub(crate) merge: bool,
    /// Maps are replaced; otherwise they are merged.
    pub(crate) replace: bool,
    /// The field by which elements of a merged list are known.
    pub(crate) merge_key: Option<String>,
}

#[cfg(test)]
mod tests;
