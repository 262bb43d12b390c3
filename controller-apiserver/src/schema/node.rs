//! The parsed form of one level of a schema.
//!
//! One type serves both the structural part and the value validations under `allOf`, `anyOf`,
//! `oneOf` and `not`: the server runs the same validator over both, and the structural rules
//! (`rules.rs`) see to it that only the first kind carries types and defaults.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::cel::Rule;

/// One level of a schema.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// `type`; empty if not given.
    pub type_name: String,
    /// `nullable`.
    pub nullable: bool,
    /// `default`; a default of null is none.
    pub default: Option<Value>,
    /// `properties`.
    pub properties: BTreeMap<String, Node>,
    /// `additionalProperties`.
    pub additional: Option<Additional>,
    /// `items`.
    pub items: Option<Box<Node>>,
    /// The `x-kubernetes-*` keywords.
    pub extensions: Extensions,
    /// The keywords that restrict values.
    pub limits: Limits,
    /// `allOf`.
    pub all_of: Vec<Node>,
    /// `anyOf`.
    pub any_of: Vec<Node>,
    /// `oneOf`.
    pub one_of: Vec<Node>,
    /// `not`.
    pub not: Option<Box<Node>>,
    /// `x-kubernetes-validations`.
    pub rules: Vec<Rule>,
    /// There are rules here or further below.
    pub(crate) has_rules: bool,
}

/// `additionalProperties`: a schema, or whether there may be any.
#[derive(Clone, Debug)]
pub enum Additional {
    /// `true` or `false`.
    Allowed(bool),
    /// The schema of every value.
    Schema(Box<Node>),
}

/// The `x-kubernetes-*` keywords of one level.
#[expect(clippy::struct_excessive_bools, reason = "keywords as they are")]
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-list-type`.
    pub list_type: ListType,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: Vec<String>,
    /// `x-kubernetes-map-type` is `atomic`.
    pub atomic_map: bool,
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// Replaced as a whole; the default.
    #[default]
    Atomic,
    /// Unique elements.
    Set,
    /// Elements with unique keys.
    Map,
}

/// The keywords that restrict values.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// `format`; one that the server does not know is none.
    pub format: String,
    /// `minimum`.
    pub minimum: Option<f64>,
    /// `maximum`.
    pub maximum: Option<f64>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: bool,
    /// `exclusiveMaximum`.
    pub exclusive_maximum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `minLength`, in characters.
    pub min_length: Option<i64>,
    /// `maxLength`, in characters.
    pub max_length: Option<i64>,
    /// `pattern`, as written and compiled.
    pub pattern: Option<(String, Regex)>,
    /// `minItems`.
    pub min_items: Option<i64>,
    /// `maxItems`.
    pub max_items: Option<i64>,
    /// `uniqueItems`.
    pub unique_items: bool,
    /// `minProperties`.
    pub min_properties: Option<i64>,
    /// `maxProperties`.
    pub max_properties: Option<i64>,
    /// `required`.
    pub required: Vec<String>,
    /// `enum`; empty if not given.
    pub allowed: Vec<Value>,
}

impl Node {
    /// The schema of the member `name`: its property, else that of all others.
    pub fn member(&self, name: &str) -> Option<&Node> {
        self.properties.get(name).or_else(|| self.values())
    }

    /// The schema of the values of a map.
    pub fn values(&self) -> Option<&Node> {
        match &self.additional {
            Some(Additional::Schema(node)) => Some(node),
            _ => None,
        }
    }

    /// The element of `old` that has the same keys as `new`, in a list of which this is the schema.
    pub(crate) fn same_element<'a>(&self, new: &Value, old: &'a [Value]) -> Option<&'a Value> {
        let keys = &self.extensions.list_map_keys;
        if keys.is_empty() || !new.is_object() {
            return None;
        }
        old.iter()
            .find(|old| old.is_object() && keys.iter().all(|key| old.get(key) == new.get(key)))
    }

    /// True if a null here stands for absence.
    pub(crate) fn drops_null(&self) -> bool {
        !self.nullable
    }
}
