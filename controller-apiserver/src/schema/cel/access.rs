//! Members, elements, keys and optionals.

use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, OptionalValue};

use super::ast::Access;
use super::eval::{Evaluated, Failure};
use super::native;

/// The value as an optional, if it is one.
pub(super) fn optional(value: &Value) -> Option<&OptionalValue> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref::<OptionalValue>(),
        _ => None,
    }
}

pub(super) fn some(value: Value) -> Value {
    Value::Opaque(Arc::new(OptionalValue::of(value)))
}

pub(super) fn none() -> Value {
    Value::Opaque(Arc::new(OptionalValue::none()))
}

pub(super) fn select(target: &Value, field: &str, access: Access) -> Evaluated {
    if let Some(inner) = optional(target) {
        return Ok(inner
            .value()
            .and_then(|inner| member(inner, field))
            .map_or_else(none, some));
    }
    match (member(target, field), access) {
        (Some(value), Access::Plain) => Ok(value),
        (Some(value), Access::Optional) => Ok(some(value)),
        (None, Access::Optional) => Ok(none()),
        (None, Access::Plain) if matches!(target, Value::Map(_)) => Err(Failure::no_key(field)),
        (None, Access::Plain) => Err(Failure::no_overload()),
    }
}

fn member(target: &Value, field: &str) -> Option<Value> {
    match target {
        Value::Map(map) => map.map.get(&Key::String(Arc::new(field.to_owned()))).cloned(),
        _ => None,
    }
}

pub(super) fn has(target: &Value, field: &str) -> Evaluated {
    match optional(target).map_or(Some(target), OptionalValue::value) {
        Some(inner @ Value::Map(_)) => Ok(Value::Bool(member(inner, field).is_some())),
        None => Ok(Value::Bool(false)),
        Some(_) => Err(Failure::no_overload()),
    }
}

pub(super) fn index(target: &Value, index: &Value, access: Access) -> Evaluated {
    if let Some(inner) = optional(target) {
        return Ok(inner
            .value()
            .and_then(|inner| at(inner, index).ok())
            .map_or_else(none, some));
    }
    match (at(target, index), access) {
        (found, Access::Plain) => found,
        (found, Access::Optional) => Ok(found.map_or_else(|_| none(), some)),
    }
}

fn at(target: &Value, index: &Value) -> Evaluated {
    match target {
        Value::List(items) => {
            let position = match index {
                Value::Int(index) => usize::try_from(*index).ok(),
                Value::UInt(index) => usize::try_from(*index).ok(),
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "whole, and checked by get"
                )]
                Value::Float(index) if index.fract() == 0.0 && *index >= 0.0 => Some(*index as usize),
                _ => return Err(Failure::no_overload()),
            };
            let found = position.and_then(|position| items.get(position)).cloned();
            found.ok_or_else(|| Failure::Error(format!("index out of bounds: {}", native::text_of(index))))
        }
        Value::Map(map) => {
            let key = as_key(index).ok_or_else(Failure::no_overload)?;
            let found = map.map.get(&key).cloned();
            found.ok_or_else(|| Failure::no_key(&native::text_of(index)))
        }
        _ => Err(Failure::no_overload()),
    }
}

/// The key of a map for a value.
pub(super) fn as_key(value: &Value) -> Option<Key> {
    Some(match value {
        Value::Int(value) => Key::Int(*value),
        Value::UInt(value) => i64::try_from(*value).map_or(Key::Uint(*value), Key::Int),
        Value::Bool(value) => Key::Bool(*value),
        Value::String(value) => Key::String(value.clone()),
        _ => return None,
    })
}

pub(super) fn from_key(key: &Key) -> Value {
    match key {
        Key::Int(value) => Value::Int(*value),
        Key::Uint(value) => Value::UInt(*value),
        Key::Bool(value) => Value::Bool(*value),
        Key::String(value) => Value::String(value.clone()),
    }
}
