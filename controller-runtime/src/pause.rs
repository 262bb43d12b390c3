//! The pause annotation: a person takes one object out of the hands of every controller, and gives it back.
//!
//! A paused object is watched, and not reconciled: no run, no retry, no requeue, no cleanup. A run that is under way goes on to its end. When the
//! annotation goes, the object runs at once, whatever the predicates say, and without the failures of before.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The annotation that pauses an object. Every value but `false` does.
///
/// ```console
/// kubectl annotate document welcome controller-runtime/paused=true
/// kubectl annotate document welcome controller-runtime/paused-
/// ```
pub const PAUSED: &str = "controller-runtime/paused";

/// Whether the object is paused.
pub(crate) fn is_paused(meta: &ObjectMeta) -> bool {
    let annotations = meta.annotations.as_ref();
    annotations
        .and_then(|annotations| annotations.get(PAUSED))
        .is_some_and(|value| value != "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_but_false_pauses() {
        let with = |value: &str| ObjectMeta {
            annotations: Some([(PAUSED.to_owned(), value.to_owned())].into()),
            ..ObjectMeta::default()
        };
        for value in ["true", "yes", ""] {
            assert!(is_paused(&with(value)), "{value:?}");
        }
        assert!(!is_paused(&with("false")));
        assert!(!is_paused(&ObjectMeta::default()));
    }
}
