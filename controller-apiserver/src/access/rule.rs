//! One RBAC policy rule: what it allows, and whether it covers another.
//!
//! Semantics: Kubernetes documentation, "Using RBAC Authorization". A rule names verbs and either
//! resources of API groups (perhaps restricted to names) or URL paths. `*` stands for all, `*/scale`
//! for that subresource of every resource, a trailing `*` in a path for every continuation.

use super::{Attributes, Target};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::fmt;

const ALL: &str = "*";

/// A `PolicyRule` of rbac.authorization.k8s.io. Missing and null members are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// `get`, `list`, …, or `*`.
    #[serde(deserialize_with = "nullable")]
    pub verbs: Vec<String>,
    /// API groups, the core group as "".
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Resources, with subresources as `pods/log`.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Names to which the rule is restricted; empty means every name.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Paths outside the resource API.
    #[serde(
        rename = "nonResourceURLs",
        deserialize_with = "nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub non_resource_urls: Vec<String>,
}

pub(super) fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn has(list: &[String], item: &str) -> bool {
    list.iter().any(|known| known == item)
}

fn has_or_all(list: &[String], item: &str) -> bool {
    list.iter().any(|known| known == ALL || known == item)
}

fn resource_in(list: &[String], combined: &str) -> bool {
    has_or_all(list, combined)
        || combined.split_once('/').is_some_and(|(_, subresource)| {
            list.iter()
                .any(|known| known.strip_prefix("*/") == Some(subresource))
        })
}

fn path_in(list: &[String], path: &str) -> bool {
    list.iter()
        .any(|known| known == path || (known.ends_with('*') && path.starts_with(known.trim_end_matches('*'))))
}

impl Rule {
    /// Whether this rule alone allows the request.
    pub fn allows(&self, attributes: &Attributes) -> bool {
        has_or_all(&self.verbs, &attributes.verb)
            && match &attributes.target {
                Target::Path(path) => path_in(&self.non_resource_urls, path),
                Target::Resource(target) => {
                    has_or_all(&self.api_groups, &target.group)
                        && resource_in(&self.resources, &target.combined())
                        && (self.resource_names.is_empty() || has(&self.resource_names, &target.name))
                }
            }
    }

    /// Whether this rule allows everything the `atom` does. An atom names at most one of each.
    fn covers(&self, atom: &Rule) -> bool {
        atom.verbs.iter().all(|verb| has_or_all(&self.verbs, verb))
            && atom
                .api_groups
                .iter()
                .all(|group| has_or_all(&self.api_groups, group))
            && atom
                .resources
                .iter()
                .all(|name| resource_in(&self.resources, name))
            && atom
                .non_resource_urls
                .iter()
                .all(|path| path_in(&self.non_resource_urls, path))
            && (self.resource_names.is_empty()
                || (!atom.resource_names.is_empty()
                    && atom
                        .resource_names
                        .iter()
                        .all(|name| has(&self.resource_names, name))))
    }

    /// The single permissions of which the rule is made.
    fn atoms(&self) -> Vec<Rule> {
        let mut atoms = Vec::new();
        let one = |text: &String| vec![text.clone()];
        for verb in &self.verbs {
            for path in &self.non_resource_urls {
                atoms.push(Rule {
                    verbs: one(verb),
                    non_resource_urls: one(path),
                    ..Rule::default()
                });
            }
        }
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let atom = Rule {
                        verbs: one(verb),
                        api_groups: one(group),
                        resources: one(resource),
                        ..Rule::default()
                    };
                    if self.resource_names.is_empty() {
                        atoms.push(atom);
                    } else {
                        atoms.extend(self.resource_names.iter().map(|name| Rule {
                            resource_names: one(name),
                            ..atom.clone()
                        }));
                    }
                }
            }
        }
        atoms
    }
}

/// The permissions of `wanted` that no rule of `owned` covers, compacted as the server reports them.
pub fn missing(owned: &[&Rule], wanted: &[Rule]) -> Vec<Rule> {
    let atoms = wanted.iter().flat_map(Rule::atoms);
    compact(atoms.filter(|atom| !owned.iter().any(|rule| rule.covers(atom))))
}

/// Joins the verbs of permissions that agree in all else, and orders them by their text.
fn compact(atoms: impl Iterator<Item = Rule>) -> Vec<Rule> {
    let mut compacted: Vec<Rule> = Vec::new();
    for atom in atoms {
        let same = |known: &&mut Rule| {
            !atom.resources.is_empty()
                && known.api_groups == atom.api_groups
                && known.resources == atom.resources
                && known.resource_names == atom.resource_names
        };
        match compacted.iter_mut().find(same) {
            Some(known) => {
                for verb in atom.verbs {
                    if !has(&known.verbs, &verb) {
                        known.verbs.push(verb);
                    }
                }
            }
            None => compacted.push(atom),
        }
    }
    let texts: BTreeSet<String> = compacted.iter().map(ToString::to_string).collect();
    compacted.sort_by_cached_key(ToString::to_string);
    compacted.dedup();
    debug_assert_eq!(texts.len(), compacted.len());
    compacted
}

/// The compact form of messages: `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let shown: Vec<String> = members
            .into_iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(name, list)| format!("{name}:{}", quoted(list)))
            .collect();
        write!(f, "{{{}}}", shown.join(", "))
    }
}

/// A list of strings as Go's `%q` prints it.
pub(super) fn quoted(list: &[String]) -> String {
    let items: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", items.join(" "))
}
