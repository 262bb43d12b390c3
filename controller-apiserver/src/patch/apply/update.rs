//! Who owns what after a write: conflicts, giving up, taking over, pruning.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    ApplyError, Target,
    compare::{Comparison, compare},
    error::Conflicts,
    fieldset::{field_set, with_named_fields},
    managed::{Entry, Key, Managed},
    merge::merge,
    reconcile::reconcile,
    remove::remove,
};
use crate::patch::{
    fields::{Element, Set},
    typed::Schema,
};

/// What happens to fields of others that change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// It is a conflict.
    Respected,
    /// They lose them.
    Overruled,
}

/// A write through one version of a kind.
pub(super) struct Writer<'a> {
    pub(super) target: &'a Target<'a>,
    pub(super) api_version: &'a str,
    pub(super) schema: Schema,
    /// Fields that this endpoint does not take, and nobody owns through it.
    pub(super) reset: &'a Set,
}

fn internal(error: impl std::fmt::Display, doing: &str) -> ApplyError {
    ApplyError::Internal(format!("failed to {doing}: {error}"))
}

/// The configuration merged in; `None` for the object if nothing changes.
pub(super) type Applied = (Option<Value>, Managed);

impl Writer<'_> {
    /// Merges a configuration, takes out what its manager no longer mentions, and settles ownership.
    pub(super) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managed: &Managed,
        key: &Key,
        others: Others,
    ) -> Result<Applied, ApplyError> {
        let mut managed = self.reconciled(managed);
        let merged = merge(&self.schema, live, config).map_err(|error| internal(error, "merge config"))?;
        let fields = field_set(&self.schema, config).recursive_difference(self.reset);
        let last = managed.0.get(key).cloned();
        let time = last.as_ref().and_then(|last| last.time.clone());
        let entry = Entry {
            fields,
            api_version: self.api_version.to_owned(),
            time,
        };
        managed.0.insert(key.clone(), entry);
        let new = self.prune(merged, &managed, last.as_ref());
        self.settle(live, &new, &mut managed, Some(key), others)?;
        let changed = !crate::patch::fields::equal(live, &new);
        Ok((changed.then_some(new), managed))
    }

    /// Ownership after a write that was no apply: what changed belongs to `Some` set of its own.
    pub(super) fn update(
        &self,
        old: &Value,
        new: &Value,
        managed: &Managed,
    ) -> Result<(Set, Managed), ApplyError> {
        let mut managed = self.reconciled(managed);
        let compared = self.settle(old, new, &mut managed, None, Others::Overruled)?;
        let taken = compared.modified.union(&compared.added);
        Ok((taken.recursive_difference(self.reset), managed))
    }

    fn reconciled(&self, managed: &Managed) -> Managed {
        let reconciled = |(key, entry): (&Key, &Entry)| {
            let schema = self.schema_of(&entry.api_version)?;
            let fields = reconcile(&schema, &entry.fields);
            let entry = entry.clone();
            Some((key.clone(), Entry { fields, ..entry }))
        };
        Managed(managed.0.iter().filter_map(reconciled).collect())
    }

    /// `None` for a version that is no longer served: its entries are dropped.
    fn schema_of(&self, api_version: &str) -> Option<Schema> {
        if api_version == self.api_version {
            return Some(self.schema.clone());
        }
        self.target.versions.schema(api_version)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Value {
        if object["apiVersion"] == api_version {
            return object.clone();
        }
        self.target.versions.convert(object, api_version)
    }

    /// Takes changed and removed fields from the entries of everybody but `writer`.
    fn settle(
        &self,
        old: &Value,
        new: &Value,
        managed: &mut Managed,
        writer: Option<&Key>,
        others: Others,
    ) -> Result<Comparison, ApplyError> {
        let own = compare(&self.schema, old, new)
            .map_err(|error| internal(error, "compare objects"))?
            .excluding(self.reset);
        let mut by_version: BTreeMap<String, Comparison> = BTreeMap::new();
        let mut conflicts = Vec::new();
        let mut after = BTreeMap::new();
        for (key, entry) in &managed.0 {
            if writer == Some(key) {
                after.insert(key.clone(), entry.clone());
                continue;
            }
            let compared = match by_version.get(&entry.api_version) {
                _ if entry.api_version == self.api_version => &own,
                Some(compared) => compared,
                None => {
                    let Some(schema) = self.schema_of(&entry.api_version) else {
                        continue;
                    };
                    let old = self.convert(old, &entry.api_version);
                    let new = self.convert(new, &entry.api_version);
                    let compared =
                        compare(&schema, &old, &new).map_err(|error| internal(error, "compare objects"))?;
                    // The strategies of custom resources name what they reset in the version of the request alone.
                    let compared = if self.target.builtin {
                        compared.excluding(self.reset)
                    } else {
                        compared
                    };
                    by_version.entry(entry.api_version.clone()).or_insert(compared)
                }
            };
            let changed = compared.modified.union(&compared.added);
            let conflict = entry.fields.intersection(&changed);
            conflict.each(&mut |path: &[Element]| conflicts.push((key.clone(), path.to_vec())));
            let fields = entry.fields.difference(&conflict).difference(&compared.removed);
            let entry = entry.clone();
            after.insert(key.clone(), Entry { fields, ..entry });
        }
        if others == Others::Respected && !conflicts.is_empty() {
            return Err(ApplyError::Conflict(Conflicts(conflicts)));
        }
        after.retain(|_, entry| !entry.fields.is_empty());
        managed.0 = after;
        Ok(own)
    }

    /// Removes what this manager applied last time, does not apply now, and nobody else owns.
    fn prune(&self, merged: Value, managed: &Managed, last: Option<&Entry>) -> Value {
        let Some(last) = last.filter(|last| !last.fields.is_empty()) else {
            return merged;
        };
        let Some(schema) = self.schema_of(&last.api_version) else {
            return merged;
        };
        let merged = self.convert(&merged, &last.api_version);
        let last_fields = with_named_fields(&schema, &last.fields);
        let pruned = remove(&schema, &merged, &last_fields);
        let pruned = self.add_back_owned(&merged, pruned, &last.api_version, managed);
        let pruned = self.convert(&pruned, &last.api_version);
        let of = |object: &Value| with_named_fields(&schema, &field_set(&schema, object));
        let gone = of(&merged).difference(&of(&pruned));
        let pruned = remove(&schema, &merged, &gone.intersection(&last_fields));
        self.convert(&pruned, self.api_version)
    }

    fn add_back_owned(
        &self,
        merged: &Value,
        pruned: Value,
        pruned_version: &str,
        managed: &Managed,
    ) -> Value {
        let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
        for entry in managed.0.values() {
            let set = owned.entry(&entry.api_version).or_default();
            *set = set.union(&entry.fields);
        }
        // The version of the pruned object comes first, as others may not hold all of its fields.
        let first = owned.remove_entry(pruned_version);
        let mut pruned = pruned;
        for (version, owned) in first.into_iter().chain(owned) {
            let Some(schema) = self.schema_of(version) else {
                continue;
            };
            let merged = self.convert(merged, version);
            let converted = self.convert(&pruned, version);
            let named = |set: &Set| with_named_fields(&schema, set);
            let kept = named(&field_set(&schema, &converted)).union(&named(&owned));
            let gone = named(&field_set(&schema, &merged)).difference(&kept);
            pruned = remove(&schema, &merged, &gone);
        }
        pruned
    }
}
