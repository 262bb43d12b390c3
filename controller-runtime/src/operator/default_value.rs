//! A default against its schema: a server takes a definition only if an object may hold its defaults.
//!
//! Not tried are patterns and formats, and which variant of an enum a default is.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::{Map, Value};

/// True if a server takes the value where the schema is.
pub(super) fn fits(value: &Value, schema: &JSONSchemaProps) -> bool {
    let listed = |schema: &JSONSchemaProps| {
        let values = schema.enum_.as_ref();
        values.is_none_or(|values| values.iter().any(|one| one.0 == *value))
    };
    if value.is_null() {
        return schema.nullable == Some(true);
    }
    let lists = schema.all_of.iter().flatten().all(listed) && listed(schema);
    let typed = match (schema.type_.as_deref(), value) {
        (Some("string"), Value::String(text)) => {
            within(text.chars().count(), schema.min_length, schema.max_length)
        }
        (Some("integer"), Value::Number(number)) => !number.is_f64() && in_range(number.as_f64(), schema),
        (Some("number"), Value::Number(number)) => in_range(number.as_f64(), schema),
        (Some("boolean"), Value::Bool(_)) | (None, _) => true,
        (Some("array"), Value::Array(items)) => elements_fit(items, schema),
        (Some("object"), Value::Object(fields)) => fields_fit(fields, schema),
        _ => false,
    };
    lists && typed
}

fn elements_fit(items: &[Value], schema: &JSONSchemaProps) -> bool {
    let each = match &schema.items {
        Some(JSONSchemaPropsOrArray::Schema(schema)) => items.iter().all(|item| fits(item, schema)),
        _ => true,
    };
    each && within(items.len(), schema.min_items, schema.max_items)
}

fn fields_fit(fields: &Map<String, Value>, schema: &JSONSchemaProps) -> bool {
    let free = schema.x_kubernetes_preserve_unknown_fields == Some(true);
    let each = fields.iter().all(|(name, value)| {
        let property = schema.properties.as_ref().and_then(|all| all.get(name));
        match (property, &schema.additional_properties) {
            (Some(property), _) => fits(value, property),
            (None, Some(JSONSchemaPropsOrBool::Schema(values))) => fits(value, values),
            (None, Some(JSONSchemaPropsOrBool::Bool(any))) => *any,
            (None, None) => free,
        }
    });
    let mut required = schema.required.iter().flatten();
    each && required.all(|name| fields.contains_key(name))
        && within(fields.len(), schema.min_properties, schema.max_properties)
}

fn within(count: usize, least: Option<i64>, most: Option<i64>) -> bool {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most)
}

fn in_range(number: Option<f64>, schema: &JSONSchemaProps) -> bool {
    number.is_none_or(|number| {
        schema.minimum.is_none_or(|least| number >= least) && schema.maximum.is_none_or(|most| number <= most)
    })
}

/// A server drops the null of a field that is not nullable from objects, and refuses it in a default.
pub(super) fn drop_nulls(default: &mut Value, schema: &JSONSchemaProps) {
    match (default, &schema.items, &schema.additional_properties) {
        (Value::Object(fields), _, values) => fields.retain(|name, value| {
            let property = schema.properties.as_ref().and_then(|all| all.get(name));
            let known = match (property, values) {
                (Some(property), _) => property,
                (None, Some(JSONSchemaPropsOrBool::Schema(values))) => values,
                _ => return true,
            };
            drop_nulls(value, known);
            !value.is_null() || known.nullable == Some(true)
        }),
        (Value::Array(items), Some(JSONSchemaPropsOrArray::Schema(schema)), _) => {
            for item in items {
                drop_nulls(item, schema);
            }
        }
        _ => {}
    }
}
