//! Which form of a type a value has, and by what an element of a list is known.

use serde_json::Value;

use crate::patch::{
    fields::Element,
    typed::{List, ListKind, Map, Scalar, Schema, Type},
};

/// The forms that a type still may have, once a value is seen.
#[derive(Clone, Copy)]
pub(super) struct Atom<'s> {
    scalar: Option<Scalar>,
    list: Option<&'s List>,
    map: Option<&'s Map>,
}

/// The form to go by.
pub(super) enum Form<'s> {
    Map(&'s Map),
    Scalar(Scalar),
    List(&'s List),
    /// A type without any form: no value is of it.
    Nothing,
}

impl<'s> Atom<'s> {
    /// Narrows a type to the form of the value. `null`, an absent value and one of a wrong type
    /// leave all forms open: they are judged later.
    pub(super) fn of(ty: &'s Type, value: Option<&Value>) -> Self {
        let all = Self {
            scalar: ty.scalar,
            list: ty.list.as_ref(),
            map: ty.map.as_ref(),
        };
        let none = Self {
            scalar: None,
            list: None,
            map: None,
        };
        match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if all.scalar.is_some() => Self {
                scalar: all.scalar,
                ..none
            },
            Some(Value::Array(_)) if all.list.is_some() => Self {
                list: all.list,
                ..none
            },
            Some(Value::Object(_)) if all.map.is_some() => Self { map: all.map, ..none },
            _ => all,
        }
    }

    /// Whether two atoms of one type have the same forms open.
    pub(super) fn same(self, other: Self) -> bool {
        self.scalar.is_some() == other.scalar.is_some()
            && self.list.is_some() == other.list.is_some()
            && self.map.is_some() == other.map.is_some()
    }

    pub(super) fn form(self) -> Form<'s> {
        match self {
            Self { map: Some(map), .. } => Form::Map(map),
            Self {
                scalar: Some(scalar), ..
            } => Form::Scalar(scalar),
            Self { list: Some(list), .. } => Form::List(list),
            _ => Form::Nothing,
        }
    }
}

/// What is wrong with a value where a scalar is wanted; `null` is right everywhere.
pub(super) fn scalar_mistake(scalar: Scalar, value: &Value) -> Option<String> {
    let (wanted, right) = match scalar {
        Scalar::Numeric => ("numeric (int or float)", value.is_number()),
        Scalar::String => ("string", value.is_string()),
        Scalar::Boolean => ("boolean", value.is_boolean()),
        Scalar::Untyped => ("any scalar", !value.is_array() && !value.is_object()),
    };
    if right || value.is_null() {
        return None;
    }
    let got = match scalar {
        Scalar::Numeric => type_name(value).to_owned(),
        Scalar::String => format!("&value.valueUnstructured{{Value:{value}}}"),
        _ => value.to_string(),
    };
    Some(format!("expected {wanted}, got {got}"))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The path element of an element of a set or keyed list.
///
/// # Errors
///
/// The text of why it has none.
pub(super) fn element_of(schema: &Schema, list: &List, item: &Value) -> Result<Element, String> {
    let keys = match &list.kind {
        ListKind::Map(keys) if !keys.is_empty() => keys,
        ListKind::Atomic => return Err("invalid indexing of non-associative list".to_owned()),
        ListKind::Set | ListKind::Map(_) => return set_element(item),
    };
    let members = match item {
        Value::Object(members) => members,
        Value::Null => {
            return Err("associative list with keys may not have a null element".to_owned());
        }
        _ => {
            return Err("associative list with keys may not have non-map elements".to_owned());
        }
    };
    let ty = schema.get(list.element);
    let default = |key: &str| ty.map.as_ref()?.fields.get(key)?.default.as_ref();
    let mut fields: Vec<(String, Value)> = keys
        .iter()
        .filter_map(|key| {
            let value = members.get(key).or_else(|| default(key))?;
            Some((key.clone(), value.clone()))
        })
        .collect();
    if fields.is_empty() {
        let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            keys.join(" ")
        ));
    }
    fields.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(Element::Key(fields))
}

fn set_element(item: &Value) -> Result<Element, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => Ok(Element::Value(scalar.clone())),
    }
}
