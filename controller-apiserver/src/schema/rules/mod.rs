//! What a schema must be like to be used for a kind.
//!
//! Source: API documentation, "Specifying a structural schema"; KEP-1693 (structural schemas),
//! KEP-2876 (CEL). The parts report in the order the server does: structure first, then defaults
//! if the structure is sound, and the keywords of every level in any case.

mod defaults;
mod keywords;
mod lists;
mod root;
mod structure;
mod validations;

use serde_json::{Map, Value};

use super::node::Node;
use super::path::Path;
use crate::status::Cause;

/// A level of a schema.
pub(crate) type Level = Map<String, Value>;

/// The deepest nesting of levels that is read; far beyond what a request body can hold.
const DEEPEST: usize = 256;

/// How a version is served, as far as its schema must know.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setting {
    /// The status subresource is on: some keywords are not allowed at the root then.
    pub status: bool,
}

/// Every reason why `schema` cannot be used; fields start with `path`.
pub(crate) fn check(schema: &Value, path: &Path<'_>, setting: Setting) -> Vec<Cause> {
    let Some(level) = schema.as_object() else {
        return vec![Cause::required(path.to_string(), "")];
    };
    if depth(schema) > DEEPEST {
        let detail = format!("must not be nested deeper than {DEEPEST} levels");
        return vec![Cause::invalid(
            path.to_string(),
            &Value::String(String::new()),
            &detail,
        )];
    }
    let mut causes = Vec::new();
    root::check(level, path, setting, &mut causes);
    let before = causes.len();
    let readable = !keywords::has_unsupported(level);
    if readable {
        structure::check(level, path, &mut causes);
    }
    if readable && causes.len() == before {
        defaults::check(&Node::read(schema), path, &mut causes);
    }
    let sound = readable && causes.len() == before;
    keywords::check(level, path, sound, &mut causes);
    causes
}

/// The nesting of a value, without recursion.
fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        deepest = deepest.max(depth);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|member| (member, depth + 1))),
            _ => {}
        }
    }
    deepest
}
