//! The order of versions: stable before beta before alpha, newer before older, then all others by
//! name.
//!
//! Source: API documentation of `CustomResourceDefinition`, "Version priority".

use std::cmp::{Ordering, Reverse};

/// Compares two version names; the more preferred is less.
pub(crate) fn by_priority(a: &str, b: &str) -> Ordering {
    rank(a).cmp(&rank(b))
}

/// How stable a version is; the more stable is less.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Stable,
    Beta,
    Alpha,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank<'a> {
    Kube(Stability, Reverse<u64>, Reverse<u64>),
    Other(&'a str),
}

fn rank(version: &str) -> Rank<'_> {
    kube(version).unwrap_or(Rank::Other(version))
}

/// `v1`, `v2beta1`, `v1alpha3`; anything else is none.
fn kube(version: &str) -> Option<Rank<'static>> {
    let rest = version.strip_prefix('v')?;
    for (word, stability) in [("alpha", Stability::Alpha), ("beta", Stability::Beta)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some(Rank::Kube(
                stability,
                Reverse(number(major)?),
                Reverse(number(minor)?),
            ));
        }
    }
    Some(Rank::Kube(Stability::Stable, Reverse(number(rest)?), Reverse(0)))
}

fn number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    plain.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_then_beta_then_alpha_then_names() {
        let mut versions = [
            "foo1", "v1alpha1", "v1", "bar", "v2beta1", "v10", "v1beta2", "v2", "v01",
        ];
        versions.sort_by(|a, b| by_priority(a, b));
        assert_eq!(
            versions,
            [
                "v10", "v2", "v1", "v2beta1", "v1beta2", "v1alpha1", "bar", "foo1", "v01"
            ]
        );
    }
}
