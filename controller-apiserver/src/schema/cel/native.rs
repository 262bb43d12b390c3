//! Calling functions: the basic ones, those that must be bounded, and all others through `kube-cel`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::{Context, ExecutionError, Value};

use super::access::{none, optional, some};
use super::eval::{Budget, Evaluated, Failure};
use super::operators::equal;
use crate::schema::pattern;

/// The longest text or list a function may make.
const LARGEST: usize = 4 << 20;

thread_local! {
    /// The functions of `kube-cel`.
    static LIBRARY: Context<'static> = Context::default().with_all();
}

/// Calls a function.
pub(super) fn call(name: &str, target: Option<Value>, args: Vec<Value>, budget: &mut Budget) -> Evaluated {
    for value in target.iter().chain(&args) {
        budget.spend_walk(value)?;
    }
    if let Some(result) = basic(name, target.as_ref(), &args, budget) {
        return result;
    }
    if let Some(result) = bounded(name, target.as_ref(), &args, budget) {
        return result;
    }
    extension(name, target, args)
}

fn error<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Error(text.into()))
}

fn basic(name: &str, target: Option<&Value>, args: &[Value], budget: &mut Budget) -> Option<Evaluated> {
    Some(match (name, target, args) {
        ("size", Some(value), []) | ("size", None, [value]) => size(value),
        ("contains", Some(Value::String(text)), [Value::String(part)]) => {
            // The search may look at every pair of characters.
            if let Err(failure) = budget.spend(text.len() / 10 * (1 + part.len() / 100)) {
                return Some(Err(failure));
            }
            Ok(Value::Bool(text.contains(part.as_str())))
        }
        ("startsWith", Some(Value::String(text)), [Value::String(part)]) => {
            Ok(Value::Bool(text.starts_with(part.as_str())))
        }
        ("endsWith", Some(Value::String(text)), [Value::String(part)]) => {
            Ok(Value::Bool(text.ends_with(part.as_str())))
        }
        ("matches", Some(Value::String(text)), [Value::String(pattern)])
        | ("matches", None, [Value::String(text), Value::String(pattern)]) => matches(text, pattern, budget),
        ("dyn", None, [value]) => Ok(value.clone()),
        ("type", None, [value]) => Ok(Value::Function(Arc::new(type_name(value).to_owned()), None)),
        ("string", None, [Value::String(text)]) => Ok(Value::String(text.clone())),
        ("bool", None, [Value::Bool(value)]) => Ok(Value::Bool(*value)),
        ("bool", None, [Value::String(text)]) => match text.as_str() {
            "true" | "True" | "TRUE" | "t" | "1" => Ok(Value::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "0" => Ok(Value::Bool(false)),
            _ => error("type conversion error from 'string' to 'bool'"),
        },
        ("optional.of", None, [value]) => Ok(some(value.clone())),
        ("optional.none", None, []) => Ok(none()),
        ("optional.ofNonZeroValue", None, [value]) => Ok(if is_zero(value) {
            none()
        } else {
            some(value.clone())
        }),
        (name, Some(target), args) => return unwrap(name, optional(target)?.value(), target, args),
        _ => return None,
    })
}

fn unwrap(name: &str, inner: Option<&Value>, target: &Value, args: &[Value]) -> Option<Evaluated> {
    Some(match (name, args) {
        ("hasValue", []) => Ok(Value::Bool(inner.is_some())),
        ("value", []) => inner
            .cloned()
            .ok_or_else(|| Failure::Error("optional.none() dereference".to_owned())),
        ("orValue", [other]) => Ok(inner.unwrap_or(other).clone()),
        ("or", [other]) => Ok(if inner.is_some() {
            target.clone()
        } else {
            other.clone()
        }),
        _ => return None,
    })
}

fn size(value: &Value) -> Evaluated {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.map.len(),
        _ => return Err(Failure::no_overload()),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn matches(text: &str, source: &str, budget: &mut Budget) -> Evaluated {
    budget.spend(20 + text.len() / 10 * (1 + source.len() / 100))?;
    match pattern::compile(source) {
        Ok(pattern) => Ok(Value::Bool(pattern.is_match(text))),
        Err(failure) => error(failure.to_string()),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Opaque(_) | Value::Function(..) => "type",
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) | Value::Int(0) | Value::UInt(0) => true,
        Value::Float(value) => *value == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.map.is_empty(),
        _ => false,
    }
}

/// Functions whose result can be much larger than their arguments, or that compare all with all.
fn bounded(name: &str, target: Option<&Value>, args: &[Value], budget: &mut Budget) -> Option<Evaluated> {
    Some(match (name, target, args) {
        ("lists.range", None, [Value::Int(count)]) => range(*count, budget),
        ("replace", Some(Value::String(text)), [Value::String(from), Value::String(to), limit @ ..]) => {
            let limit = match limit {
                [] => usize::MAX,
                [Value::Int(limit)] => usize::try_from(*limit).unwrap_or(usize::MAX),
                _ => return Some(Err(Failure::no_overload())),
            };
            replace(text, from, to, limit, budget)
        }
        ("join", Some(Value::List(items)), separator @ ([] | [Value::String(_)])) => {
            let separator = match separator {
                [Value::String(text)] => text.as_str(),
                _ => "",
            };
            join(items, separator, budget)
        }
        ("distinct", Some(Value::List(items)), []) => distinct(items, budget),
        ("sets.contains" | "sets.equivalent" | "sets.intersects", None, [Value::List(a), Value::List(b)]) => {
            sets(name, a, b, budget)
        }
        ("format", Some(Value::String(text)), [_]) if has_long_precision(text) => {
            error("precision in a format string is limited to two digits")
        }
        _ => return None,
    })
}

fn range(count: i64, budget: &mut Budget) -> Evaluated {
    let size = usize::try_from(count).unwrap_or(0);
    budget.spend(size)?;
    Ok(Value::List(Arc::new((0..count.max(0)).map(Value::Int).collect())))
}

fn replace(text: &str, from: &str, to: &str, limit: usize, budget: &mut Budget) -> Evaluated {
    budget.spend(text.len() / 10 * (1 + from.len() / 100))?;
    let found = text.matches(from).take(limit).count();
    let size = found.saturating_mul(to.len()).saturating_add(text.len());
    if size > LARGEST {
        return Err(Failure::Budget);
    }
    budget.spend(size / 10)?;
    Ok(Value::String(Arc::new(text.replacen(from, to, limit))))
}

fn join(items: &[Value], separator: &str, budget: &mut Budget) -> Evaluated {
    let texts: Option<Vec<&str>> = items
        .iter()
        .map(|item| match item {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let texts = texts.ok_or_else(Failure::no_overload)?;
    let size: usize = texts.iter().map(|text| text.len() + separator.len()).sum();
    if size > LARGEST {
        return Err(Failure::Budget);
    }
    budget.spend(size / 10)?;
    Ok(Value::String(Arc::new(texts.join(separator))))
}

fn has(items: &[Value], wanted: &Value, budget: &mut Budget) -> Result<bool, Failure> {
    for item in items {
        if equal(item, wanted, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn distinct(items: &[Value], budget: &mut Budget) -> Evaluated {
    let mut kept: Vec<Value> = Vec::new();
    for item in items {
        if !has(&kept, item, budget)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::List(Arc::new(kept)))
}

fn sets(name: &str, a: &[Value], b: &[Value], budget: &mut Budget) -> Evaluated {
    let mut within = |small: &[Value], large: &[Value]| -> Result<bool, Failure> {
        for item in small {
            if !has(large, item, budget)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let result = match name {
        "sets.contains" => within(b, a)?,
        "sets.equivalent" => within(b, a)? && within(a, b)?,
        _ => {
            for item in a {
                if has(b, item, budget)? {
                    return Ok(Value::Bool(true));
                }
            }
            false
        }
    };
    Ok(Value::Bool(result))
}

fn has_long_precision(text: &str) -> bool {
    text.split("%.")
        .skip(1)
        .any(|rest| rest.bytes().take_while(u8::is_ascii_digit).count() > 2)
}

/// Calls a function of `kube-cel`.
///
/// Some of them panic on extreme arguments (an exponent of a quantity that overflows); here that is
/// one more value the rule does not work for.
fn extension(name: &str, target: Option<Value>, args: Vec<Value>) -> Evaluated {
    let ident = |name: String| IdedExpr {
        id: 0,
        expr: Expr::Ident(name),
    };
    let call = IdedExpr {
        id: 0,
        expr: Expr::Call(CallExpr {
            func_name: name.to_owned(),
            target: target.is_some().then(|| Box::new(ident("@target".to_owned()))),
            args: (0..args.len()).map(|index| ident(format!("@{index}"))).collect(),
        }),
    };
    let result = catch_unwind(AssertUnwindSafe(|| {
        LIBRARY.with(|library| {
            let mut scope = library.new_inner_scope();
            if let Some(target) = target {
                scope.add_variable_from_value("@target", target);
            }
            for (index, arg) in args.into_iter().enumerate() {
                scope.add_variable_from_value(format!("@{index}"), arg);
            }
            Value::resolve(&call, &scope)
        })
    }));
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(ExecutionError::FunctionError { message, .. })) => error(message),
        Ok(Err(ExecutionError::UndeclaredReference(_) | ExecutionError::UnexpectedType { .. })) => {
            Err(Failure::no_overload())
        }
        Ok(Err(other)) => error(other.to_string()),
        Err(_) => error(format!("{name}: value out of range")),
    }
}

/// A value as a message shows it.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        other => type_name(other).to_owned(),
    }
}

/// A point in time, from text.
pub(super) fn timestamp(text: &str) -> Option<Value> {
    extension("timestamp", None, vec![Value::String(Arc::new(text.to_owned()))]).ok()
}

/// A length of time, from text.
pub(super) fn duration(text: &str) -> Option<Value> {
    extension("duration", None, vec![Value::String(Arc::new(text.to_owned()))]).ok()
}
