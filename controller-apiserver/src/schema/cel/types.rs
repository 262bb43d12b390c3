//! Types of expressions, as far as they can be told from the schema.
//!
//! What cannot be told is `Dyn`, which fits everywhere: a rule is refused only if it can never work.

use std::fmt;
use std::sync::LazyLock;

use super::escape::escape;
use crate::schema::node::Node;

/// The type of an expression.
#[derive(Clone, Debug)]
pub(super) enum Type<'s> {
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Timestamp,
    Duration,
    List(Box<Type<'s>>),
    /// A map with text keys, or with keys of any type.
    Map(Box<Type<'s>>),
    /// An object with fields; true if it is a resource.
    Object(&'s Node, bool),
    Optional(Box<Type<'s>>),
    /// A type of the extension libraries: `quantity`, `ip`, …
    Named(&'static str),
}

/// What rules see of the metadata of a resource.
static METADATA: LazyLock<Node> = LazyLock::new(|| {
    let text = || Node {
        type_name: "string".to_owned(),
        ..Node::default()
    };
    Node {
        type_name: "object".to_owned(),
        properties: ["name", "generateName"]
            .map(|name| (name.to_owned(), text()))
            .into(),
        ..Node::default()
    }
});

impl<'s> Type<'s> {
    /// The type of values of a schema; none if rules cannot see them.
    pub(super) fn of(node: &'s Node, resource: bool) -> Option<Self> {
        if node.extensions.int_or_string {
            return Some(Self::Dyn);
        }
        if resource {
            return Some(Self::Object(node, true));
        }
        Some(match node.type_name.as_str() {
            "array" => Self::List(Box::new(Self::of_child(node.items.as_deref()?)?)),
            "object" => match node.values() {
                Some(values) => Self::Map(Box::new(Self::of_child(values)?)),
                None => Self::Object(node, false),
            },
            "boolean" => Self::Bool,
            "integer" => Self::Int,
            "number" => Self::Double,
            "string" => match node.limits.format.as_str() {
                "byte" => Self::Bytes,
                "duration" => Self::Duration,
                "date" | "date-time" | "datetime" => Self::Timestamp,
                _ => Self::Text,
            },
            _ => return None,
        })
    }

    fn of_child(node: &'s Node) -> Option<Self> {
        Self::of(node, node.extensions.embedded_resource)
    }

    /// The type of a field of an object, by the name rules use.
    pub(super) fn field(node: &'s Node, resource: bool, written: &str) -> Option<Self> {
        if resource {
            match written {
                "apiVersion" | "kind" => return Some(Self::Text),
                "metadata" => return Some(Self::Object(&METADATA, false)),
                _ => {}
            }
        }
        let (_, property) = property(node, written)?;
        Self::of_child(property)
    }

    /// True if a value of one type can be one of the other: if they can be compared.
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::List(a), Self::List(b))
            | (Self::Map(a), Self::Map(b))
            | (Self::Optional(a), Self::Optional(b)) => a.meets(b),
            (Self::Object(a, _), Self::Object(b, _)) => {
                std::ptr::eq(*a, *b) || a.properties.keys().eq(b.properties.keys())
            }
            (Self::Named(a), Self::Named(b)) => a == b,
            (Self::Null, other) | (other, Self::Null) => matches!(
                other,
                Self::Null
                    | Self::Object(..)
                    | Self::Optional(_)
                    | Self::Timestamp
                    | Self::Duration
                    | Self::Named(_)
            ),
            (a, b) if a.is_number() && b.is_number() => true,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// The common type of two branches.
    pub(super) fn join(self, other: &Self) -> Self {
        if std::mem::discriminant(&self) == std::mem::discriminant(other) {
            self
        } else {
            Self::Dyn
        }
    }
}

/// The property that rules write as `written`, with its real name.
pub(super) fn property<'s>(node: &'s Node, written: &str) -> Option<(&'s String, &'s Node)> {
    if !written.contains("__")
        && let Some(found) = node.properties.get_key_value(written)
        && escape(written).as_deref() == Some(written)
    {
        return Some(found);
    }
    node.properties
        .iter()
        .find(|(name, _)| escape(name).as_deref() == Some(written))
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::Text => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("google.protobuf.Timestamp"),
            Self::Duration => f.write_str("google.protobuf.Duration"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(value) => write!(f, "map(string, {value})"),
            Self::Object(..) => f.write_str("object"),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Named(name) => f.write_str(name),
        }
    }
}
