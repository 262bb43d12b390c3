//! JSON patch, RFC 6902, with the deviations of the library that real API servers use.
//!
//! `replace` and `copy` take a missing member of an object for `null`; an index may be negative
//! (from the end) or have leading zeros; a path that does not begin with `/` loses its first
//! element; `add` without a value adds `null`. A patch is applied whole or not at all.
//!
//! Work is bounded: at most 10,000 operations, 3 MiB of copies, [`MAX_DEPTH`] levels, and a budget
//! of moved array elements, so that a small body cannot become a large job.

use serde_json::Value;

use super::{PatchError, error::json_type};

/// How many operations a patch may have.
pub const MAX_OPERATIONS: usize = 10_000;
/// How many bytes of JSON the `copy` operations of one patch may add up to.
pub const MAX_COPY_BYTES: usize = 3 * 1024 * 1024;
/// How deep the patched object may become: what a JSON decoder with common limits still reads.
pub const MAX_DEPTH: usize = 128;
/// How many array elements and values may be touched in all by inserting, removing and measuring.
const MAX_STEPS: usize = 50_000_000;

/// Applies the operations of `patch` to a copy of `target`.
///
/// ```
/// use controller_apiserver::patch::json;
/// use serde_json::json;
///
/// let target = json!({"spec": {"tags": ["a"]}});
/// let patch = json!([{"op": "add", "path": "/spec/tags/-", "value": "b"}]);
/// assert_eq!(json::apply(&target, &patch).unwrap(), json!({"spec": {"tags": ["a", "b"]}}));
/// ```
///
/// # Errors
///
/// [`PatchError::Malformed`] if `patch` is no list of operations, [`PatchError::Rejected`] if one
/// of them does not fit, [`PatchError::TooManyOperations`].
pub fn apply(target: &Value, patch: &Value) -> Result<Value, PatchError> {
    let operations = decode(patch)?;
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooManyOperations {
            limit: MAX_OPERATIONS,
            count: operations.len(),
        });
    }
    let mut patcher = Patcher {
        document: target.clone(),
        copied: 0,
        steps: 0,
    };
    for (index, operation) in operations.iter().enumerate() {
        patcher
            .run(operation)
            .map_err(|why| PatchError::Rejected(format!("operation {index}: {why}")))?;
    }
    Ok(patcher.document)
}

/// Members of operations that mean nothing, as servers name them in warnings: `[0].extra`.
pub fn unknown_fields(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().map(Vec::as_slice).unwrap_or_default();
    operations
        .iter()
        .enumerate()
        .filter_map(|(index, operation)| Some((index, operation.as_object()?)))
        .flat_map(|(index, members)| {
            members
                .keys()
                .filter(|key| !matches!(key.as_str(), "op" | "path" | "from" | "value"))
                .map(move |key| format!("[{index}].{key}"))
        })
        .collect()
}

/// One operation; what is absent here may still be an error when the operation needs it.
#[derive(Default)]
struct Operation<'a> {
    op: Option<&'a str>,
    path: Option<&'a str>,
    from: Option<&'a str>,
    value: Option<&'a Value>,
}

fn decode(patch: &Value) -> Result<Vec<Operation<'_>>, PatchError> {
    let bad = |got: &Value, wanted: &str| {
        PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {} into Go {wanted}",
            json_type(got)
        ))
    };
    let operations = match patch {
        Value::Null => return Ok(Vec::new()),
        Value::Array(operations) => operations,
        other => return Err(bad(other, "value of type []handlers.jsonPatchOp")),
    };
    let text = |operation: &'_ serde_json::Map<String, Value>, key: &str| match operation.get(key) {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(other) => Err(bad(
            other,
            &format!("struct field jsonPatchOp.{key} of type string"),
        )),
    };
    operations
        .iter()
        .map(|operation| match operation {
            Value::Null => Ok(Operation::default()),
            Value::Object(members) => {
                for key in ["op", "path", "from"] {
                    text(members, key)?;
                }
                Ok(Operation {
                    op: members.get("op").and_then(Value::as_str),
                    path: members.get("path").and_then(Value::as_str),
                    from: members.get("from").and_then(Value::as_str),
                    value: members.get("value"),
                })
            }
            other => Err(bad(other, "value of type handlers.jsonPatchOp")),
        })
        .collect()
}

struct Patcher {
    document: Value,
    /// Bytes of JSON added by `copy`; at most [`MAX_COPY_BYTES`].
    copied: usize,
    /// Elements touched; at most [`MAX_STEPS`].
    steps: usize,
}

type Outcome<T = ()> = Result<T, String>;

impl Patcher {
    fn run(&mut self, operation: &Operation<'_>) -> Outcome {
        let path = |path: Option<&str>| path.map(Pointer::parse).ok_or("path or from is missing");
        let value = || operation.value.cloned().unwrap_or_default();
        match operation.op {
            Some("add") => self.add(&path(operation.path)?, value()),
            Some("remove") => self.remove(&path(operation.path)?).map(drop),
            Some("replace") => self.replace(&path(operation.path)?, operation.value),
            Some("move") => {
                let moved = self.remove(&path(operation.from)?)?;
                self.add(&path(operation.path)?, moved)
            }
            Some("copy") => {
                let copied = self.copy(&path(operation.from)?)?;
                self.add(&path(operation.path)?, copied)
            }
            Some("test") => self.test(&path(operation.path)?, operation.value),
            other => Err(format!("unexpected kind: {}", other.unwrap_or("unknown"))),
        }
    }

    fn add(&mut self, pointer: &Pointer, value: Value) -> Outcome {
        self.spend_depth(pointer, &value)?;
        let key = pointer.key()?;
        let shifted = match pointer.parent(&mut self.document)? {
            Value::Object(members) => {
                members.insert(key.to_owned(), value);
                0
            }
            Value::Array(elements) if key == "-" => {
                elements.push(value);
                0
            }
            Value::Array(elements) => {
                let index = index(key, elements.len() + 1)?;
                elements.insert(index, value);
                elements.len()
            }
            _ => return Err(pointer.missing()),
        };
        self.spend(shifted)
    }

    fn remove(&mut self, pointer: &Pointer) -> Outcome<Value> {
        let key = pointer.key()?;
        let (removed, shifted) = match pointer.parent(&mut self.document)? {
            Value::Object(members) => (members.remove(key).ok_or_else(|| pointer.missing())?, 0),
            Value::Array(elements) => {
                let index = index(key, elements.len())?;
                (elements.remove(index), elements.len())
            }
            _ => return Err(pointer.missing()),
        };
        self.spend(shifted)?;
        Ok(removed)
    }

    fn replace(&mut self, pointer: &Pointer, value: Option<&Value>) -> Outcome {
        if pointer.is_root() {
            return match value {
                Some(Value::Null) | None => Err("the document cannot be null".to_owned()),
                Some(value @ (Value::Object(_) | Value::Array(_))) => {
                    self.spend_depth(pointer, value)?;
                    self.document = value.clone();
                    Ok(())
                }
                // The library loses its own error here: nothing happens.
                Some(_) => Ok(()),
            };
        }
        let value = value.cloned().unwrap_or_default();
        self.spend_depth(pointer, &value)?;
        let key = pointer.key()?;
        match pointer.parent(&mut self.document)? {
            Value::Object(members) => {
                members.insert(key.to_owned(), value);
            }
            Value::Array(elements) => {
                let index = index(key, elements.len())?;
                elements[index] = value;
            }
            _ => return Err(pointer.missing()),
        }
        Ok(())
    }

    fn copy(&mut self, pointer: &Pointer) -> Outcome<Value> {
        let value = pointer.get(&mut self.document)?.cloned();
        if let Some(value) = &value {
            self.copied = self.copied.saturating_add(value.to_string().len());
            if self.copied > MAX_COPY_BYTES {
                return Err(format!("the copies exceed {MAX_COPY_BYTES} bytes"));
            }
        }
        Ok(value.unwrap_or_default())
    }

    fn test(&mut self, pointer: &Pointer, wanted: Option<&Value>) -> Outcome {
        let found = pointer.get(&mut self.document)?;
        if *found.unwrap_or(&Value::Null) == *wanted.unwrap_or(&Value::Null) {
            return Ok(());
        }
        Err(format!("test of {} failed", pointer.text))
    }

    fn spend(&mut self, steps: usize) -> Outcome {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAX_STEPS {
            return Err("the patch moves too much".to_owned());
        }
        Ok(())
    }

    /// Refuses a value that would make the document deeper than [`MAX_DEPTH`].
    fn spend_depth(&mut self, pointer: &Pointer, value: &Value) -> Outcome {
        let (depth, size) = measure(value);
        self.spend(size)?;
        if pointer.parts.len() + depth > MAX_DEPTH {
            return Err(format!("the object gets deeper than {MAX_DEPTH}"));
        }
        Ok(())
    }
}

/// Depth and number of values of `value`. Recursion is bounded, as what is measured is part of a
/// decoded body or of a document that was measured before.
fn measure(value: &Value) -> (usize, usize) {
    let inner = |(depth, size): (usize, usize), value: &Value| {
        let (inner_depth, inner_size) = measure(value);
        (depth.max(inner_depth), size + inner_size)
    };
    let (depth, size) = match value {
        Value::Object(members) => members.values().fold((0, 0), inner),
        Value::Array(elements) => elements.iter().fold((0, 0), inner),
        _ => return (0, 1),
    };
    (depth + 1, size + 1)
}

/// Where an operation points: unescaped elements below the document.
struct Pointer {
    text: String,
    parts: Vec<String>,
}

impl Pointer {
    fn parse(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            parts: text.split('/').skip(1).map(unescape).collect(),
        }
    }

    fn is_root(&self) -> bool {
        self.text.is_empty()
    }

    fn missing(&self) -> String {
        format!("nothing is at {:?}", self.text)
    }

    /// The last element.
    fn key(&self) -> Outcome<&str> {
        self.parts
            .last()
            .map(String::as_str)
            .ok_or_else(|| self.missing())
    }

    /// The object or array that holds, or would hold, the last element.
    fn parent<'a>(&self, document: &'a mut Value) -> Outcome<&'a mut Value> {
        let above = self.parts.len().saturating_sub(1);
        let mut at = document;
        for part in &self.parts[..above] {
            at = match at {
                Value::Object(members) => members.get_mut(part).ok_or_else(|| self.missing())?,
                Value::Array(elements) => {
                    let index = index(part, elements.len())?;
                    &mut elements[index]
                }
                _ => return Err(self.missing()),
            };
        }
        Ok(at)
    }

    /// The value; `None` for a missing member of an existing object.
    fn get<'a>(&self, document: &'a mut Value) -> Outcome<Option<&'a Value>> {
        let key = self.key()?;
        match self.parent(document)? {
            Value::Object(members) => Ok(members.get(key)),
            Value::Array(elements) => {
                let index = index(key, elements.len())?;
                Ok(elements.get(index))
            }
            _ => Err(self.missing()),
        }
    }
}

/// `~1` is `/` and `~0` is `~`, in one pass.
fn unescape(part: &str) -> String {
    let mut parts = part.split('~');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        match rest.as_bytes().first() {
            Some(b'1') => {
                text.push('/');
                text.push_str(&rest[1..]);
            }
            Some(b'0') => {
                text.push('~');
                text.push_str(&rest[1..]);
            }
            _ => {
                text.push('~');
                text.push_str(rest);
            }
        }
    }
    text
}

/// An index below `len`; a negative one counts from the end.
fn index(key: &str, len: usize) -> Outcome<usize> {
    let number: isize = key
        .parse()
        .map_err(|_| format!("{key:?} is no index of an array"))?;
    let index = if number < 0 {
        len.checked_sub(number.unsigned_abs())
    } else {
        Some(number.unsigned_abs())
    };
    index
        .filter(|index| *index < len)
        .ok_or_else(|| format!("index {number} is out of range"))
}

#[cfg(test)]
mod tests;
