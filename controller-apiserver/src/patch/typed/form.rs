//! The form of built-in objects: what their Go types add, drop and turn into something else.
//!
//! A server decodes a built-in object into a struct and encodes it again. Unknown fields vanish;
//! `null` is nothing, or the zero value inside a map or list; empty maps and lists vanish where the
//! field may be omitted; structs that are no pointers appear empty.
//!
//! Not done, as `OpenAPI` does not tell pointers from values: dropping of `0`, `false` and `""`.

use serde_json::{Map as Object, Value, json};

use super::{Map, Schema, TypeId};

/// Fields that are always written although no document says so.
const ALWAYS: [(&str, &str); 7] = [
    ("Role", "rules"),
    ("ClusterRole", "rules"),
    ("Event", "eventTime"),
    ("Event", "firstTimestamp"),
    ("Event", "lastTimestamp"),
    ("Event", "deprecatedFirstTimestamp"),
    ("Event", "deprecatedLastTimestamp"),
];

impl Schema {
    /// The object of this built-in kind in which nobody has set anything: `{"metadata": {}, …}`.
    ///
    /// Custom resources have no such form; theirs is `{}`.
    pub fn empty(&self) -> Value {
        let mut empty = json!({});
        if let Some(map) = &self.root().map {
            self.fill(map, &mut empty);
        }
        empty
    }

    /// Gives an object of a built-in kind the form a server would store: see the module.
    ///
    /// ```
    /// use controller_apiserver::patch::typed;
    /// use serde_json::json;
    ///
    /// let schema = typed::builtin("", "v1", "ConfigMap").unwrap();
    /// let mut object = json!({"data": {"n": null}, "binaryData": {}, "immutable": null, "x": 1});
    /// schema.normalize(&mut object);
    /// assert_eq!(object, json!({"data": {"n": ""}, "metadata": {}}));
    /// ```
    pub fn normalize(&self, object: &mut Value) {
        let kind = object.get("kind").and_then(Value::as_str);
        let kind = kind.unwrap_or_default().to_owned();
        self.shape(self.root, object);
        if let (Value::Object(members), Some(map)) = (object, &self.root().map) {
            for (_, field) in ALWAYS.iter().filter(|(of, _)| *of == kind) {
                if map.fields.contains_key(*field) {
                    members.entry(*field).or_insert(Value::Null);
                }
            }
        }
    }

    fn shape(&self, ty: TypeId, value: &mut Value) {
        let ty = self.get(ty);
        match value {
            Value::Object(members) => {
                if let Some(map) = &ty.map {
                    self.shape_members(map, members);
                    self.fill(map, value);
                }
            }
            Value::Array(elements) => {
                let Some(list) = &ty.list else { return };
                for element in elements {
                    if element.is_null() {
                        *element = self.zero(list.element);
                    }
                    self.shape(list.element, element);
                }
            }
            _ => {}
        }
    }

    fn shape_members(&self, map: &Map, members: &mut Object<String, Value>) {
        members.retain(|key, value| {
            let Some(field) = map.fields.get(key) else {
                let Some(element) = map.element else {
                    return false;
                };
                if value.is_null() {
                    *value = self.zero(element);
                }
                self.shape(element, value);
                return true;
            };
            self.shape(field.ty, value);
            match value {
                Value::Null => false,
                Value::Array(elements) => field.zero.is_some() || !elements.is_empty(),
                // An empty map vanishes, an empty struct stays: it is a pointer that was set.
                Value::Object(inner) => {
                    let is_struct = self.get(field.ty).map.as_ref();
                    let is_struct = is_struct.is_some_and(|map| !map.fields.is_empty());
                    field.zero.is_some() || is_struct || !inner.is_empty()
                }
                _ => true,
            }
        });
    }

    /// Adds what is always written.
    fn fill(&self, map: &Map, object: &mut Value) {
        let Value::Object(members) = object else {
            return;
        };
        for (name, field) in &map.fields {
            let Some(zero) = &field.zero else { continue };
            if members.contains_key(name) {
                continue;
            }
            let mut zero = zero.clone();
            if let (Value::Object(_), Some(map)) = (&zero, &self.get(field.ty).map) {
                self.fill(map, &mut zero);
            }
            members.insert(name.clone(), zero);
        }
    }

    /// What `null` becomes inside a map or list.
    fn zero(&self, ty: TypeId) -> Value {
        let ty = self.get(ty);
        match (ty.scalar, &ty.map) {
            (Some(super::Scalar::String), _) => json!(""),
            (Some(super::Scalar::Numeric), _) => json!(0),
            (Some(super::Scalar::Boolean), _) => json!(false),
            (None, Some(map)) if !map.fields.is_empty() => json!({}),
            _ => Value::Null,
        }
    }
}
