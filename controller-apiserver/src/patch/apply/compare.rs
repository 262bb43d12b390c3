//! What differs between two objects, as sets of fields.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map as Object, Value};

use super::{
    atom::{Atom, Form, element_of, scalar_mistake},
    error::TypeErrors,
};
use crate::patch::{
    fields::{Element, Set, equal},
    typed::{List, ListKind, Map, Schema, Type},
};

/// No field is in more than one of the sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    /// Only in the old object.
    pub(super) removed: Set,
    /// In both, and different.
    pub(super) modified: Set,
    /// Only in the new object.
    pub(super) added: Set,
}

impl Comparison {
    /// Without some fields and what is below them.
    pub(super) fn excluding(self, fields: &Set) -> Self {
        Self {
            removed: self.removed.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            added: self.added.recursive_difference(fields),
        }
    }
}

/// # Errors
///
/// Where one of them is not of its type.
pub(super) fn compare(schema: &Schema, old: &Value, new: &Value) -> Result<Comparison, TypeErrors> {
    let mut comparer = Comparer {
        schema,
        path: Vec::new(),
        errors: TypeErrors::default(),
        comparison: Comparison::default(),
    };
    comparer.node(schema.root(), Some(old), Some(new));
    comparer.errors.into_result()?;
    Ok(comparer.comparison)
}

struct Comparer<'s> {
    schema: &'s Schema,
    path: Vec<Element>,
    errors: TypeErrors,
    comparison: Comparison,
}

type Side<'v> = Option<&'v Value>;

/// Whether a node was taken as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Whole,
    InParts,
}

impl Comparer<'_> {
    fn node(&mut self, ty: &Type, old: Side<'_>, new: Side<'_>) {
        let (old_atom, new_atom) = (Atom::of(ty, old), Atom::of(ty, new));
        let taken = if new.is_none() {
            self.form(old_atom, old, new)
        } else {
            if old.is_some() && !old_atom.same(new_atom) {
                self.form(old_atom, old, new);
            }
            self.form(new_atom, old, new)
        };
        if taken == Taken::InParts {
            match (old, new) {
                (None, _) => self.comparison.added.insert(&self.path),
                (_, None) => self.comparison.removed.insert(&self.path),
                _ => {}
            }
        }
    }

    fn form(&mut self, atom: Atom<'_>, old: Side<'_>, new: Side<'_>) -> Taken {
        match atom.form() {
            Form::Map(map) => self.map(map, old, new),
            Form::List(list) => self.list(list, old, new),
            Form::Scalar(scalar) => {
                let mistake = |side: Side<'_>| scalar_mistake(scalar, side?);
                if let (Some(old), Some(new)) = (mistake(old), mistake(new)) {
                    self.errors.add(format!("lhs: {old}"));
                    self.errors.add(format!("rhs: {new}"));
                    return Taken::InParts;
                }
                self.leaf(old, new)
            }
            Form::Nothing => {
                self.errors.add("schema error: invalid atom");
                Taken::InParts
            }
        }
    }

    fn leaf(&mut self, old: Side<'_>, new: Side<'_>) -> Taken {
        let set = match (old, new) {
            (None, _) => &mut self.comparison.added,
            (_, None) => &mut self.comparison.removed,
            (Some(old), Some(new)) if !equal(old, new) => &mut self.comparison.modified,
            _ => return Taken::Whole,
        };
        set.insert(&self.path);
        Taken::Whole
    }

    fn map(&mut self, map: &Map, old: Side<'_>, new: Side<'_>) -> Taken {
        let members = |side: Side<'_>| side.and_then(Value::as_object).map_or(0, Object::len);
        if map.atomic || (members(old) == 0 && members(new) == 0) {
            return self.leaf(old, new);
        }
        let (old, new) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
        let keys: BTreeSet<&String> = old.into_iter().chain(new).flat_map(Object::keys).collect();
        for key in keys {
            let element = Element::field(key);
            self.errors.enter(&element);
            self.path.push(element);
            match map.member(key) {
                Some(ty) => self.node(
                    self.schema.get(ty),
                    old.and_then(|members| members.get(key)),
                    new.and_then(|members| members.get(key)),
                ),
                None => self.errors.add("schema error: no type found"),
            }
            self.path.pop();
            self.errors.leave();
        }
        Taken::InParts
    }

    fn list(&mut self, list: &List, old: Side<'_>, new: Side<'_>) -> Taken {
        let items = |side: Side<'_>| side.and_then(Value::as_array).map_or(0, Vec::len);
        if list.kind == ListKind::Atomic || (items(old) == 0 && items(new) == 0) {
            return self.leaf(old, new);
        }
        let old = self.index(list, old);
        let new = self.index(list, new);
        let elements: BTreeSet<&Element> = old.keys().chain(new.keys()).collect();
        for element in elements {
            self.errors.enter(element);
            self.path.push(element.clone());
            self.item(
                list,
                old.get(element).map_or(&[][..], Vec::as_slice),
                new.get(element).map_or(&[][..], Vec::as_slice),
            );
            self.path.pop();
            self.errors.leave();
        }
        Taken::InParts
    }

    fn index<'v>(&mut self, list: &List, side: Side<'v>) -> BTreeMap<Element, Vec<&'v Value>> {
        let mut items: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
        let values = side.and_then(Value::as_array).into_iter().flatten();
        for (index, value) in values.enumerate() {
            match element_of(self.schema, list, value) {
                Ok(element) => items.entry(element).or_default().push(value),
                Err(why) => self.errors.add(format!("element {index}: {why}")),
            }
        }
        items
    }

    /// Items with one key. Several are compared as a whole.
    fn item(&mut self, list: &List, old: &[&Value], new: &[&Value]) {
        let ty = self.schema.get(list.element);
        match (old, new) {
            ([] | [_], [] | [_]) => {
                self.node(ty, old.first().copied(), new.first().copied());
            }
            ([_, _, ..], [_, _, ..]) => {
                let same = old.len() == new.len() && old.iter().zip(new).all(|(l, r)| equal(l, r));
                if !same {
                    self.comparison.modified.insert(&self.path);
                }
            }
            ([_, _, ..], _) => {
                if let Some(new) = new.first() {
                    self.node(ty, None, Some(new));
                }
                self.comparison.removed.insert(&self.path);
            }
            (_, _) => {
                if let Some(old) = old.first() {
                    self.node(ty, Some(old), None);
                }
                self.comparison.added.insert(&self.path);
            }
        }
    }
}
