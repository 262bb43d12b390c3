//! Whether a value is of its type.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    atom::{Atom, Form, element_of, scalar_mistake},
    error::TypeErrors,
};
use crate::patch::{
    fields::Element,
    typed::{List, ListKind, Map, Schema, Type},
};

/// How elements with one key are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// They are mistakes: what is applied.
    Refused,
    /// They are there, and one lives with them: what is stored.
    Allowed,
}

/// # Errors
///
/// Every place where the value is not of its type.
pub(super) fn validate(schema: &Schema, value: &Value, duplicates: Duplicates) -> Result<(), TypeErrors> {
    let mut validator = Validator {
        schema,
        duplicates,
        errors: TypeErrors::default(),
    };
    validator.node(schema.root(), value);
    validator.errors.into_result()
}

struct Validator<'s> {
    schema: &'s Schema,
    duplicates: Duplicates,
    errors: TypeErrors,
}

impl Validator<'_> {
    fn node(&mut self, ty: &Type, value: &Value) {
        match Atom::of(ty, Some(value)).form() {
            Form::Map(map) => self.map(map, value),
            Form::List(list) => self.list(list, value),
            Form::Scalar(scalar) => {
                if let Some(mistake) = scalar_mistake(scalar, value) {
                    self.errors.add(mistake);
                }
            }
            Form::Nothing => self.errors.add("schema error: invalid atom"),
        }
    }

    fn map(&mut self, map: &Map, value: &Value) {
        let members = match value {
            Value::Object(members) => members,
            Value::Null => return,
            other => return self.errors.add(format!("expected map, got {other}")),
        };
        for (key, value) in members {
            self.errors.enter(&Element::field(key));
            match map.member(key) {
                Some(ty) => self.node(self.schema.get(ty), value),
                None => self.errors.add("field not declared in schema"),
            }
            self.errors.leave();
        }
    }

    fn list(&mut self, list: &List, value: &Value) {
        let elements = match value {
            Value::Array(elements) => elements,
            Value::Null => return,
            other => return self.errors.add(format!("expected list, got {other}")),
        };
        let mut seen = BTreeSet::new();
        for (index, item) in elements.iter().enumerate() {
            let element = if list.kind == ListKind::Atomic {
                Element::Index(i64::try_from(index).unwrap_or(i64::MAX))
            } else {
                match element_of(self.schema, list, item) {
                    Ok(element) => element,
                    Err(why) => return self.errors.add(format!("element {index}: {why}")),
                }
            };
            if !seen.insert(element.clone()) && self.duplicates == Duplicates::Refused {
                self.errors.add(format!("duplicate entries for key {element}"));
            }
            self.errors.enter(&element);
            self.node(self.schema.get(list.element), item);
            self.errors.leave();
        }
    }
}
