//! Merging a configuration into a live object.
//!
//! Where both have a leaf, the configuration's stays. Nothing is removed. Elements of sets and keyed
//! lists take the order of the configuration; what only the live list has keeps its place.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, VecDeque},
};

use serde_json::{Map as Object, Value};

use super::{
    atom::{Atom, Form, element_of, scalar_mistake},
    error::TypeErrors,
    validate::Duplicates,
};
use crate::patch::{
    fields::Element,
    typed::{List, ListKind, Map, Schema, Type},
};

/// # Errors
///
/// Where the two do not fit together.
pub(super) fn merge(schema: &Schema, live: &Value, config: &Value) -> Result<Value, TypeErrors> {
    let mut walker = Merger {
        schema,
        errors: TypeErrors::default(),
    };
    let merged = walker.node(schema.root(), Some(live), Some(config));
    walker.errors.into_result()?;
    Ok(merged.unwrap_or_else(|| Value::Object(Object::new())))
}

struct Merger<'s> {
    schema: &'s Schema,
    errors: TypeErrors,
}

type Side<'v> = Option<&'v Value>;

/// The items of one side of a list, by their path elements.
struct Items<'v> {
    order: Vec<(Element, &'v Value)>,
    /// An item that is there twice stands for `null`: it is not merged with.
    by_element: BTreeMap<Element, Cow<'v, Value>>,
}

impl Merger<'_> {
    fn node(&mut self, ty: &Type, left: Side<'_>, right: Side<'_>) -> Option<Value> {
        let left_atom = Atom::of(ty, left);
        let right_atom = Atom::of(ty, right);
        if right.is_none() {
            return self.form(left_atom, left, right);
        }
        if left.is_some() && !left_atom.same(right_atom) {
            // The form changed. The old form is only looked at for mistakes.
            self.form(left_atom, left, right);
        }
        self.form(right_atom, left, right)
    }

    fn form(&mut self, atom: Atom<'_>, left: Side<'_>, right: Side<'_>) -> Option<Value> {
        match atom.form() {
            Form::Map(map) => self.map(map, left, right),
            Form::List(list) => self.list(list, left, right),
            Form::Scalar(scalar) => {
                let mistake = |side: Side<'_>| scalar_mistake(scalar, side?);
                if let (Some(left), Some(right)) = (mistake(left), mistake(right)) {
                    self.errors.add(format!("lhs: {left}"));
                    self.errors.add(format!("rhs: {right}"));
                    return None;
                }
                leaf(left, right)
            }
            Form::Nothing => {
                self.errors.add("schema error: invalid atom");
                None
            }
        }
    }

    fn map(&mut self, map: &Map, left: Side<'_>, right: Side<'_>) -> Option<Value> {
        let members = |side: Side<'_>| side.and_then(Value::as_object).map_or(0, Object::len);
        if map.atomic || (members(left) == 0 && members(right) == 0) {
            return leaf(left, right);
        }
        let (left, right) = (left.and_then(Value::as_object), right.and_then(Value::as_object));
        let keys: BTreeSet<&String> = left.into_iter().chain(right).flat_map(Object::keys).collect();
        let mut merged = Object::new();
        for key in keys {
            let (left, right) = (
                left.and_then(|members| members.get(key)),
                right.and_then(|members| members.get(key)),
            );
            self.errors.enter(&Element::field(key));
            match map.member(key) {
                Some(ty) => {
                    if let Some(value) = self.node(self.schema.get(ty), left, right) {
                        merged.insert(key.clone(), value);
                    }
                }
                None => self.errors.add("schema error: no type found"),
            }
            self.errors.leave();
        }
        (!merged.is_empty()).then_some(Value::Object(merged))
    }

    fn list(&mut self, list: &List, left: Side<'_>, right: Side<'_>) -> Option<Value> {
        let items = |side: Side<'_>| side.and_then(Value::as_array).map_or(0, Vec::len);
        if list.kind == ListKind::Atomic || (items(left) == 0 && items(right) == 0) {
            return leaf(left, right);
        }
        let before = self.errors.count();
        let right = self.index(list, right, Duplicates::Refused);
        let left = self.index(list, left, Duplicates::Allowed);
        if self.errors.count() > before {
            return None;
        }
        let merged = self.items(list, &left, &right);
        (!merged.is_empty()).then_some(Value::Array(merged))
    }

    fn index<'v>(&mut self, list: &List, side: Side<'v>, duplicates: Duplicates) -> Items<'v> {
        let mut items = Items {
            order: Vec::new(),
            by_element: BTreeMap::new(),
        };
        let values = side.and_then(Value::as_array).into_iter().flatten();
        for (index, value) in values.enumerate() {
            let element = match element_of(self.schema, list, value) {
                Ok(element) => element,
                Err(why) => {
                    self.errors.add(format!("element {index}: {why}"));
                    continue;
                }
            };
            let found = items.by_element.contains_key(&element);
            if found && duplicates == Duplicates::Refused {
                self.errors.add(format!("duplicate entries for key {element}"));
                continue;
            }
            let item = if found {
                Cow::Owned(Value::Null)
            } else {
                Cow::Borrowed(value)
            };
            items.by_element.insert(element.clone(), item);
            items.order.push((element, value));
        }
        items
    }

    /// Walks both lists at once. `shared` holds what is in both, in the order of the right list: a
    /// left item that is shared waits until its turn.
    fn items(&mut self, list: &List, left: &Items<'_>, right: &Items<'_>) -> Vec<Value> {
        let mut shared: VecDeque<&Element> = right
            .order
            .iter()
            .map(|(element, _)| element)
            .filter(|element| left.by_element.contains_key(*element))
            .collect();
        let mut next_shared = shared.pop_front();
        let mut taken: BTreeSet<&Element> = BTreeSet::new();
        let mut merged = Vec::new();
        let (mut l, mut r) = (0, 0);
        while l < left.order.len() || r < right.order.len() {
            if let (Some((element, _)), Some((other, _))) = (left.order.get(l), right.order.get(r)) {
                if element == other {
                    taken.insert(element);
                    merged.extend(self.item(list, element, left, right));
                    (l, r) = (l + 1, r + 1);
                    next_shared = shared.pop_front();
                    continue;
                }
                let is_shared = right.by_element.contains_key(element);
                if is_shared && next_shared.is_some_and(|next| next != element) {
                    l += 1;
                    continue;
                }
            }
            if let Some((element, value)) = left.order.get(l) {
                if !right.by_element.contains_key(element) {
                    // The value itself, as it may be one of several with this key.
                    self.errors.enter(element);
                    let ty = self.schema.get(list.element);
                    merged.extend(self.node(ty, Some(value), None));
                    self.errors.leave();
                    l += 1;
                    continue;
                }
                if taken.contains(element) {
                    l += 1;
                }
            }
            if let Some((element, _)) = right.order.get(r) {
                taken.insert(element);
                merged.extend(self.item(list, element, left, right));
                r += 1;
                if next_shared == Some(element) {
                    next_shared = shared.pop_front();
                }
            }
        }
        merged
    }

    fn item(&mut self, list: &List, element: &Element, left: &Items<'_>, right: &Items<'_>) -> Option<Value> {
        let of = |items: &Items<'_>| {
            items
                .by_element
                .get(element)
                .map(|item| item.clone().into_owned())
        };
        let (left, right) = (of(left), of(right));
        self.errors.enter(element);
        let merged = self.node(self.schema.get(list.element), left.as_ref(), right.as_ref());
        self.errors.leave();
        merged
    }
}

/// A leaf is taken whole: the configuration's, else the live one.
fn leaf(left: Side<'_>, right: Side<'_>) -> Option<Value> {
    right.or(left).cloned()
}
