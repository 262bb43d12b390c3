//! A derived schema, level by level: mended where a server would refuse what can be said in another way, warned of where it says less than
//! the type, and held against the rules of structural schemas.
//!
//! An optional enumeration lists `null` among its values, or is said to be nullable. A server compares each value with the list and takes
//! null for none of them (`basicCommonValidator` of kube-openapi). It drops the null of a field that is *not* nullable before it
//! validates, which is what `None` means; so such a field is left optional and no more (kube-rs/kube#1821). Everywhere else the null has to
//! stay: there the list goes below `allOf`, which is for values that are not null.
//!
//! Paths are those of an object's fields: `spec.list[*].name`, and `spec.map.*` for the values of a map.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use super::{default_value, structural};

/// What is left to say of a schema that was mended, each with its path.
#[derive(Debug, Default)]
pub(super) struct Review {
    /// Why a server refuses it.
    pub(super) faults: Vec<String>,
    /// Where a server takes it, and does less than the type.
    pub(super) warnings: Vec<String>,
}

/// Mends a schema.
pub(super) fn review(schema: &mut JSONSchemaProps) -> Review {
    let mut review = Review::default();
    review.level(schema, "");
    review
}

impl Review {
    fn level(&mut self, schema: &mut JSONSchemaProps, path: &str) {
        self.warn(flattened_map(schema), path);
        self.warn(untagged_scalar(schema), path);
        any_value(schema);
        nullable_enumeration(schema);
        undocumented_variants(schema);
        let faults = structural::faults(schema);
        self.faults
            .extend(faults.iter().map(|fault| format!("{path}: {fault}")));
        self.below(schema, path);
        if let Some(mut default) = schema.default.take() {
            default_value::drop_nulls(&mut default.0, schema);
            if !default.0.is_null() && !default_value::fits(&default.0, schema) {
                self.faults.push(format!(
                    "{path}: the default {} is not a value that the field takes: give another with `#[serde(default = \"…\")]`",
                    default.0
                ));
            }
            schema.default = Some(default);
        }
    }

    fn below(&mut self, schema: &mut JSONSchemaProps, path: &str) {
        let required = schema.required.clone().unwrap_or_default();
        for (name, property) in schema.properties.iter_mut().flatten() {
            if !required.contains(name) {
                optional_enumeration(property);
            }
            let dot = if path.is_empty() { "" } else { "." };
            self.level(property, &format!("{path}{dot}{name}"));
        }
        if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
            self.level(items, &format!("{path}[*]"));
        }
        if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
            self.level(values, &format!("{path}.*"));
        }
    }

    fn warn(&mut self, warning: Option<&str>, path: &str) {
        self.warnings
            .extend(warning.map(|warning| format!("{path}: {warning}")));
    }
}

/// A server refuses a schema for fields beside named ones; it can be told to keep them, whatever they hold (kube-rs/kube#844).
fn flattened_map(schema: &mut JSONSchemaProps) -> Option<&'static str> {
    let named = schema.properties.as_ref().is_some_and(|all| !all.is_empty());
    if !named
        || !matches!(
            schema.additional_properties,
            Some(JSONSchemaPropsOrBool::Schema(_))
        )
    {
        return None;
    }
    schema.additional_properties = None;
    schema.x_kubernetes_preserve_unknown_fields = Some(true);
    Some(
        "the API server takes any value in the flattened map, because a CRD has no schema for fields beside named ones",
    )
}

/// The macro makes one object of all variants that are structs or maps, and leaves of any other an alternative that asks for nothing.
fn untagged_scalar(schema: &JSONSchemaProps) -> Option<&'static str> {
    let asks_nothing = |variant: &JSONSchemaProps| {
        variant.required.is_none()
            && variant.properties.is_none()
            && structural::variants(variant).next().is_none()
    };
    let object = schema.type_.as_deref() == Some("object");
    (object && schema.any_of.iter().flatten().any(asks_nothing)).then_some(
        "the API server takes objects with the fields of the structs alone, though a variant of the untagged enum may be something else",
    )
}

/// A server wants a type, or to be told to keep everything. Of the values of a map that may be anything it drops what is inside of them.
fn any_value(schema: &mut JSONSchemaProps) {
    if let Some(JSONSchemaPropsOrBool::Bool(true)) = schema.additional_properties {
        schema.additional_properties = Some(JSONSchemaPropsOrBool::Schema(Box::default()));
    }
    let anything = JSONSchemaProps {
        title: schema.title.clone(),
        description: schema.description.clone(),
        default: schema.default.clone(),
        nullable: schema.nullable,
        ..JSONSchemaProps::default()
    };
    if *schema == anything {
        (schema.x_kubernetes_preserve_unknown_fields, schema.nullable) = (Some(true), Some(true));
    }
}

/// An enumeration that takes null, with the values that are not.
fn values_beside_null(schema: &JSONSchemaProps) -> Option<Vec<JSON>> {
    let mut values = schema.enum_.clone()?;
    let all = values.len();
    values.retain(|value| !value.0.is_null());
    (schema.nullable == Some(true) || values.len() < all).then_some(values)
}

/// Null is absence, where no default takes its place.
fn optional_enumeration(property: &mut JSONSchemaProps) {
    if property.default.is_none()
        && let Some(values) = values_beside_null(property)
    {
        (property.enum_, property.nullable) = (Some(values), None);
    }
}

fn nullable_enumeration(schema: &mut JSONSchemaProps) {
    if let Some(values) = values_beside_null(schema) {
        let listed = JSONSchemaProps {
            enum_: Some(values),
            ..JSONSchemaProps::default()
        };
        (schema.enum_, schema.nullable) = (None, Some(true));
        schema.all_of.get_or_insert_default().push(listed);
    }
}

/// The documentation of a variant has no place in a CRD if it is not that of its only field.
fn undocumented_variants(schema: &mut JSONSchemaProps) {
    let lists = [&mut schema.any_of, &mut schema.one_of, &mut schema.all_of];
    for variant in lists.into_iter().flatten().flatten() {
        (variant.title, variant.description) = (None, None);
    }
}
