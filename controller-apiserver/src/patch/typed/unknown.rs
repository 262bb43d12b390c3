//! Fields that a kind does not have.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Schema, TypeId};

impl Schema {
    /// The paths of fields that the kind does not declare, as servers write them in warnings:
    /// `spec.template.spec.containers[0].imagePull`. Names are case sensitive.
    ///
    /// ```
    /// use controller_apiserver::patch::typed;
    /// use serde_json::json;
    ///
    /// let schema = typed::builtin("", "v1", "ConfigMap").unwrap();
    /// let object = json!({"metadata": {"nme": "x"}, "data": {"any": "y"}, "more": 1});
    /// assert_eq!(schema.unknown_fields(&object), ["metadata.nme", "more"]);
    /// ```
    pub fn unknown_fields(&self, object: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.look(self.root, object, &mut String::new(), &mut found);
        found
    }

    fn look(&self, ty: TypeId, value: &Value, path: &mut String, found: &mut Vec<String>) {
        let ty = self.get(ty);
        let length = path.len();
        match value {
            Value::Object(members) => {
                let Some(map) = &ty.map else { return };
                for (key, value) in members {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                    match map.member(key) {
                        Some(ty) => self.look(ty, value, path, found),
                        None => found.push(path.clone()),
                    }
                    path.truncate(length);
                }
            }
            Value::Array(elements) => {
                let Some(list) = &ty.list else { return };
                for (index, element) in elements.iter().enumerate() {
                    let _ = write!(path, "[{index}]");
                    self.look(list.element, element, path, found);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }
}
