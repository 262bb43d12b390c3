//! The types of built-in kinds, read from their OpenAPI documents when they are first needed.
//!
//! The documents are those a Kubernetes 1.36 server publishes under `/openapi/v3`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

/// The type of a field, as the Go types of Kubernetes have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    String,
    /// Base64 in JSON.
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// With its width in bits.
    Integer(u32),
    Float,
    Bool,
    /// Any JSON.
    Any,
    Map(Box<Type>),
    List(Box<Type>),
    /// By the name of its schema.
    Struct(Arc<str>),
}

/// One field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) ty: Type,
    /// Written even when it is empty.
    pub(crate) required: bool,
    /// A struct by value: written even when it is empty.
    pub(crate) inline: bool,
    /// Held by pointer: a zero is a value.
    pub(crate) pointer: bool,
}

/// Which fields the Go types hold by pointer: the documents do not tell.
static POINTERS: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let lines = include_str!("../../data/pointers.txt").lines();
    let structs = lines.filter(|line| !line.starts_with('#'));
    structs
        .filter_map(|line| line.split_once(' '))
        .map(|(name, fields)| (name, fields.split(' ').collect()))
        .collect()
});

/// The name of a struct within the built-in groups: `core.v1.PodSpec`.
pub(crate) fn short_name(schema: &str) -> &str {
    let roots = [
        "io.k8s.api.",
        "io.k8s.apimachinery.pkg.apis.",
        "io.k8s.apiextensions-apiserver.pkg.apis.",
    ];
    let short = roots.iter().find_map(|root| schema.strip_prefix(root));
    short.unwrap_or(schema)
}

/// The structs of one group version.
#[derive(Debug, Default)]
pub(crate) struct Types {
    structs: BTreeMap<Arc<str>, BTreeMap<String, Field>>,
    /// The struct of each kind.
    kinds: BTreeMap<String, Arc<str>>,
    /// The struct of kinds of other groups, by `apiVersion` and kind: bodies of subresources.
    foreign: BTreeMap<(String, String), Arc<str>>,
}

impl Types {
    pub(crate) fn fields(&self, name: &str) -> Option<&BTreeMap<String, Field>> {
        self.structs.get(name)
    }

    /// The struct of a kind.
    pub(crate) fn of_kind(&self, kind: &str) -> Option<Type> {
        self.kinds.get(kind).cloned().map(Type::Struct)
    }
}

/// The type of a kind, wherever it is described: subresources have bodies of other groups.
pub(crate) fn kind(api_version: &str, kind: &str) -> Option<(&'static Types, Type)> {
    let own = types(api_version).and_then(|types| Some((types, types.of_kind(kind)?)));
    own.or_else(|| {
        let core = types("v1")?;
        let name = core.foreign.get(&(api_version.to_owned(), kind.to_owned()))?;
        Some((core, Type::Struct(Arc::clone(name))))
    })
}

/// The type of a field of a kind.
pub(crate) fn field(api_version: &str, kind: &str, field: &str) -> Option<(&'static Types, &'static Type)> {
    let types = types(api_version)?;
    let fields = types.fields(types.kinds.get(kind)?)?;
    Some((types, &fields.get(field)?.ty))
}

/// The schema name of `ObjectMeta`, which every document has.
pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

macro_rules! documents {
    ($($group_version:literal => $file:literal),* $(,)?) => {
        /// The document of a group version as it is published; `None` if the group is not built in.
        pub(crate) fn document(group_version: &str) -> Option<&'static str> {
            match group_version {
                $($group_version => Some(include_str!(concat!("../../data/openapi/", $file))),)*
                _ => None,
            }
        }

        /// The types of a built-in group version.
        pub(crate) fn types(group_version: &str) -> Option<&'static Types> {
            match group_version {
                $($group_version => {
                    static TYPES: LazyLock<Types> =
                        LazyLock::new(|| read(document($group_version).unwrap_or_default(), $group_version));
                    Some(&TYPES)
                })*
                _ => None,
            }
        }
    };
}

documents! {
    "v1" => "api__v1.json",
    "admissionregistration.k8s.io/v1" => "apis__admissionregistration.k8s.io__v1.json",
    "apiextensions.k8s.io/v1" => "apis__apiextensions.k8s.io__v1.json",
    "apps/v1" => "apis__apps__v1.json",
    "authentication.k8s.io/v1" => "apis__authentication.k8s.io__v1.json",
    "authorization.k8s.io/v1" => "apis__authorization.k8s.io__v1.json",
    "autoscaling/v1" => "apis__autoscaling__v1.json",
    "autoscaling/v2" => "apis__autoscaling__v2.json",
    "batch/v1" => "apis__batch__v1.json",
    "certificates.k8s.io/v1" => "apis__certificates.k8s.io__v1.json",
    "coordination.k8s.io/v1" => "apis__coordination.k8s.io__v1.json",
    "discovery.k8s.io/v1" => "apis__discovery.k8s.io__v1.json",
    "events.k8s.io/v1" => "apis__events.k8s.io__v1.json",
    "networking.k8s.io/v1" => "apis__networking.k8s.io__v1.json",
    "node.k8s.io/v1" => "apis__node.k8s.io__v1.json",
    "policy/v1" => "apis__policy__v1.json",
    "rbac.authorization.k8s.io/v1" => "apis__rbac.authorization.k8s.io__v1.json",
    "scheduling.k8s.io/v1" => "apis__scheduling.k8s.io__v1.json",
    "storage.k8s.io/v1" => "apis__storage.k8s.io__v1.json",
}

fn read(document: &str, group_version: &str) -> Types {
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    let mut types = Types::default();
    let schemas = document["components"]["schemas"].as_object();
    for (name, schema) in schemas.into_iter().flatten() {
        let name: Arc<str> = name.as_str().into();
        for kind in schema["x-kubernetes-group-version-kind"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let text = |part: &str| kind[part].as_str().unwrap_or_default();
            let api_version = crate::registry::api_version(text("group"), text("version"));
            let kind = text("kind").to_owned();
            if api_version == group_version {
                types.kinds.insert(kind, Arc::clone(&name));
            } else {
                types.foreign.insert((api_version, kind), Arc::clone(&name));
            }
        }
        if let Some(fields) = fields(&name, schema) {
            types.structs.insert(name, fields);
        }
    }
    types
}

fn fields(name: &str, schema: &Value) -> Option<BTreeMap<String, Field>> {
    let required = schema["required"].as_array();
    let pointers = POINTERS.get(short_name(name));
    let fields = schema["properties"].as_object()?.iter().map(|(name, property)| {
        let ty = type_of(property);
        let inline = property["default"].is_object() && matches!(ty, Type::Struct(_));
        let required = required.is_some_and(|list| list.iter().any(|field| field == name));
        let pointer = pointers.is_some_and(|fields| fields.contains(&name.as_str()));
        let field = Field {
            ty,
            required,
            inline,
            pointer,
        };
        (name.clone(), field)
    });
    Some(fields.collect())
}

fn type_of(schema: &Value) -> Type {
    let reference = schema["$ref"]
        .as_str()
        .or_else(|| schema["allOf"][0]["$ref"].as_str());
    if let Some(reference) = reference {
        return named(reference.rsplit('/').next().unwrap_or_default());
    }
    match schema["type"].as_str() {
        Some("string") => match schema["format"].as_str() {
            Some("byte") => Type::Bytes,
            _ => Type::String,
        },
        Some("integer") => Type::Integer(match schema["format"].as_str() {
            Some("int32") => 32,
            _ => 64,
        }),
        Some("number") => Type::Float,
        Some("boolean") => Type::Bool,
        Some("array") => Type::List(Box::new(type_of(&schema["items"]))),
        Some("object") if schema["additionalProperties"].is_object() => {
            Type::Map(Box::new(type_of(&schema["additionalProperties"])))
        }
        _ => Type::Any,
    }
}

fn named(name: &str) -> Type {
    match name.rsplit('.').next().unwrap_or_default() {
        "Time" => Type::Time,
        "MicroTime" => Type::MicroTime,
        "Quantity" => Type::Quantity,
        "IntOrString" => Type::IntOrString,
        "FieldsV1"
        | "RawExtension"
        | "Patch"
        | "JSON"
        | "JSONSchemaPropsOrArray"
        | "JSONSchemaPropsOrBool"
        | "JSONSchemaPropsOrStringArray" => Type::Any,
        _ => Type::Struct(name.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    #[test]
    fn every_pointer_is_an_optional_scalar() {
        let known: Vec<_> = Registry::new()
            .all()
            .filter_map(|resource| types(&resource.api_version()))
            .collect();
        for (name, fields) in POINTERS.iter() {
            let found: Vec<_> = known
                .iter()
                .flat_map(|types| &types.structs)
                .filter(|(schema, _)| short_name(schema) == *name)
                .collect();
            assert!(!found.is_empty(), "{name}");
            for field in fields {
                let field = &found[0].1[*field];
                assert!(field.pointer && !field.required, "{name}: {field:?}");
            }
        }
    }

    #[test]
    fn every_built_in_kind_has_a_type() {
        for resource in Registry::new().all() {
            let types = types(&resource.api_version()).expect("a document of each group version");
            let Some(Type::Struct(name)) = types.of_kind(&resource.kind) else {
                panic!("{} has no schema", resource.kind);
            };
            assert!(types.fields(&name).is_some(), "{name}");
        }
    }
}
