//! `JSONPath` as printer columns of custom resources use it: the dialect of `kubectl`.
//!
//! Fields, wildcards, indexes and slices, unions, filters and recursive descent. A missing member is
//! no result; an index out of range, or an index into what is no list, is an error.

mod eval;
mod parse;

use serde_json::Value;

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Wildcard,
    /// `..`: every node below, the node itself first.
    Descend,
    Slice(Slice),
    Union(Vec<Vec<Step>>),
    Filter(Box<Filter>),
    /// A constant, in filters.
    Constant(Value),
}

/// `[start:end:step]`; an index is a slice of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    start: Option<i64>,
    end: End,
    step: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// After the one element that starts it.
    One,
    Open,
    At(i64),
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Vec<Step>,
    /// `None`: the left side must exist.
    right: Option<(String, Vec<Step>)>,
}

impl Path {
    /// # Errors
    ///
    /// The text of why it is no path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        parse::parse(text).map(Self)
    }

    /// What the path finds.
    ///
    /// # Errors
    ///
    /// The text of why the path does not fit the value.
    pub(super) fn find(&self, value: &Value) -> Result<Vec<Value>, String> {
        eval::walk(vec![value.clone()], &self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found(path: &str) -> Result<Vec<Value>, String> {
        let value = json!({
            "spec": {"size": 3, "list": ["a", "b", "c"], "odd.key": 1, "items": [{"n": 1, "t": "x"}, {"n": 2, "t": "y"}, {"n": 3}]},
            "status": {"conditions": [
                {"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"},
            ]},
        });
        Path::parse(path)?.find(&value)
    }

    #[test]
    fn paths_of_printer_columns() {
        for (path, result) in [
            (".spec.size", json!([3])),
            ("$.spec.size", json!([3])),
            (".spec.missing.more", json!([])),
            (".spec.list[0]", json!(["a"])),
            (".spec.list[-1]", json!(["c"])),
            (".spec.list[1:]", json!(["b", "c"])),
            (".spec.list[0:3:2]", json!(["a", "c"])),
            (".spec.list[*]", json!(["a", "b", "c"])),
            (".spec.list[0,2]", json!(["a", "c"])),
            (".spec['size']", json!([3])),
            (".spec.odd\\.key", json!([1])),
            (".spec.items[*].n", json!([1, 2, 3])),
            (".spec.items[?(@.n>1)].n", json!([2, 3])),
            (".spec.items[?(@.t)].n", json!([1, 2])),
            (".status.conditions[?(@.type==\"Ready\")].status", json!(["True"])),
            (".status.conditions[?(@.type=='Ready')].status", json!(["True"])),
            (
                ".status.conditions[?(@.type!=\"Ready\")].status",
                json!(["False"]),
            ),
            ("..type", json!(["Ready", "Other"])),
        ] {
            assert_eq!(found(path), Ok(result.as_array().unwrap().clone()), "{path}");
        }
    }

    #[test]
    fn paths_that_do_not_fit_are_errors() {
        for path in [
            ".spec.list[9]",
            ".spec.size[0]",
            ".spec.items[?(@.n>\"x\")]",
            ".spec.list[2:1]",
        ] {
            assert!(found(path).is_err(), "{path}");
        }
        for path in [".spec[", ".spec[x]", ".spec[?(@.a", "%", ".a....b"] {
            assert!(Path::parse(path).is_err(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(path in "[.$@a-c0-9\\[\\]?()*:,'\"=<>!\\-\\\\ ]{0,16}") {
            let _ = found(&path);
        }
    }
}
