//! One step of a path, and the order of steps.

use std::{
    cmp::Ordering,
    fmt::{self, Write as _},
};

use serde_json::{Number, Value};

/// How a child is selected in its parent.
#[derive(Clone, Debug)]
pub(crate) enum Element {
    /// A member of a map.
    Field(String),
    /// An element of a list, by the fields that are its key; sorted by name.
    Key(Vec<(String, Value)>),
    /// An element of a set, by its value.
    Value(Value),
    /// An element of an atomic list, by its place. Only decoded, never made here.
    Index(i64),
}

impl Element {
    pub(crate) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => compare_keys(left, right),
            (Self::Value(left), Self::Value(right)) => compare(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_char('[')?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={value}")?;
                }
                f.write_char(']')
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Equality of values: `1` is `1.0`.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| equal(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, l)| right.get(key).is_some_and(|r| equal(l, r)))
        }
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right) == Ordering::Equal,
        _ => left == right,
    }
}

/// Numbers before text, text before booleans, then lists, maps and null.
fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let unequal = left.iter().zip(right).map(|(l, r)| compare(l, r));
            first_unequal(unequal).then(left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => {
            let unequal = left
                .iter()
                .zip(right)
                .map(|((lk, lv), (rk, rv))| lk.cmp(rk).then_with(|| compare(lv, rv)));
            first_unequal(unequal).then(left.len().cmp(&right.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_keys(left: &[(String, Value)], right: &[(String, Value)]) -> Ordering {
    let unequal = left
        .iter()
        .zip(right)
        .map(|((lk, lv), (rk, rv))| lk.cmp(rk).then_with(|| compare(lv, rv)));
    first_unequal(unequal).then(left.len().cmp(&right.len()))
}

fn first_unequal(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders
        .find(|order| *order != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    let integer = |number: &Number| {
        let signed = number.as_i64().map(i128::from);
        signed.or_else(|| number.as_u64().map(i128::from))
    };
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return left.cmp(&right);
    }
    let float = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
    // Adding zero makes -0.0 and 0.0 one.
    (float(left) + 0.0).total_cmp(&(float(right) + 0.0))
}
