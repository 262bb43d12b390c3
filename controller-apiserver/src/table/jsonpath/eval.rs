//! From steps and a value to what is found.

use std::cmp::Ordering;

use serde_json::Value;

use super::{End, Filter, Slice, Step};

/// How many values a path may find on its way: `..` over a large object stops here.
const MAX_FOUND: usize = 100_000;

type Found = Vec<Value>;

pub(super) fn walk(input: Found, steps: &[Step]) -> Result<Found, String> {
    steps.iter().try_fold(input, |input, step| {
        let found = take(input, step)?;
        if found.len() > MAX_FOUND {
            return Err("the path finds too much".to_owned());
        }
        Ok(found)
    })
}

fn take(input: Found, step: &Step) -> Result<Found, String> {
    match step {
        Step::Field(name) => Ok(input
            .into_iter()
            .filter_map(|value| value.get(name.as_str()).cloned())
            .collect()),
        Step::Wildcard => Ok(input.into_iter().flat_map(children).collect()),
        Step::Descend => Ok(input.into_iter().flat_map(descend).collect()),
        Step::Constant(constant) => Ok(input.iter().map(|_| constant.clone()).collect()),
        Step::Slice(slice) => {
            let mut found = Found::new();
            for value in input.into_iter().filter(|value| !value.is_null()) {
                found.extend(cut(value, *slice)?);
            }
            Ok(found)
        }
        Step::Union(parts) => {
            let mut found = Found::new();
            for part in parts {
                found.extend(walk(input.clone(), part)?);
            }
            Ok(found)
        }
        Step::Filter(filter) => {
            let mut found = Found::new();
            for value in input {
                found.extend(sift(value, filter)?);
            }
            Ok(found)
        }
    }
}

fn children(value: Value) -> Found {
    match value {
        Value::Array(elements) => elements,
        Value::Object(members) => members.into_iter().map(|(_, value)| value).collect(),
        _ => Found::new(),
    }
}

/// The containers at and below a value. What is asked of them next is a field or an index.
fn descend(value: Value) -> Found {
    let below = children(value.clone());
    if below.is_empty() {
        return Found::new();
    }
    let mut found = vec![value];
    found.extend(below.into_iter().flat_map(descend));
    found
}

fn cut(value: Value, slice: Slice) -> Result<Found, String> {
    let Value::Array(elements) = value else {
        return Err("not an array or slice".to_owned());
    };
    let length = i64::try_from(elements.len()).unwrap_or(i64::MAX);
    let from_end = |index: i64| {
        if index < 0 {
            index.saturating_add(length)
        } else {
            index
        }
    };
    let start = from_end(slice.start.unwrap_or(0));
    let end = match slice.end {
        End::One => start.saturating_add(1),
        End::Open => length,
        End::At(end) => from_end(end),
    };
    if start == end {
        return Ok(Found::new());
    }
    if start < 0 || start >= length || end < 0 || end > length {
        return Err(format!("array index out of bounds: {start}:{end} of {length}"));
    }
    if start > end {
        return Err(format!(
            "starting index {start} is greater than ending index {end}"
        ));
    }
    let step = slice.step.unwrap_or(1);
    let step = usize::try_from(step).ok().filter(|step| *step > 0);
    let step = step.ok_or("step must be > 0")?;
    let count = usize::try_from(end - start).unwrap_or_default();
    let start = usize::try_from(start).unwrap_or_default();
    Ok(elements
        .into_iter()
        .skip(start)
        .take(count)
        .step_by(step)
        .collect())
}

fn sift(value: Value, filter: &Filter) -> Result<Found, String> {
    let Value::Array(elements) = value else {
        return Err("not an array or slice and cannot be filtered".to_owned());
    };
    let mut found = Found::new();
    for element in elements {
        let left = walk(vec![element.clone()], &filter.left)?;
        let passes = match &filter.right {
            None => !left.is_empty(),
            Some((operator, right)) => {
                let right = walk(vec![element.clone()], right)?;
                match (left.as_slice(), right.as_slice()) {
                    ([left], [right]) => compare(left, operator, right)?,
                    ([], _) | (_, []) => false,
                    _ => return Err("can only compare one element at a time".to_owned()),
                }
            }
        };
        if passes {
            found.push(element);
        }
    }
    Ok(found)
}

fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, String> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) if matches!(operator, "==" | "!=") => left.cmp(right),
        (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => left
            .as_f64()
            .partial_cmp(&right.as_f64())
            .unwrap_or(Ordering::Equal),
        _ => return Err("incompatible types for comparison".to_owned()),
    };
    match operator {
        "==" => Ok(order.is_eq()),
        "!=" => Ok(order.is_ne()),
        "<" => Ok(order.is_lt()),
        "<=" => Ok(order.is_le()),
        ">" => Ok(order.is_gt()),
        ">=" => Ok(order.is_ge()),
        other => Err(format!("unrecognized filter operator {other}")),
    }
}
