//! `metadata.managedFields`: who owns which fields, read and written.

use std::{collections::BTreeMap, fmt};

use serde_json::{Map, Value, json};

use crate::patch::fields::Set;

/// What kind of write an entry is about. The two of one manager are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    /// Server-side apply.
    Apply,
    /// Every other write.
    Update,
}

impl Operation {
    fn text(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Whose an entry is. An applier keeps its entry when it changes to another version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) manager: String,
    pub(super) operation: Operation,
    /// Empty for [`Operation::Apply`].
    pub(super) api_version: String,
    pub(super) subresource: String,
}

impl Key {
    pub(super) fn new(manager: &super::Manager<'_>, operation: Operation) -> Self {
        let name = if manager.name.is_empty() {
            "unknown"
        } else {
            manager.name
        };
        Self {
            manager: name.to_owned(),
            operation,
            api_version: match operation {
                Operation::Apply => String::new(),
                Operation::Update => manager.api_version.to_owned(),
            },
            subresource: manager.subresource.to_owned(),
        }
    }
}

/// As it stands in conflicts.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.manager)?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {:?}", self.subresource)?;
        }
        match self.operation {
            Operation::Apply => Ok(()),
            Operation::Update => write!(f, " using {}", self.api_version),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) fields: Set,
    pub(super) api_version: String,
    /// When values last changed, in seconds; RFC 3339.
    pub(super) time: Option<String>,
}

/// All entries of an object. Invariant: none is without fields, once an operation is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Managed(pub(super) BTreeMap<Key, Entry>);

impl Managed {
    /// The entries of an object; none where it has no `managedFields`.
    ///
    /// # Errors
    ///
    /// The text of what is wrong with an entry.
    pub(super) fn of(object: &Value) -> Result<Self, String> {
        match &object["metadata"]["managedFields"] {
            Value::Null => Ok(Self::default()),
            Value::Array(entries) => Self::decode(entries),
            other => Err(format!("managedFields must be a list, got {other}")),
        }
    }

    pub(super) fn decode(entries: &[Value]) -> Result<Self, String> {
        let mut managed = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            let operation = match entry["operation"].as_str() {
                Some("Apply") => Operation::Apply,
                Some("Update") => Operation::Update,
                _ => return Err("operation must be `Apply` or `Update`".to_owned()),
            };
            let api_version = text("apiVersion");
            if api_version.is_empty() {
                return Err("apiVersion must not be empty".to_owned());
            }
            match text("fieldsType").as_str() {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
                other => {
                    return Err(format!(
                        "invalid fieldsType {other:?} in managed fields entry {index}"
                    ));
                }
            }
            let fields = match &entry["fieldsV1"] {
                Value::Null => Set::default(),
                fields => Set::decode(fields)?,
            };
            let key = Key {
                manager: text("manager"),
                operation,
                api_version: match operation {
                    Operation::Apply => String::new(),
                    Operation::Update => api_version.clone(),
                },
                subresource: text("subresource"),
            };
            let time = entry["time"].as_str().map(str::to_owned);
            managed.insert(
                key,
                Entry {
                    fields,
                    api_version,
                    time,
                },
            );
        }
        Ok(Self(managed))
    }

    /// The list of entries: appliers first, then by time and name. `None` if there are none.
    pub(super) fn encode(&self) -> Option<Value> {
        let mut entries: Vec<(&Key, &Entry)> = self.0.iter().collect();
        entries.sort_by(|(left, l), (right, r)| {
            let order = |key: &Key, entry: &Entry| {
                (
                    key.operation,
                    entry.time.clone(),
                    key.manager.clone(),
                    entry.api_version.clone(),
                    key.subresource.clone(),
                )
            };
            order(left, l).cmp(&order(right, r))
        });
        let entries: Vec<Value> = entries.into_iter().map(encode_entry).collect();
        (!entries.is_empty()).then_some(Value::Array(entries))
    }

    /// Writes the entries into an object, or takes `managedFields` away.
    pub(super) fn store(&self, object: &mut Value) {
        strip(object);
        if let Some(entries) = self.encode() {
            object["metadata"]["managedFields"] = entries;
        }
    }
}

fn encode_entry((key, entry): (&Key, &Entry)) -> Value {
    let mut object = Map::new();
    let texts = [
        ("manager", key.manager.as_str()),
        ("operation", key.operation.text()),
        ("apiVersion", entry.api_version.as_str()),
        ("time", entry.time.as_deref().unwrap_or_default()),
        ("fieldsType", "FieldsV1"),
        ("subresource", key.subresource.as_str()),
    ];
    for (name, text) in texts {
        if !text.is_empty() {
            object.insert(name.to_owned(), json!(text));
        }
    }
    object.insert("fieldsV1".to_owned(), entry.fields.encode());
    Value::Object(object)
}

/// Takes `managedFields` out of an object: it owns no fields itself.
pub(super) fn strip(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Whether a client asks that ownership be forgotten: an empty list, or one empty entry.
pub(super) fn is_reset(object: &Value) -> bool {
    match object["metadata"]["managedFields"].as_array() {
        Some(entries) => match entries.as_slice() {
            [] => true,
            [only] => only.as_object().is_some_and(Map::is_empty),
            _ => false,
        },
        None => false,
    }
}
