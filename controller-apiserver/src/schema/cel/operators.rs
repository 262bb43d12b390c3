//! Operators between two values.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::Value;

use super::access::as_key;
use super::ast::Binary;
use super::eval::{Budget, Evaluated, Failure};

/// The value of `left operator right`.
pub(super) fn binary(operator: Binary, left: Value, right: Value, budget: &mut Budget) -> Evaluated {
    let ordered = |wanted: &[Ordering]| {
        let found = compare(&left, &right)?;
        Ok(Value::Bool(wanted.contains(&found)))
    };
    match operator {
        Binary::Equal => Ok(Value::Bool(equal(&left, &right, budget)?)),
        Binary::Different => Ok(Value::Bool(!equal(&left, &right, budget)?)),
        Binary::In => contains(&left, &right, budget),
        Binary::Less | Binary::AtMost | Binary::Greater | Binary::AtLeast
            if is_nan(&left) || is_nan(&right) =>
        {
            Ok(Value::Bool(false))
        }
        Binary::Less => ordered(&[Ordering::Less]),
        Binary::AtMost => ordered(&[Ordering::Less, Ordering::Equal]),
        Binary::Greater => ordered(&[Ordering::Greater]),
        Binary::AtLeast => ordered(&[Ordering::Greater, Ordering::Equal]),
        Binary::Add => add(left, right, budget),
        Binary::Subtract => subtract(&left, &right),
        Binary::Multiply | Binary::Divide | Binary::Modulo => arithmetic(operator, &left, &right),
    }
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(value) if value.is_nan())
}

fn overflow() -> Failure {
    Failure::Error("integer overflow".to_owned())
}

fn add(left: Value, right: Value, budget: &mut Budget) -> Evaluated {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.checked_add(b).map(Value::Int).ok_or_else(overflow),
        (Value::UInt(a), Value::UInt(b)) => a.checked_add(b).map(Value::UInt).ok_or_else(overflow),
        (Value::Float(a), Value::Float(b)) => Ok(Value::Float(a + b)),
        (Value::String(a), Value::String(b)) => {
            budget.spend((a.len() + b.len()) / 10)?;
            Ok(Value::String(Arc::new(format!("{a}{b}"))))
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            budget.spend((a.len() + b.len()) / 10)?;
            Ok(Value::Bytes(Arc::new([a.as_slice(), b.as_slice()].concat())))
        }
        (Value::List(a), Value::List(b)) => {
            budget.spend(a.len() + b.len())?;
            Ok(Value::List(Arc::new(a.iter().chain(b.iter()).cloned().collect())))
        }
        (Value::Duration(a), Value::Duration(b)) => {
            a.checked_add(&b).map(Value::Duration).ok_or_else(overflow)
        }
        (Value::Timestamp(at), Value::Duration(by)) | (Value::Duration(by), Value::Timestamp(at)) => at
            .checked_add_signed(by)
            .map(Value::Timestamp)
            .ok_or_else(overflow),
        _ => Err(Failure::no_overload()),
    }
}

fn subtract(left: &Value, right: &Value) -> Evaluated {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.checked_sub(*b).map(Value::Int).ok_or_else(overflow),
        (Value::UInt(a), Value::UInt(b)) => a.checked_sub(*b).map(Value::UInt).ok_or_else(overflow),
        (Value::Float(a), Value::Float(b)) => Ok(Value::Float(a - b)),
        (Value::Duration(a), Value::Duration(b)) => {
            a.checked_sub(b).map(Value::Duration).ok_or_else(overflow)
        }
        (Value::Timestamp(a), Value::Timestamp(b)) => Ok(Value::Duration(a.signed_duration_since(*b))),
        (Value::Timestamp(at), Value::Duration(by)) => at
            .checked_sub_signed(*by)
            .map(Value::Timestamp)
            .ok_or_else(overflow),
        _ => Err(Failure::no_overload()),
    }
}

fn arithmetic(operator: Binary, left: &Value, right: &Value) -> Evaluated {
    let by_zero = || {
        let what = if operator == Binary::Modulo {
            "modulus by zero"
        } else {
            "division by zero"
        };
        Failure::Error(what.to_owned())
    };
    match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::UInt(_), Value::UInt(0)) if operator != Binary::Multiply => {
            Err(by_zero())
        }
        (Value::Int(a), Value::Int(b)) => match operator {
            Binary::Multiply => a.checked_mul(*b),
            Binary::Divide => a.checked_div(*b),
            _ => a.checked_rem(*b),
        }
        .map(Value::Int)
        .ok_or_else(overflow),
        (Value::UInt(a), Value::UInt(b)) => match operator {
            Binary::Multiply => a.checked_mul(*b),
            Binary::Divide => a.checked_div(*b),
            _ => a.checked_rem(*b),
        }
        .map(Value::UInt)
        .ok_or_else(overflow),
        (Value::Float(a), Value::Float(b)) if operator != Binary::Modulo => {
            Ok(Value::Float(if operator == Binary::Multiply {
                a * b
            } else {
                a / b
            }))
        }
        _ => Err(Failure::no_overload()),
    }
}

/// Equality: numbers of different types are equal if their values are; other different types never.
pub(super) fn equal(left: &Value, right: &Value, budget: &mut Budget) -> Result<bool, Failure> {
    budget.spend(1)?;
    Ok(match (left, right) {
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b.iter()) {
                if !equal(a, b, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.map.len() != b.map.len() {
                return Ok(false);
            }
            for (key, a) in a.map.iter() {
                match b.map.get(key) {
                    Some(b) if equal(a, b, budget)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        (Value::String(a), Value::String(b)) => {
            budget.spend(a.len().min(b.len()) / 10)?;
            a == b
        }
        (a, b) => match numbers(a, b) {
            Some(order) => order == Ordering::Equal,
            None if is_nan(a) || is_nan(b) => false,
            None => a == b,
        },
    })
}

/// The order of two numbers of any types; none if one is not a number.
fn numbers(left: &Value, right: &Value) -> Option<Ordering> {
    let wide = |value: &Value| match value {
        Value::Int(value) => Some(i128::from(*value)),
        Value::UInt(value) => Some(i128::from(*value)),
        _ => None,
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers of different types are compared as doubles"
    )]
    let float = |value: &Value| match value {
        Value::Float(value) => Some(*value),
        other => wide(other).map(|value| value as f64),
    };
    match (wide(left), wide(right)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => float(left)?.partial_cmp(&float(right)?),
    }
}

/// The order of two values of one sort.
pub(super) fn compare(left: &Value, right: &Value) -> Result<Ordering, Failure> {
    match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Ok(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Ok(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Ok(a.cmp(b)),
        (a, b) => numbers(a, b).ok_or_else(Failure::no_overload),
    }
}

fn contains(left: &Value, right: &Value, budget: &mut Budget) -> Evaluated {
    match right {
        Value::List(items) => {
            for item in items.iter() {
                if equal(left, item, budget)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        Value::Map(map) => Ok(Value::Bool(
            as_key(left).is_some_and(|key| map.map.contains_key(&key)),
        )),
        _ => Err(Failure::no_overload()),
    }
}
