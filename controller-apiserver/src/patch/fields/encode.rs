//! `FieldsV1`: sets of paths as JSON.

use serde_json::{Map, Value};

use super::{Element, Set};

impl Set {
    /// The `fieldsV1` of an entry.
    pub(crate) fn encode(&self) -> Value {
        self.encode_node(false)
    }

    fn encode_node(&self, itself: bool) -> Value {
        let mut object = Map::new();
        if itself {
            object.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for element in self.nodes() {
            let value = match self.children.get(element) {
                Some(child) => child.encode_node(self.members.contains(element)),
                None => Value::Object(Map::new()),
            };
            object.insert(element.encode(), value);
        }
        Value::Object(object)
    }

    /// Reads `fieldsV1`. Kinds of elements that nobody knows yet are dropped.
    ///
    /// # Errors
    ///
    /// The text of what was wrong.
    pub(crate) fn decode(fields: &Value) -> Result<Self, String> {
        let (set, _) = Self::decode_node(fields)?;
        Ok(set)
    }

    /// The set below a node, and whether the node itself is in the set of its parent.
    fn decode_node(fields: &Value) -> Result<(Self, bool), String> {
        let members = match fields {
            Value::Object(members) => members,
            Value::Null => return Ok((Self::default(), true)),
            other => return Err(format!("fields must be an object, got {other}")),
        };
        let mut set = Self::default();
        let mut itself = false;
        for (key, value) in members {
            if key == "." {
                itself = true;
                continue;
            }
            let Some(element) = Element::decode(key)? else {
                continue;
            };
            let (child, is_member) = Self::decode_node(value)?;
            if !child.is_empty() {
                set.children.insert(element.clone(), child);
            }
            if is_member {
                set.members.insert(element);
            }
        }
        let childless = set.is_empty();
        Ok((set, itself || childless))
    }
}

impl Element {
    fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                // Written by hand, as the order of the fields must not depend on the map type.
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
                    .collect();
                format!("k:{{{}}}", fields.join(","))
            }
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// `None` for a kind of element that is not known.
    fn decode(text: &str) -> Result<Option<Self>, String> {
        let Some((kind, rest)) = text.split_once(':').filter(|(kind, _)| kind.len() == 1) else {
            return Err(format!("{text:?} is no path element"));
        };
        let json =
            || serde_json::from_str::<Value>(rest).map_err(|error| format!("path element {text:?}: {error}"));
        Ok(Some(match kind {
            "f" => Self::Field(rest.to_owned()),
            "v" => Self::Value(json()?),
            "k" => match json()? {
                Value::Object(fields) => {
                    let mut fields: Vec<_> = fields.into_iter().collect();
                    fields.sort_by(|left, right| left.0.cmp(&right.0));
                    Self::Key(fields)
                }
                _ => return Err(format!("the key of {text:?} must be an object")),
            },
            "i" => match rest.parse() {
                Ok(index) => Self::Index(index),
                Err(_) => return Err(format!("{text:?} is no index")),
            },
            _ => return Ok(None),
        }))
    }
}
