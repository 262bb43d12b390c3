//! Defaults must be values the schema itself accepts: pruned, and valid.

use serde_json::Value;

use crate::schema::node::Node;
use crate::schema::path::Path;
use crate::schema::{embedded, prune, validate};
use crate::status::Cause;

pub(super) fn check(schema: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    walk(schema, path, Inside::Resource, causes);
}

/// Where a level stands with regard to a resource's own fields.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// The level describes a resource.
    Resource,
    /// The level describes part of `apiVersion`, `kind` or `metadata`.
    Meta,
    /// Anything else.
    Elsewhere,
}

fn walk(schema: &Node, path: &Path<'_>, inside: Inside, causes: &mut Vec<Cause>) {
    let inside = if schema.extensions.embedded_resource {
        Inside::Resource
    } else {
        inside
    };
    if let Some(default) = &schema.default {
        one(default, schema, &path.child("default"), inside, causes);
    }
    // Defaults under additionalProperties are applied but, like on the server, not checked.
    if let Some(items) = &schema.items {
        walk(items, &path.child("items"), next(inside, ""), causes);
    }
    let properties = path.child("properties");
    for (name, property) in &schema.properties {
        walk(property, &properties.key(name), next(inside, name), causes);
    }
}

fn next(inside: Inside, name: &str) -> Inside {
    match inside {
        Inside::Resource if matches!(name, "metadata" | "apiVersion" | "kind") => Inside::Meta,
        Inside::Meta => Inside::Meta,
        Inside::Resource | Inside::Elsewhere => Inside::Elsewhere,
    }
}

fn one(default: &Value, schema: &Node, path: &Path<'_>, inside: Inside, causes: &mut Vec<Cause>) {
    if inside != Inside::Meta {
        let mut pruned = default.clone();
        prune::prune_value(&mut pruned, schema);
        if pruned != *default {
            causes.push(Cause::invalid(
                path.to_string(),
                default,
                "must not have unknown fields",
            ));
        }
        let mut copy = default.clone();
        if let Err(cause) = embedded::coerce_value(&mut copy, schema, path) {
            causes.push(cause);
            return;
        }
        let before = causes.len();
        embedded::validate_value(default, schema, path, causes);
        if causes.len() > before {
            return;
        }
    }
    causes.extend(validate::review_default(default, schema, path));
}
