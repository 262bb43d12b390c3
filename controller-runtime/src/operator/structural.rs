//! The rules of structural schemas, as far as a derived schema breaks them: every field has one type, said outside of `allOf`, `anyOf`,
//! `oneOf` and `not`, which only restrict values.
//!
//! Source: API documentation, "Specifying a structural schema".

use std::collections::BTreeSet;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray,
};

/// Why a server refuses a level of a schema; what is below it by fields are levels of their own.
pub(super) fn faults(level: &JSONSchemaProps) -> Vec<String> {
    let yes = Some(true);
    let free = level.x_kubernetes_int_or_string == yes || level.x_kubernetes_preserve_unknown_fields == yes;
    let items = matches!(level.items, Some(JSONSchemaPropsOrArray::Schema(_)));
    let rules = [
        (level.ref_path.is_some(), "the type is part of itself"),
        (
            level.pattern_properties.is_some(),
            "the keys of the map are not strings",
        ),
        (
            level.items.is_some() && !items,
            "the elements of a tuple have a schema each",
        ),
        (
            level.type_.as_deref() == Some("array") && level.items.is_none(),
            "the elements of the list have no schema",
        ),
        (
            level.type_.is_none() && level.ref_path.is_none() && !free,
            "the values have no one type",
        ),
    ];
    let broken = rules.into_iter().filter(|(broken, _)| *broken);
    let mut faults: Vec<_> = broken.map(|(_, why)| why.to_owned()).collect();
    faults.extend(elements_apart(level).map(str::to_owned));
    let mut keywords: Vec<_> = restrictions(level)
        .flat_map(|variant| beyond(variant, Some(level)))
        .collect();
    keywords.sort_unstable();
    keywords.dedup();
    if !keywords.is_empty() {
        faults.push(format!(
            "the variants of the enum differ in what holds for the whole field: {}",
            keywords.join(", ")
        ));
    }
    faults
}

/// The elements of a set differ as a whole, those of a list of type map in their keys, which each has.
fn elements_apart(level: &JSONSchemaProps) -> Option<&'static str> {
    let list = level.x_kubernetes_list_type.as_deref()?;
    let Some(JSONSchemaPropsOrArray::Schema(items)) = &level.items else {
        return Some("`x-kubernetes-list-type` is for lists");
    };
    let keys = level.x_kubernetes_list_map_keys.as_deref().unwrap_or_default();
    let object = items.type_.as_deref() == Some("object");
    match list {
        "set" if object && items.x_kubernetes_map_type.as_deref() != Some("atomic") => {
            Some("the elements of a set are structs: set `x-kubernetes-map-type` to `atomic`")
        }
        "set" | "map" if items.nullable == Some(true) => Some("the elements of a set or map may be null"),
        "map" if !object => Some("the elements of a list of type map are not structs"),
        "map" if keys.is_empty() => Some("a list of type map has no `x-kubernetes-list-map-keys`"),
        "map" if !keys.iter().all(|key| tells_apart(items, key)) => {
            Some("a key of the list is not a scalar field that each element has")
        }
        "map" if keys.iter().collect::<BTreeSet<_>>().len() < keys.len() => {
            Some("a key of the list is named twice")
        }
        _ => None,
    }
}

fn tells_apart(element: &JSONSchemaProps, key: &String) -> bool {
    let Some(field) = element.properties.as_ref().and_then(|all| all.get(key)) else {
        return false;
    };
    let required = element.required.iter().flatten().any(|name| name == key);
    let filled = field.default.as_ref().is_some_and(|default| !default.0.is_null());
    let scalar = !matches!(field.type_.as_deref(), Some("array" | "object"));
    scalar && field.nullable != Some(true) && (required || filled)
}

/// What a level has below `allOf`, `anyOf`, `oneOf` and `not`.
pub(super) fn variants(level: &JSONSchemaProps) -> impl Iterator<Item = &JSONSchemaProps> {
    let lists = [&level.all_of, &level.any_of, &level.one_of];
    lists.into_iter().flatten().flatten().chain(level.not.as_deref())
}

/// As `variants`, but for the types of an integer or string, which alone may stand there.
fn restrictions(level: &JSONSchemaProps) -> impl Iterator<Item = &JSONSchemaProps> {
    let either: Vec<_> = level.any_of.iter().flatten().map(only_type).collect();
    let skip = either == [Some("integer"), Some("string")];
    variants(level).filter(move |variant| !skip || only_type(variant).is_none())
}

/// The type of a schema that says nothing else.
fn only_type(schema: &JSONSchemaProps) -> Option<&str> {
    let kind = schema.type_.as_deref()?;
    let bare = JSONSchemaProps {
        type_: schema.type_.clone(),
        ..JSONSchemaProps::default()
    };
    (*schema == bare).then_some(kind)
}

/// The keywords that a variant may not have; `field` is the same level outside of all variants.
fn beyond(variant: &JSONSchemaProps, field: Option<&JSONSchemaProps>) -> Vec<&'static str> {
    let keywords = [
        ("type", variant.type_.is_some()),
        ("additionalProperties", variant.additional_properties.is_some()),
        ("default", variant.default.is_some()),
        ("nullable", variant.nullable == Some(true)),
        (
            "x-kubernetes-preserve-unknown-fields",
            variant.x_kubernetes_preserve_unknown_fields == Some(true),
        ),
        (
            "x-kubernetes-embedded-resource",
            variant.x_kubernetes_embedded_resource == Some(true),
        ),
        (
            "x-kubernetes-int-or-string",
            variant.x_kubernetes_int_or_string == Some(true),
        ),
        ("x-kubernetes-list-type", variant.x_kubernetes_list_type.is_some()),
        ("x-kubernetes-map-type", variant.x_kubernetes_map_type.is_some()),
        (
            "x-kubernetes-validations",
            variant.x_kubernetes_validations.is_some(),
        ),
        ("properties", field.is_none()),
    ];
    let here = keywords
        .into_iter()
        .filter(|(_, found)| *found)
        .map(|(name, _)| name);
    let mut found: Vec<_> = here.collect();
    for inner in restrictions(variant) {
        found.extend(beyond(inner, field));
    }
    for (name, property) in variant.properties.iter().flatten() {
        let outer = field.and_then(|field| field.properties.as_ref()?.get(name));
        found.extend(beyond(property, outer));
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &variant.items {
        let outer = match field.and_then(|field| field.items.as_ref()) {
            Some(JSONSchemaPropsOrArray::Schema(outer)) => Some(&**outer),
            _ => None,
        };
        found.extend(beyond(items, outer));
    }
    found
}
