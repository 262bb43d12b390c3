//! Taking fields out of an object.

use serde_json::{Map as Object, Value};

use super::atom::{Atom, Form, element_of};
use crate::patch::{
    fields::{Element, Set},
    typed::{List, ListKind, Map, Schema, Type},
};

/// A copy without the fields and elements in `set`. A map or list of which nothing is left stays as an
/// empty one, unless it is itself in the set.
///
/// Kubernetes 1.36 up to 1.36.2 does so; other versions leave `null`
/// (kubernetes-sigs/structured-merge-diff#331).
pub(super) fn remove(schema: &Schema, value: &Value, set: &Set) -> Value {
    let remover = Remover { schema };
    remover.node(schema.root(), value, set)
}

struct Remover<'s> {
    schema: &'s Schema,
}

impl Remover<'_> {
    fn node(&self, ty: &Type, value: &Value, set: &Set) -> Value {
        match Atom::of(ty, Some(value)).form() {
            Form::Map(map) => self.map(map, value, set),
            Form::List(list) => self.list(list, value, set),
            Form::Scalar(_) => value.clone(),
            Form::Nothing => Value::Null,
        }
    }

    /// A member or item, which keeps its form.
    fn below(&self, ty: &Type, value: &Value, set: &Set) -> Value {
        match (self.node(ty, value, set), value) {
            (Value::Null, Value::Object(_)) => Value::Object(Object::new()),
            (Value::Null, Value::Array(_)) => Value::Array(Vec::new()),
            (left, _) => left,
        }
    }

    fn map(&self, map: &Map, value: &Value, set: &Set) -> Value {
        let Value::Object(members) = value else {
            return Value::Null;
        };
        if map.atomic {
            return Value::Null;
        }
        let mut kept = Object::new();
        for (key, value) in members {
            let element = Element::field(key);
            if set.has(&element) {
                continue;
            }
            let value = match (set.child(&element), map.member(key)) {
                (Some(below), Some(ty)) => self.below(self.schema.get(ty), value, below),
                _ => value.clone(),
            };
            kept.insert(key.clone(), value);
        }
        if kept.is_empty() {
            return Value::Null;
        }
        Value::Object(kept)
    }

    fn list(&self, list: &List, value: &Value, set: &Set) -> Value {
        let Value::Array(items) = value else {
            return Value::Null;
        };
        if list.kind == ListKind::Atomic {
            return Value::Null;
        }
        let mut kept = Vec::new();
        for item in items {
            let Ok(element) = element_of(self.schema, list, item) else {
                kept.push(item.clone());
                continue;
            };
            if set.has(&element) {
                continue;
            }
            kept.push(match set.child(&element) {
                Some(below) => self.below(self.schema.get(list.element), item, below),
                None => item.clone(),
            });
        }
        if kept.is_empty() {
            return Value::Null;
        }
        Value::Array(kept)
    }
}
