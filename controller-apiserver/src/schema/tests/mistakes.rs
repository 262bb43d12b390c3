//! Mistakes made in an object, wherever its schema makes them mistakes.

use serde_json::{Value, json};

use crate::schema::{ListType, Node};

/// A kind of mistake: what it makes of a value, and which cause it must lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mistake {
    WrongType,
    MissingRequired,
    NotInEnum,
    AgainstPattern,
    TooLong,
    TooMany,
    OutOfRange,
    UnknownField,
    Duplicate,
}

/// A broken copy of an object, where it is broken, and with which reason it must be refused.
pub(super) struct Broken {
    pub(super) mistake: Mistake,
    pub(super) object: Value,
    pub(super) field: String,
    pub(super) reason: &'static str,
}

/// A place in an object, as a JSON pointer and as causes write it.
pub(super) struct Place {
    pointer: String,
    field: String,
}

impl Place {
    pub(super) fn new(pointer: impl Into<String>, field: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            field: field.into(),
        }
    }

    fn member(&self, name: &str) -> Self {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        Self::new(
            format!("{}/{escaped}", self.pointer),
            format!("{}.{name}", self.field),
        )
    }

    fn element(&self, index: usize) -> Self {
        Self::new(
            format!("{}/{index}", self.pointer),
            format!("{}[{index}]", self.field),
        )
    }

    /// The object with another value here.
    fn with(&self, root: &Value, value: Value) -> Value {
        let mut object = root.clone();
        *object.pointer_mut(&self.pointer).expect("a place") = value;
        object
    }

    /// The object with nothing here.
    fn without(&self, root: &Value) -> Value {
        let mut object = root.clone();
        let (parent, name) = self.pointer.rsplit_once('/').expect("a member");
        let parent = object.pointer_mut(parent).and_then(Value::as_object_mut);
        parent.expect("a parent").remove(name);
        object
    }
}

/// Every mistake that can be made at a place of an object and below it.
pub(super) fn mistakes(root: &Value, value: &Value, place: &Place, node: &Node, found: &mut Vec<Broken>) {
    let mut make = |mistake, field: &str, reason, new: Value| {
        found.push(Broken {
            mistake,
            object: place.with(root, new),
            field: field.to_owned(),
            reason,
        });
    };
    let field = &place.field;
    if !node.type_name.is_empty() && !node.extensions.int_or_string {
        let wrong = if node.type_name == "boolean" {
            json!("x")
        } else {
            json!(true)
        };
        make(Mistake::WrongType, field, "FieldValueTypeInvalid", wrong);
    }
    for (mistake, reason, wrong) in wrong_scalars(value, node) {
        make(mistake, field, reason, wrong);
    }
    match value {
        Value::Array(items) => {
            for (mistake, index, reason, wrong) in wrong_lists(items, node) {
                make(mistake, &format!("{field}{index}"), reason, wrong);
            }
            for (index, item) in items.iter().enumerate() {
                if let Some(node) = &node.items {
                    mistakes(root, item, &place.element(index), node, found);
                }
            }
        }
        Value::Object(map) => {
            if !node.properties.is_empty() && !node.extensions.preserve_unknown_fields {
                let mut more = map.clone();
                more.insert("noSuchField".to_owned(), json!(1));
                make(
                    Mistake::UnknownField,
                    &format!("{field}.noSuchField"),
                    "",
                    more.into(),
                );
            }
            for name in required(map, node) {
                let place = place.member(name);
                found.push(Broken {
                    mistake: Mistake::MissingRequired,
                    object: place.without(root),
                    field: place.field,
                    reason: "FieldValueRequired",
                });
            }
            for (name, member) in map {
                if let Some(node) = node.member(name) {
                    mistakes(root, member, &place.member(name), node, found);
                }
            }
        }
        _ => {}
    }
}

fn wrong_scalars(value: &Value, node: &Node) -> Vec<(Mistake, &'static str, Value)> {
    let limits = &node.limits;
    let mut all = Vec::new();
    match value {
        Value::String(_) => {
            if !limits.allowed.is_empty() {
                all.push((
                    Mistake::NotInEnum,
                    "FieldValueNotSupported",
                    json!("no such choice"),
                ));
            }
            let wrong = "\u{1}~ not so ~\u{1}";
            let fits = limits.max_length.is_none_or(|max| max > 20);
            if limits
                .pattern
                .as_ref()
                .is_some_and(|(_, pattern)| fits && !pattern.is_match(wrong))
            {
                all.push((Mistake::AgainstPattern, "FieldValueInvalid", json!(wrong)));
            }
            if let Some(max) = limits.max_length {
                let long = "a".repeat(usize::try_from(max).expect("a length") + 1);
                all.push((Mistake::TooLong, "FieldValueTooLong", json!(long)));
            }
        }
        Value::Number(_) => {
            if let Some(max) = limits.maximum {
                all.push((Mistake::OutOfRange, "FieldValueInvalid", json!(max + 1.0)));
            }
        }
        _ => {}
    }
    all
}

fn wrong_lists(items: &[Value], node: &Node) -> Vec<(Mistake, &'static str, &'static str, Value)> {
    let Some(item) = items.first() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let max = node.limits.max_items;
    if let Some(max) = max.filter(|max| *max < 100) {
        let many = vec![item.clone(); usize::try_from(max).expect("a number") + 1];
        all.push((Mistake::TooMany, "", "FieldValueTooMany", many.into()));
    }
    if node.extensions.list_type == ListType::Map && max.is_none_or(|max| max > 1) {
        all.push((
            Mistake::Duplicate,
            "[1]",
            "FieldValueDuplicate",
            json!([item, item]),
        ));
    }
    all
}

/// Required members that nothing is filled in for.
fn required<'a>(map: &serde_json::Map<String, Value>, node: &'a Node) -> Vec<&'a String> {
    let bare = |name: &&String| {
        node.properties
            .get(*name)
            .is_some_and(|node| node.default.is_none())
    };
    node.limits
        .required
        .iter()
        .filter(|name| map.contains_key(*name))
        .filter(bare)
        .collect()
}
