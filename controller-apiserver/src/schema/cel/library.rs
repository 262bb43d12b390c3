//! The functions rules can call: on what, and what they give.
//!
//! The implementations are those of `kube-cel`, but for the few in `native.rs`; a function that is
//! not listed here does not exist, and the CRD that uses it is refused.

use super::types::Type;

/// What a method can be called on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    /// Nothing: a function.
    Nothing,
    Any,
    Text,
    List,
    /// A timestamp, or a timestamp or a duration.
    Time,
    Named(&'static str),
    Optional,
    /// Text or a list.
    TextOrList,
}

/// What a call gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Timestamp,
    Duration,
    Named(&'static str),
    Texts,
    Ints,
    Dyn,
    /// What it was called on.
    Same,
    /// An element of what it was called on.
    Element,
    /// An optional of an element, or of the argument.
    OptionalElement,
    OptionalArgument,
    OptionalDyn,
}

const Q: On = On::Named("quantity");
const IP: On = On::Named("net.IP");
const CIDR: On = On::Named("net.CIDR");
const URL: On = On::Named("kubernetes.URL");
const SEMVER: On = On::Named("kubernetes.Semver");
const FORMAT: On = On::Named("kubernetes.NamedFormat");

/// Every function, sorted by topic: name, target, result.
pub(super) const FUNCTIONS: &[(&str, On, Gives)] = &[
    // Standard
    ("size", On::Nothing, Gives::Int),
    ("size", On::Any, Gives::Int),
    ("contains", On::Text, Gives::Bool),
    ("startsWith", On::Text, Gives::Bool),
    ("endsWith", On::Text, Gives::Bool),
    ("matches", On::Text, Gives::Bool),
    ("matches", On::Nothing, Gives::Bool),
    ("string", On::Nothing, Gives::Text),
    ("bytes", On::Nothing, Gives::Bytes),
    ("int", On::Nothing, Gives::Int),
    ("uint", On::Nothing, Gives::Uint),
    ("double", On::Nothing, Gives::Double),
    ("bool", On::Nothing, Gives::Bool),
    ("dyn", On::Nothing, Gives::Dyn),
    ("type", On::Nothing, Gives::Dyn),
    ("timestamp", On::Nothing, Gives::Timestamp),
    ("duration", On::Nothing, Gives::Duration),
    ("getFullYear", On::Time, Gives::Int),
    ("getMonth", On::Time, Gives::Int),
    ("getDayOfYear", On::Time, Gives::Int),
    ("getDayOfMonth", On::Time, Gives::Int),
    ("getDate", On::Time, Gives::Int),
    ("getDayOfWeek", On::Time, Gives::Int),
    ("getHours", On::Time, Gives::Int),
    ("getMinutes", On::Time, Gives::Int),
    ("getSeconds", On::Time, Gives::Int),
    ("getMilliseconds", On::Time, Gives::Int),
    // Optionals
    ("optional.of", On::Nothing, Gives::OptionalArgument),
    ("optional.ofNonZeroValue", On::Nothing, Gives::OptionalArgument),
    ("optional.none", On::Nothing, Gives::OptionalDyn),
    ("hasValue", On::Optional, Gives::Bool),
    ("value", On::Optional, Gives::Element),
    ("or", On::Optional, Gives::Same),
    ("orValue", On::Optional, Gives::Element),
    // Strings
    ("charAt", On::Text, Gives::Text),
    ("indexOf", On::TextOrList, Gives::Int),
    ("lastIndexOf", On::TextOrList, Gives::Int),
    ("lowerAscii", On::Text, Gives::Text),
    ("upperAscii", On::Text, Gives::Text),
    ("replace", On::Text, Gives::Text),
    ("split", On::Text, Gives::Texts),
    ("substring", On::Text, Gives::Text),
    ("trim", On::Text, Gives::Text),
    ("reverse", On::TextOrList, Gives::Same),
    ("join", On::List, Gives::Text),
    ("format", On::Text, Gives::Text),
    ("strings.quote", On::Nothing, Gives::Text),
    ("find", On::Text, Gives::Text),
    ("findAll", On::Text, Gives::Texts),
    // Lists and sets
    ("isSorted", On::List, Gives::Bool),
    ("sum", On::List, Gives::Element),
    ("min", On::List, Gives::Element),
    ("max", On::List, Gives::Element),
    ("slice", On::List, Gives::Same),
    ("sort", On::List, Gives::Same),
    ("distinct", On::List, Gives::Same),
    ("flatten", On::List, Gives::Dyn),
    ("first", On::List, Gives::OptionalElement),
    ("last", On::List, Gives::OptionalElement),
    ("lists.range", On::Nothing, Gives::Ints),
    ("sets.contains", On::Nothing, Gives::Bool),
    ("sets.equivalent", On::Nothing, Gives::Bool),
    ("sets.intersects", On::Nothing, Gives::Bool),
    // URLs
    ("url", On::Nothing, Gives::Named("kubernetes.URL")),
    ("isURL", On::Nothing, Gives::Bool),
    ("getScheme", URL, Gives::Text),
    ("getHost", URL, Gives::Text),
    ("getHostname", URL, Gives::Text),
    ("getPort", URL, Gives::Text),
    ("getEscapedPath", URL, Gives::Text),
    ("getQuery", URL, Gives::Dyn),
    // Addresses
    ("ip", On::Nothing, Gives::Named("net.IP")),
    ("isIP", On::Nothing, Gives::Bool),
    ("ip.isCanonical", On::Nothing, Gives::Bool),
    ("family", IP, Gives::Int),
    ("isLoopback", IP, Gives::Bool),
    ("isUnspecified", IP, Gives::Bool),
    ("isLinkLocalMulticast", IP, Gives::Bool),
    ("isLinkLocalUnicast", IP, Gives::Bool),
    ("isGlobalUnicast", IP, Gives::Bool),
    ("string", IP, Gives::Text),
    ("cidr", On::Nothing, Gives::Named("net.CIDR")),
    ("isCIDR", On::Nothing, Gives::Bool),
    ("containsIP", CIDR, Gives::Bool),
    ("containsCIDR", CIDR, Gives::Bool),
    ("prefixLength", CIDR, Gives::Int),
    ("masked", CIDR, Gives::Named("net.CIDR")),
    ("ip", CIDR, Gives::Named("net.IP")),
    ("string", CIDR, Gives::Text),
    // Quantities and versions
    ("quantity", On::Nothing, Gives::Named("quantity")),
    ("isQuantity", On::Nothing, Gives::Bool),
    ("isInteger", Q, Gives::Bool),
    ("asInteger", Q, Gives::Int),
    ("asApproximateFloat", Q, Gives::Double),
    ("sign", Q, Gives::Int),
    ("add", Q, Gives::Named("quantity")),
    ("sub", Q, Gives::Named("quantity")),
    ("isGreaterThan", On::Any, Gives::Bool),
    ("isLessThan", On::Any, Gives::Bool),
    ("compareTo", On::Any, Gives::Int),
    ("semver", On::Nothing, Gives::Named("kubernetes.Semver")),
    ("isSemver", On::Nothing, Gives::Bool),
    ("major", SEMVER, Gives::Int),
    ("minor", SEMVER, Gives::Int),
    ("patch", SEMVER, Gives::Int),
    // Named formats
    (
        "format.dns1123Label",
        On::Nothing,
        Gives::Named("kubernetes.NamedFormat"),
    ),
    (
        "format.dns1123Subdomain",
        On::Nothing,
        Gives::Named("kubernetes.NamedFormat"),
    ),
    (
        "format.dns1035Label",
        On::Nothing,
        Gives::Named("kubernetes.NamedFormat"),
    ),
    (
        "format.dns1035LabelPrefix",
        On::Nothing,
        Gives::Named("kubernetes.NamedFormat"),
    ),
    (
        "format.dns1123LabelPrefix",
        On::Nothing,
        Gives::Named("kubernetes.NamedFormat"),
    ),
    (
        "format.dns1123SubdomainPrefix",
        On::Nothing,
        Gives::Named("kubernetes.NamedFormat"),
    ),
    (
        "format.qualifiedName",
        On::Nothing,
        Gives::Named("kubernetes.NamedFormat"),
    ),
    (
        "format.labelValue",
        On::Nothing,
        Gives::Named("kubernetes.NamedFormat"),
    ),
    ("format.uri", On::Nothing, Gives::Named("kubernetes.NamedFormat")),
    ("format.uuid", On::Nothing, Gives::Named("kubernetes.NamedFormat")),
    ("format.byte", On::Nothing, Gives::Named("kubernetes.NamedFormat")),
    ("format.date", On::Nothing, Gives::Named("kubernetes.NamedFormat")),
    (
        "format.datetime",
        On::Nothing,
        Gives::Named("kubernetes.NamedFormat"),
    ),
    ("format.named", On::Nothing, Gives::OptionalDyn),
    ("validate", FORMAT, Gives::OptionalDyn),
    // Numbers
    ("math.greatest", On::Nothing, Gives::Dyn),
    ("math.least", On::Nothing, Gives::Dyn),
    ("math.ceil", On::Nothing, Gives::Double),
    ("math.floor", On::Nothing, Gives::Double),
    ("math.round", On::Nothing, Gives::Double),
    ("math.trunc", On::Nothing, Gives::Double),
    ("math.sqrt", On::Nothing, Gives::Double),
    ("math.abs", On::Nothing, Gives::Dyn),
    ("math.sign", On::Nothing, Gives::Dyn),
    ("math.isInf", On::Nothing, Gives::Bool),
    ("math.isNaN", On::Nothing, Gives::Bool),
    ("math.isFinite", On::Nothing, Gives::Bool),
    ("math.bitAnd", On::Nothing, Gives::Dyn),
    ("math.bitOr", On::Nothing, Gives::Dyn),
    ("math.bitXor", On::Nothing, Gives::Dyn),
    ("math.bitNot", On::Nothing, Gives::Dyn),
    ("math.bitShiftLeft", On::Nothing, Gives::Dyn),
    ("math.bitShiftRight", On::Nothing, Gives::Dyn),
    // Others
    ("base64.encode", On::Nothing, Gives::Text),
    ("base64.decode", On::Nothing, Gives::Bytes),
    ("jsonpatch.escapeKey", On::Nothing, Gives::Text),
];

/// The result of a call, or why there can be none.
pub(super) fn call<'s>(name: &str, target: Option<&Type<'s>>, args: &[Type<'s>]) -> Result<Type<'s>, String> {
    let mut named = FUNCTIONS.iter().filter(|(known, ..)| *known == name).peekable();
    if named.peek().is_none() {
        return Err(format!("undeclared reference to '{name}' (in container '')"));
    }
    if let Some((.., gives)) = named.find(|(_, on, _)| on.fits(target)) {
        return Ok(gives.result(target, args));
    }
    let args: Vec<String> = args.iter().map(Type::to_string).collect();
    let target = target.map(|target| format!("{target}.")).unwrap_or_default();
    let args = args.join(", ");
    Err(format!(
        "found no matching overload for '{name}' applied to '{target}({args})'"
    ))
}

impl On {
    fn fits(self, target: Option<&Type<'_>>) -> bool {
        let Some(target) = target else {
            return self == Self::Nothing;
        };
        match (self, target) {
            (Self::Nothing, _) => false,
            (_, Type::Dyn)
            | (Self::Any, _)
            | (Self::Text | Self::TextOrList, Type::Text)
            | (Self::List | Self::TextOrList, Type::List(_))
            | (Self::Time, Type::Timestamp | Type::Duration)
            | (Self::Optional, Type::Optional(_)) => true,
            // `format.named` gives an optional format, whose type is not told.
            (Self::Named(wanted), Type::Named(found)) => wanted == *found,
            _ => false,
        }
    }
}

impl Gives {
    fn result<'s>(self, target: Option<&Type<'s>>, args: &[Type<'s>]) -> Type<'s> {
        let element = || match target {
            Some(Type::List(inner) | Type::Optional(inner)) => (**inner).clone(),
            _ => Type::Dyn,
        };
        match self {
            Self::Bool => Type::Bool,
            Self::Int => Type::Int,
            Self::Uint => Type::Uint,
            Self::Double => Type::Double,
            Self::Text => Type::Text,
            Self::Bytes => Type::Bytes,
            Self::Timestamp => Type::Timestamp,
            Self::Duration => Type::Duration,
            Self::Named(name) => Type::Named(name),
            Self::Texts => Type::List(Box::new(Type::Text)),
            Self::Ints => Type::List(Box::new(Type::Int)),
            Self::Dyn => Type::Dyn,
            Self::Same => target.cloned().unwrap_or(Type::Dyn),
            Self::Element => element(),
            Self::OptionalElement => Type::Optional(Box::new(element())),
            Self::OptionalArgument => Type::Optional(Box::new(args.first().cloned().unwrap_or(Type::Dyn))),
            Self::OptionalDyn => Type::Optional(Box::new(Type::Dyn)),
        }
    }
}
