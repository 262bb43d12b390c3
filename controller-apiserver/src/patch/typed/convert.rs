//! From `OpenAPI` v3 schemas, with Kubernetes' extensions, to typed schemas.
//!
//! Follows the rules of the server's own conversion: an object without properties takes anything; a
//! list without a list type is atomic, unless an older patch strategy says that it merges;
//! `x-kubernetes-preserve-unknown-fields` holds for everything below.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map as Object, Value, json};

use super::{Field, List, ListKind, Map, PatchStrategy, Scalar, Schema, Type, TypeId, builtin};
use crate::codec;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// Types that are scalars on the wire although their schemas list alternatives.
const SCALARS: [&str; 2] = [
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
];
/// Deeper schemas are untyped below. A decoder with common limits reads no deeper ones.
const MAX_DEPTH: usize = 100;

pub(super) fn custom(schema: &Value) -> Schema {
    let core = builtin::document("", "v1").unwrap_or(&Value::Null);
    let mut converter = Converter::new(core, false);
    let root = converter.inline(schema, false, 0);
    converter.add_object_fields(root);
    converter.finish(root)
}

/// Collects types; named ones are converted once.
pub(super) struct Converter<'a> {
    definitions: &'a Value,
    types: Vec<Type>,
    named: BTreeMap<String, TypeId>,
    /// Whether defaults that only restate Go's zero values are told apart from real ones.
    builtin: bool,
}

impl<'a> Converter<'a> {
    /// `document` is an `OpenAPI` v3 document: where references point.
    pub(super) fn new(document: &'a Value, builtin: bool) -> Self {
        let definitions = &document["components"]["schemas"];
        Self {
            definitions,
            types: vec![
                // 0: anything, owned as a whole.
                Type {
                    scalar: Some(Scalar::Untyped),
                    list: Some(List {
                        element: ATOMIC,
                        kind: ListKind::Atomic,
                    }),
                    map: Some(Map {
                        element: Some(ATOMIC),
                        atomic: true,
                        ..Map::default()
                    }),
                },
                // 1: anything, maps merged.
                Type {
                    scalar: Some(Scalar::Untyped),
                    list: Some(List {
                        element: ATOMIC,
                        kind: ListKind::Atomic,
                    }),
                    map: Some(Map {
                        element: Some(DEDUCED),
                        ..Map::default()
                    }),
                },
            ],
            named: BTreeMap::new(),
            builtin,
        }
    }

    pub(super) fn finish(self, root: TypeId) -> Schema {
        Schema {
            types: Arc::new(self.types),
            root,
        }
    }

    /// Ends with no root of its own: the caller makes schemas from the parts.
    pub(super) fn into_parts(self) -> (Arc<Vec<Type>>, BTreeMap<String, TypeId>) {
        (Arc::new(self.types), self.named)
    }

    #[expect(clippy::unused_self, reason = "the identifier is of this converter's types")]
    pub(super) fn deduced(&self) -> TypeId {
        DEDUCED
    }

    /// The definition `name`; untyped if there is none.
    pub(super) fn named(&mut self, name: &str) -> TypeId {
        if let Some(id) = self.named.get(name) {
            return *id;
        }
        let Some(schema) = self.definitions.get(name) else {
            return ATOMIC;
        };
        // The place is taken first, as definitions refer to themselves.
        let id = self.push(Type::default());
        self.named.insert(name.to_owned(), id);
        self.types[id.0] = if SCALARS.contains(&name) {
            scalar(Scalar::Untyped)
        } else {
            self.convert(schema, false, 0)
        };
        if let Some(map) = self.types[id.0].map.as_mut().filter(|_| self.builtin) {
            for (field, nothing) in codec::typed::always(name) {
                if let Some(field) = map.fields.get_mut(field) {
                    field.zero = Some(nothing);
                }
            }
        }
        id
    }

    fn push(&mut self, ty: Type) -> TypeId {
        self.types.push(ty);
        TypeId(self.types.len() - 1)
    }

    /// The type of a schema that stands in a property, in `items` or in `additionalProperties`.
    fn inline(&mut self, schema: &Value, preserve: bool, depth: usize) -> TypeId {
        if depth > MAX_DEPTH {
            return ATOMIC;
        }
        if let Some(name) = reference(schema) {
            let id = self.named(name);
            return match map_type(schema) {
                Some(atomic) => self.with_map_type(id, atomic),
                None => id,
            };
        }
        let ty = self.convert(schema, preserve, depth);
        self.push(ty)
    }

    fn with_map_type(&mut self, id: TypeId, atomic: bool) -> TypeId {
        let mut ty = self.types[id.0].clone();
        if let Some(map) = &mut ty.map {
            map.atomic = atomic;
        }
        self.push(ty)
    }

    fn convert(&mut self, schema: &Value, preserve: bool, depth: usize) -> Type {
        let preserve = preserve || flag(schema, "x-kubernetes-preserve-unknown-fields");
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => self.object(schema, preserve, depth),
            Some("array") => self.array(schema, preserve, depth),
            Some("integer" | "number") => scalar(Scalar::Numeric),
            Some("boolean") => scalar(Scalar::Boolean),
            Some("string") => match schema.get("format").and_then(Value::as_str) {
                None | Some("" | "byte") => scalar(Scalar::String),
                Some(_) => scalar(Scalar::Untyped),
            },
            None if properties(schema).is_some_and(|fields| !fields.is_empty()) => {
                self.object(schema, preserve, depth)
            }
            None => self.types[DEDUCED.0].clone(),
            Some(_) => scalar(Scalar::Untyped),
        }
    }

    fn object(&mut self, schema: &Value, preserve: bool, depth: usize) -> Type {
        let mut map = Map {
            atomic: map_type(schema).unwrap_or(false),
            ..Map::default()
        };
        let required = schema.get("required").and_then(Value::as_array);
        for (name, member) in properties(schema).into_iter().flatten() {
            let ty = self.inline(member, preserve, depth + 1);
            let required = required.is_some_and(|names| names.iter().any(|n| n == name));
            let field = self.field(member, ty, required);
            map.fields.insert(name.clone(), field);
        }
        map.element = match schema.get("additionalProperties") {
            None if preserve || map.fields.is_empty() => Some(DEDUCED),
            Some(Value::Bool(true)) => Some(DEDUCED),
            None | Some(Value::Bool(false)) => None,
            Some(element) => Some(self.inline(element, preserve, depth + 1)),
        };
        if flag(schema, "x-kubernetes-embedded-resource") {
            self.fill_object_fields(&mut map);
        }
        Type {
            map: Some(map),
            ..Type::default()
        }
    }

    fn field(&self, member: &Value, ty: TypeId, required: bool) -> Field {
        let default = member.get("default").filter(|default| !default.is_null());
        Field {
            ty,
            default: default.cloned(),
            zero: match default {
                _ if !self.builtin => None,
                // A default that is a zero value restates that Go always writes the field.
                Some(default) if is_zero(default) => Some(default.clone()),
                None if required => Some(Value::Null),
                Some(_) | None => None,
            },
            patch: patch_strategy(member),
        }
    }

    fn array(&mut self, schema: &Value, preserve: bool, depth: usize) -> Type {
        let element = match schema.get("items") {
            Some(items) => self.inline(items, preserve, depth + 1),
            None => ATOMIC,
        };
        Type {
            list: Some(List {
                element,
                kind: list_kind(schema),
            }),
            ..Type::default()
        }
    }

    /// Gives the root of a custom resource the fields that every object has.
    fn add_object_fields(&mut self, root: TypeId) {
        let Some(mut map) = self.types[root.0].map.take() else {
            self.types[root.0].map = Some(Map::default());
            return self.add_object_fields(root);
        };
        self.fill_object_fields(&mut map);
        self.types[root.0].map = Some(map);
    }

    fn fill_object_fields(&mut self, map: &mut Map) {
        let text = self.push(scalar(Scalar::String));
        let metadata = self.named(OBJECT_META);
        for (name, ty) in [("apiVersion", text), ("kind", text), ("metadata", metadata)] {
            let field = self.field(&json!({}), ty, false);
            map.fields.insert(name.to_owned(), field);
        }
    }
}

const ATOMIC: TypeId = TypeId(0);
const DEDUCED: TypeId = TypeId(1);

fn scalar(scalar: Scalar) -> Type {
    Type {
        scalar: Some(scalar),
        ..Type::default()
    }
}

fn properties(schema: &Value) -> Option<&Object<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool) == Some(true)
}

fn text<'a>(schema: &'a Value, name: &str) -> Option<&'a str> {
    schema.get(name).and_then(Value::as_str)
}

/// The name of the definition a schema refers to, directly or by a single `allOf`.
fn reference(schema: &Value) -> Option<&str> {
    let direct = text(schema, "$ref");
    let wrapped = || match schema.get("allOf").and_then(Value::as_array)?.as_slice() {
        [only] => text(only, "$ref"),
        _ => None,
    };
    direct.or_else(wrapped)?.rsplit('/').next()
}

fn map_type(schema: &Value) -> Option<bool> {
    match text(schema, "x-kubernetes-map-type")? {
        "atomic" => Some(true),
        "granular" => Some(false),
        _ => None,
    }
}

fn list_kind(schema: &Value) -> ListKind {
    let strategy = text(schema, "x-kubernetes-patch-strategy");
    match text(schema, "x-kubernetes-list-type") {
        Some("set") => ListKind::Set,
        Some("map") => {
            let keys = schema.get("x-kubernetes-list-map-keys");
            let keys = keys.and_then(Value::as_array).into_iter().flatten();
            ListKind::Map(keys.filter_map(Value::as_str).map(str::to_owned).collect())
        }
        None if matches!(strategy, Some("merge" | "merge,retainKeys")) => {
            match text(schema, "x-kubernetes-patch-merge-key") {
                Some(key) => ListKind::Map(vec![key.to_owned()]),
                None => ListKind::Set,
            }
        }
        _ => ListKind::Atomic,
    }
}

fn patch_strategy(member: &Value) -> PatchStrategy {
    let strategies = text(member, "x-kubernetes-patch-strategy").unwrap_or_default();
    PatchStrategy {
        merge: strategies.split(',').any(|strategy| strategy == "merge"),
        replace: strategies.split(',').any(|strategy| strategy == "replace"),
        merge_key: text(member, "x-kubernetes-patch-merge-key").map(str::to_owned),
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}
