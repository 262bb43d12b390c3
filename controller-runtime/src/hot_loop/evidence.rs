//! What the changes that woke a key say about its circle: which fields repeat, and how. Pure.

use std::fmt;

use serde::Serialize;

use crate::explain::{Change, Field};

/// So many fields are named.
const MOST_NAMED: usize = 3;
/// So many changes of one object make a pattern.
const PATTERN: usize = 3;

/// A field that keeps changing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FlappingField {
    /// The object, as `ConfigMap docs/welcome`; `None` is the reconciled one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Its path, such as `data.value`.
    pub path: String,
    /// How it changes.
    pub how: Flapping,
}

/// How a field keeps changing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Flapping {
    /// It returns to a value that it had: two writers do not agree.
    BackAndForth,
    /// It has another value each time, such as a time.
    AlwaysNew,
    /// It has another number each time.
    Counts,
}

impl fmt::Display for FlappingField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(object) = &self.object {
            write!(f, " of {object}")?;
        }
        f.write_str(match self.how {
            Flapping::BackAndForth => " goes back and forth",
            Flapping::AlwaysNew => " has a new value each time",
            Flapping::Counts => " has another number each time",
        })
    }
}

/// The fields that repeat in these changes, oldest first; those that go back and forth first.
pub(crate) fn flapping<'a>(changes: impl Iterator<Item = (&'a Change, &'a [Field])>) -> Vec<FlappingField> {
    let changes: Vec<_> = changes.collect();
    // What changed last is what the circle turns about.
    let Some((last, _)) = changes.last() else {
        return Vec::new();
    };
    let same: Vec<_> = changes
        .iter()
        .filter(|(change, _)| change.object == last.object && change.relation.kind == last.relation.kind)
        .map(|(_, fields)| *fields)
        .collect();
    let mut paths: Vec<&str> = same
        .iter()
        .flat_map(|fields| fields.iter().map(|field| &*field.path))
        .collect();
    paths.sort_unstable();
    paths.dedup();
    let mut found: Vec<_> = paths
        .into_iter()
        .filter_map(|path| {
            let values: Vec<_> = same
                .iter()
                .filter_map(|fields| fields.iter().find(|field| *field.path == *path))
                .collect();
            // One may be missing: the circle need not have turned about this field from the first change on.
            let repeats = values.len() >= PATTERN && values.len() + 1 >= same.len();
            repeats.then(|| FlappingField {
                object: last.named(),
                path: path.to_owned(),
                how: pattern(&values),
            })
        })
        .collect();
    found.sort_by_key(|field| field.how);
    found.truncate(MOST_NAMED);
    found
}

/// Whether what repeats is how work in progress looks: numbers that only go on, and nothing that goes back and forth.
pub(crate) fn is_progress(fields: &[FlappingField]) -> bool {
    fields.iter().any(|field| field.how == Flapping::Counts)
        && fields.iter().all(|field| field.how != Flapping::BackAndForth)
}

fn pattern(values: &[&Field]) -> Flapping {
    let returns = values.iter().enumerate().any(|(index, value)| {
        values[..index]
            .iter()
            .any(|earlier| value.after == earlier.before || value.after == earlier.after)
    });
    if returns {
        Flapping::BackAndForth
    } else if values.iter().all(|value| value.counts) {
        Flapping::Counts
    } else {
        Flapping::AlwaysNew
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        clock,
        explain::{Fields, Relation, What},
    };

    /// A change of `object` for each step; `(path, before, after, counts)`.
    fn found(object: Option<&str>, steps: &[&[(&str, u64, u64, bool)]]) -> Vec<(String, Flapping)> {
        let change = |fields: &[(&str, u64, u64, bool)]| Change {
            at: clock::now(),
            relation: Arc::new(Relation {
                word: "owns",
                kind: "ConfigMap".to_owned(),
                predicates: Vec::new(),
            }),
            object: object.map(|name| (Some("docs".into()), name.into())),
            what: What::Changed,
            listed: false,
            version: "1".into(),
            id: 1,
            fields: Some(Fields {
                named: fields
                    .iter()
                    .map(|(path, before, after, counts)| Field {
                        path: (*path).into(),
                        before: *before,
                        after: *after,
                        counts: *counts,
                    })
                    .collect(),
                more: 0,
            }),
        };
        let changes: Vec<_> = steps.iter().map(|fields| change(fields)).collect();
        let fields = changes
            .iter()
            .map(|change| (change, change.fields.as_ref().unwrap().named.as_slice()));
        flapping(fields)
            .into_iter()
            .map(|field| (field.to_string(), field.how))
            .collect()
    }

    #[test]
    fn two_writers_are_known_by_the_values_that_return() {
        // Ours is suppressed: only the other's change is seen, again and again.
        let seen: &[_] = &[("data.value", 1, 2, false), ("metadata.labels", 5, 6, false)];
        let told = found(Some("welcome"), &[seen; 4]);
        assert_eq!(
            told[0].0,
            "data.value of ConfigMap docs/welcome goes back and forth"
        );
        // Both are seen.
        let both: &[&[_]] = &[
            &[("spec.a", 1, 2, true)],
            &[("spec.a", 2, 1, true)],
            &[("spec.a", 1, 2, true)],
        ];
        assert_eq!(
            found(None, both),
            [("spec.a goes back and forth".to_owned(), Flapping::BackAndForth)]
        );
    }

    #[test]
    fn times_and_numbers_are_told_apart() {
        let seen: &[&[_]] = &[
            &[("status.at", 1, 2, false), ("status.ready", 10, 11, true)],
            &[("status.at", 2, 3, false), ("status.ready", 11, 12, true)],
            &[("status.at", 3, 4, false), ("status.ready", 12, 13, true)],
        ];
        let told = found(None, seen);
        assert_eq!(
            told[0],
            (
                "status.at has a new value each time".to_owned(),
                Flapping::AlwaysNew
            )
        );
        assert_eq!(
            told[1],
            (
                "status.ready has another number each time".to_owned(),
                Flapping::Counts
            )
        );
    }

    #[test]
    fn what_changes_once_in_a_while_is_not_named() {
        let seen: &[&[_]] = &[
            &[("data.a", 1, 2, false)],
            &[("data.a", 1, 2, false), ("data.b", 1, 2, false)],
            &[("data.a", 1, 2, false)],
            &[("data.a", 1, 2, false)],
        ];
        assert_eq!(found(Some("x"), seen).len(), 1);
        assert_eq!(found(Some("x"), &seen[..2]), [], "two changes are no pattern");
    }
}
