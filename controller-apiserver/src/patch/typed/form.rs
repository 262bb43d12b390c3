//! The empty form of built-in objects: Go writes structs that are no pointers even when nobody has
//! set anything in them.

use serde_json::{Value, json};

use super::{Map, Schema};

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
}
