//! Strategic merge patch, the format of built-in kinds alone.
//!
//! Maps are merged and `null` removes, as in a merge patch. A list is merged where the type says so
//! (`x-kubernetes-patch-strategy: merge`): by its merge key, or as a set of scalars; elsewhere it is
//! replaced. Directives: `$patch` (`replace`, `delete`), `$retainKeys`,
//! `$deleteFromPrimitiveList/field`, `$setElementOrder/field`. New elements come first, unless an
//! order is given. A directive that makes no sense is an error with code 500, as servers answer.

mod list;

use serde_json::{Map as Object, Value};

use super::{
    PatchError,
    typed::{Field, Map, PatchStrategy, Schema, Type},
};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

type Members = Object<String, Value>;
type Outcome<T = ()> = Result<T, PatchError>;

/// Applies `patch` to a copy of `target`, whose kind has this schema.
///
/// ```
/// use controller_apiserver::patch::{strategic, typed};
/// use serde_json::json;
///
/// let schema = typed::builtin("", "v1", "Service").unwrap();
/// let service = json!({"spec": {"ports": [{"port": 80, "name": "web"}]}});
/// let patch = json!({"spec": {"ports": [{"port": 80, "nodePort": 30000}]}});
/// assert_eq!(
///     strategic::apply(&service, &patch, &schema).unwrap(),
///     json!({"spec": {"ports": [{"port": 80, "name": "web", "nodePort": 30000}]}})
/// );
/// ```
///
/// # Errors
///
/// [`PatchError`]; mostly [`PatchError::Internal`].
pub fn apply(target: &Value, patch: &Value, schema: &Schema) -> Result<Value, PatchError> {
    let patch = match patch {
        Value::Object(patch) => patch.clone(),
        Value::Null => return Ok(target.clone()),
        other => return Err(PatchError::not_a(other, "value of type map[string]interface {}")),
    };
    let target = target.as_object().cloned().unwrap_or_default();
    let merged = Merger { schema }.maps(target, patch, Some(schema.root()))?;
    Ok(Value::Object(merged))
}

/// What a member of a map is: its type and how it is patched.
struct Member<'s> {
    ty: &'s Type,
    patch: PatchStrategy,
}

struct Merger<'s> {
    schema: &'s Schema,
}

impl<'s> Merger<'s> {
    fn maps(&self, mut target: Members, mut patch: Members, ty: Option<&Type>) -> Outcome<Members> {
        if let Some(directive) = patch.get(PATCH) {
            return match directive.as_str() {
                Some("replace") => {
                    patch.remove(PATCH);
                    Ok(patch)
                }
                Some("delete") => Ok(Object::new()),
                _ => Err(bad_directive(directive, &patch)),
            };
        }
        retain_keys(&mut target, &mut patch)?;
        self.ordered_lists(&mut target, &mut patch, ty)?;
        for (key, value) in patch {
            match parallel(&key, DELETE_FROM)? {
                Some(list) => self.delete_from(&mut target, list, value, ty)?,
                None => self.member(&mut target, key, value, ty)?,
            }
        }
        Ok(target)
    }

    fn member(&self, target: &mut Members, key: String, value: Value, ty: Option<&Type>) -> Outcome {
        let Some(slot) = target.get_mut(&key).filter(|_| !value.is_null()) else {
            match without_directives(without_nulls(value)) {
                Some(value) if !value.is_null() => target.insert(key, value),
                _ => target.remove(&key),
            };
            return Ok(());
        };
        let merged = match (slot.take(), value) {
            (Value::Object(old), Value::Object(new)) => {
                let member = self.lookup(ty, &key)?;
                if member.patch.replace {
                    Value::Object(new)
                } else {
                    Value::Object(self.maps(old, new, Some(member.ty))?)
                }
            }
            (Value::Array(old), Value::Array(new)) => {
                let member = self.lookup(ty, &key)?;
                Value::Array(self.lists(old, new, &member)?)
            }
            (_, value) => without_directives(without_nulls(value)).unwrap_or_default(),
        };
        *slot = merged;
        Ok(())
    }

    /// Lists whose order is given are merged first, and taken out of the patch.
    fn ordered_lists(&self, target: &mut Members, patch: &mut Members, ty: Option<&Type>) -> Outcome {
        let keys: Vec<String> = patch.keys().cloned().collect();
        for directive in keys {
            let Some(key) = parallel(&directive, SET_ORDER)? else {
                continue;
            };
            let order = list_of(patch.remove(&directive).unwrap_or_default())?;
            let old = target.get(key).cloned().map(list_of).transpose()?;
            let new = patch.get(key).cloned().map(list_of).transpose()?;
            let member = self.lookup(ty, key)?;
            if let Some(merged) = self.ordered(old, new, &order, &member)? {
                target.insert(key.to_owned(), Value::Array(merged));
                patch.remove(key);
            }
        }
        Ok(())
    }

    fn delete_from(&self, target: &mut Members, key: &str, deleted: Value, ty: Option<&Type>) -> Outcome {
        if deleted.is_null() {
            target.remove(key);
            return Ok(());
        }
        let (Some(Value::Array(old)), Value::Array(deleted)) = (target.get(key), deleted) else {
            return Ok(());
        };
        let old = old.clone();
        let member = self.lookup(ty, key)?;
        let kept = self.deleted(old, deleted, &member)?;
        target.insert(key.to_owned(), Value::Array(kept));
        Ok(())
    }

    fn lookup(&self, ty: Option<&Type>, key: &str) -> Outcome<Member<'s>> {
        let map = ty.and_then(|ty| ty.map.as_ref());
        let none = || {
            PatchError::Internal(format!(
                "unable to find api field in struct for the json field {key:?}"
            ))
        };
        let Map { fields, element, .. } = map.ok_or_else(none)?;
        let (ty, patch) = match fields.get(key) {
            Some(Field { ty, patch, .. }) => (*ty, patch.clone()),
            None => (element.ok_or_else(none)?, PatchStrategy::default()),
        };
        let ty = self.schema.get(ty);
        Ok(Member { ty, patch })
    }
}

/// The field of a directive such as `$setElementOrder/field`; `None` for another key.
fn parallel<'k>(key: &'k str, directive: &str) -> Outcome<Option<&'k str>> {
    let Some(rest) = key.strip_prefix(directive) else {
        return Ok(None);
    };
    match rest.strip_prefix('/') {
        Some(field) => Ok(Some(field)),
        None => Err(PatchError::Malformed(if directive == DELETE_FROM {
            "invalid patch format of primitive list".to_owned()
        } else {
            "invalid patch format of setElementOrder list".to_owned()
        })),
    }
}

/// `$retainKeys`: what is not in its list goes away, and the patch may have nothing else.
fn retain_keys(target: &mut Members, patch: &mut Members) -> Outcome {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let malformed = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
    let keys = keys.as_array().ok_or_else(malformed)?;
    let retained = |key: &str| keys.iter().any(|retained| retained == key);
    for (key, value) in &*patch {
        let directive = key.starts_with(DELETE_FROM) || key.starts_with(SET_ORDER);
        if !value.is_null() && !directive && !retained(key) {
            return Err(malformed());
        }
    }
    target.retain(|key, _| retained(key));
    Ok(())
}

fn list_of(value: Value) -> Outcome<Vec<Value>> {
    match value {
        Value::Array(elements) => Ok(elements),
        other => Err(PatchError::Internal(format!(
            "expected a []interface {{}}, but received a {}",
            go_type(&other)
        ))),
    }
}

fn bad_directive(directive: &Value, map: &Members) -> PatchError {
    PatchError::Internal(format!(
        "unknown patch type: {} in map: {}",
        go_text(directive),
        go_map(map)
    ))
}

/// A value of which no object has a `null` member.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_nulls(value)))
            .collect(),
        Value::Array(elements) => elements.into_iter().map(without_nulls).collect(),
        scalar => scalar,
    }
}

/// A value without objects that are directives; `None` if it is one itself.
fn without_directives(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(members) if members.contains_key(PATCH) => return None,
        Value::Object(members) => members
            .into_iter()
            .filter_map(|(key, value)| Some((key, without_directives(value)?)))
            .collect(),
        Value::Array(elements) => elements.into_iter().filter_map(without_directives).collect(),
        scalar => scalar,
    })
}

/// How Go prints a value with `%v`: these errors are full of it.
fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(go_text).collect();
            format!("[{}]", elements.join(" "))
        }
        Value::Object(members) => go_map(members),
        scalar => scalar.to_string(),
    }
}

fn go_map(members: &Members) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("{key}:{}", go_text(value)))
        .collect();
    format!("map[{}]", members.join(" "))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests;
