//! The set of fields that a configuration mentions.

use std::collections::BTreeSet;

use serde_json::Value;

use super::atom::{Atom, Form, element_of};
use crate::patch::{
    fields::{Element, Set},
    typed::{List, ListKind, Map, Schema, Type},
};

/// Leaves, elements of lists, and what is empty.
pub(super) fn field_set(schema: &Schema, value: &Value) -> Set {
    let mut walker = Walker {
        schema,
        path: Vec::new(),
        set: Set::default(),
    };
    walker.node(schema.root(), value);
    walker.set
}

struct Walker<'s> {
    schema: &'s Schema,
    path: Vec<Element>,
    set: Set,
}

impl Walker<'_> {
    fn node(&mut self, ty: &Type, value: &Value) {
        match Atom::of(ty, Some(value)).form() {
            Form::Map(map) => self.map(map, value),
            Form::List(list) => self.list(list, value),
            Form::Scalar(_) => self.set.insert(&self.path),
            Form::Nothing => {}
        }
    }

    fn map(&mut self, map: &Map, value: &Value) {
        if map.atomic {
            return self.set.insert(&self.path);
        }
        let Value::Object(members) = value else {
            return;
        };
        for (key, value) in members {
            self.path.push(Element::field(key));
            if let Some(ty) = map.member(key) {
                self.node(self.schema.get(ty), value);
            }
            let empty = match value {
                Value::Null => true,
                Value::Object(members) => members.is_empty(),
                _ => false,
            };
            if empty || !map.fields.contains_key(key) {
                self.set.insert(&self.path);
            }
            self.path.pop();
        }
    }

    fn list(&mut self, list: &List, value: &Value) {
        if list.kind == ListKind::Atomic {
            return self.set.insert(&self.path);
        }
        let Value::Array(items) = value else {
            return;
        };
        let elements: Vec<(Element, &Value)> = items
            .iter()
            .filter_map(|item| Some((element_of(self.schema, list, item).ok()?, item)))
            .collect();
        let mut seen = BTreeSet::new();
        let duplicates: BTreeSet<&Element> = elements
            .iter()
            .map(|(element, _)| element)
            .filter(|element| !seen.insert(*element))
            .collect();
        for (element, item) in &elements {
            self.path.push(element.clone());
            // What is below a duplicate is nobody's in particular.
            if !duplicates.contains(element) {
                self.node(self.schema.get(list.element), item);
            }
            self.set.insert(&self.path);
            self.path.pop();
        }
    }
}

/// Adds to a set the declared fields that have something in it: a set of `a.b.c` also gets `a`, and
/// `a.b` if `b` is a declared field and no member of a map.
pub(super) fn with_named_fields(schema: &Schema, set: &Set) -> Set {
    named(schema, Some(schema.root()), set)
}

fn named(schema: &Schema, ty: Option<&Type>, set: &Set) -> Set {
    let mut result = Set::default();
    for element in set.nodes() {
        let mut is_member = set.has(element);
        let mut below = None;
        match element {
            Element::Field(name) => {
                if let Some(map) = ty.and_then(|ty| ty.map.as_ref()) {
                    is_member |= map.fields.contains_key(name);
                    below = map.member(name).map(|ty| schema.get(ty));
                }
            }
            Element::Key(_) => {
                let list = ty.and_then(|ty| ty.list.as_ref());
                below = list.map(|list| schema.get(list.element));
            }
            Element::Value(_) | Element::Index(_) => {}
        }
        let child = set.child(element).map(|child| named(schema, below, child));
        result.put(element, is_member, child);
    }
    result
}
