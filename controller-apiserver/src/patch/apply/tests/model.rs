//! A naive model of ownership: an object is a map from paths to values, a manager owns a set of paths,
//! and everything else follows from that.

use std::collections::{BTreeMap, BTreeSet};

use super::leaf::{Leaf, Leaves, any_below, closed, is_container, is_list, parents, remove};

/// `v1` or `v2` of the kind.
pub(super) type Version = u8;

/// Whose an entry is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub(super) manager: String,
    /// Through `/status`.
    pub(super) status: bool,
    /// The version of an entry of updates; an applier has one entry for all versions.
    pub(super) updates: Option<Version>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) version: Version,
    pub(super) leaves: BTreeSet<Leaf>,
}

/// Who writes, and through which endpoint.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub(super) manager: String,
    pub(super) version: Version,
    pub(super) status: bool,
}

impl Writer {
    pub(super) fn applies(&self) -> Owner {
        Owner {
            manager: self.manager.clone(),
            status: self.status,
            updates: None,
        }
    }

    fn updates(&self) -> Owner {
        Owner {
            updates: Some(self.version),
            ..self.applies()
        }
    }

    /// Nobody comes to own this through the endpoint.
    fn resets(&self, leaf: Leaf) -> bool {
        let half = if self.status { "spec" } else { "status" };
        leaf.split('.').next() == Some(half)
    }

    /// The endpoint writes this.
    pub(super) fn stores(&self, leaf: Leaf) -> bool {
        self.status == (leaf.split('.').next() == Some("status"))
    }

    /// Entries in other versions see a change of what is reset, too: a strategy of custom resources
    /// names what it resets in the version of the request only.
    fn shows(&self, leaf: Leaf, to: &Owned) -> bool {
        !self.resets(leaf) || to.version != self.version
    }
}

/// Paths that somebody else owns, with that owner.
pub(super) type Conflicts = BTreeSet<(Owner, Version, Leaf)>;

type Owners = BTreeMap<Owner, Owned>;

/// An object and its owners.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model {
    /// Empty: there is no object.
    pub(super) leaves: Leaves,
    pub(super) owners: Owners,
}

impl Model {
    /// # Errors
    ///
    /// The conflicts; nothing has changed then.
    pub(super) fn apply(&mut self, by: &Writer, config: &Leaves, force: bool) -> Result<(), Conflicts> {
        let mut owners = self.adopted(by);
        let me = by.applies();
        let changed = changed(&self.leaves, config);
        let mut conflicts = Conflicts::new();
        for (owner, owned) in owners.iter_mut().filter(|(owner, _)| **owner != me) {
            let lost = owned.leaves.intersection(&changed).copied();
            let lost: Vec<Leaf> = lost.filter(|leaf| by.shows(leaf, owned)).collect();
            owned.leaves.retain(|leaf| !lost.contains(leaf));
            conflicts.extend(lost.into_iter().map(|leaf| (owner.clone(), owned.version, leaf)));
        }
        if !conflicts.is_empty() && !force {
            return Err(conflicts);
        }
        let mine = config.keys().copied();
        let mine = Owned {
            version: by.version,
            leaves: mine
                .filter(|leaf| !is_container(leaf) && !by.resets(leaf))
                .collect(),
        };
        let before = owners.insert(me, mine);
        let mut new = self.leaves.clone();
        new.extend(config);
        let merged = new.clone();
        if let Some(before) = before {
            let there = counted(&merged.keys().copied().collect());
            let kept = kept(&merged, &owners, before.version);
            for place in with_containers(&before.leaves) {
                if there.contains(place) && !kept.contains(place) {
                    remove(&mut new, place);
                }
            }
        }
        for owned in owners.values_mut() {
            let gone = |leaf: &Leaf| merged.contains_key(leaf) && !new.contains_key(leaf);
            owned.leaves.retain(|leaf| !gone(leaf));
        }
        self.owners = owners;
        self.store(by, new);
        Ok(())
    }

    /// A write that is no apply. `new` is the whole object that was sent.
    pub(super) fn update(&mut self, by: &Writer, new: &Leaves) {
        let new = with_defaults(new.clone());
        if self.is_tracked() {
            let mut touched = changed(&self.leaves, &new);
            let mine = touched.iter().copied().filter(|leaf| !by.resets(leaf));
            let mine: BTreeSet<Leaf> = mine.collect();
            touched.extend(self.leaves.keys().filter(|leaf| !new.contains_key(*leaf)));
            for owned in self.owners.values_mut() {
                let shown = Owned {
                    leaves: BTreeSet::new(),
                    ..*owned
                };
                owned
                    .leaves
                    .retain(|leaf| !touched.contains(leaf) || !by.shows(leaf, &shown));
            }
            let entry = self.owners.entry(by.updates()).or_insert_with(|| Owned {
                version: by.version,
                leaves: BTreeSet::new(),
            });
            entry.leaves.extend(mine);
        }
        self.store(by, new);
    }

    /// Somebody empties `managedFields`.
    pub(super) fn forget(&mut self) {
        self.owners.clear();
    }

    /// Ownership that was given up is not taken up again before the first apply.
    fn is_tracked(&self) -> bool {
        self.leaves.is_empty() || !self.owners.is_empty()
    }

    /// The owners, and that of all that was there before anybody was one.
    fn adopted(&self, by: &Writer) -> Owners {
        if self.is_tracked() {
            return self.owners.clone();
        }
        let before = Writer {
            manager: "before-first-apply".to_owned(),
            ..by.clone()
        };
        let leaves = self.leaves.keys().copied().filter(|leaf| !by.resets(leaf));
        let owned = Owned {
            version: by.version,
            leaves: leaves.collect(),
        };
        Owners::from([(before.updates(), owned)])
    }

    /// What comes after ownership: each endpoint stores its half, defaults are filled in.
    fn store(&mut self, by: &Writer, new: Leaves) {
        self.owners.retain(|_, owned| !owned.leaves.is_empty());
        let old = std::mem::take(&mut self.leaves);
        let kept = old.into_iter().filter(|(leaf, _)| !by.stores(leaf));
        let written = new.into_iter().filter(|(leaf, _)| by.stores(leaf));
        let mut leaves = with_defaults(kept.chain(written).collect());
        if !any_below(leaves.keys(), "metadata.labels") {
            leaves.remove("metadata.labels");
        }
        self.leaves = leaves;
    }
}

/// What has another value, or is new.
fn changed(old: &Leaves, new: &Leaves) -> BTreeSet<Leaf> {
    let changed = new.iter().filter(|(leaf, value)| old.get(*leaf) != Some(value));
    changed.map(|(leaf, _)| *leaf).collect()
}

fn with_defaults(mut leaves: Leaves) -> Leaves {
    for (leaf, value) in closed([("spec.filled", 0)]) {
        leaves.entry(leaf).or_insert(value);
    }
    leaves
}

/// What is left when only that is left which is somebody's: an element or a member goes with all that is in
/// it. Owners of one version are asked after those of the other, as the library does it: where one owns an
/// element in one version, and another a field of it in the other version, that field is lost.
fn kept(merged: &Leaves, owners: &Owners, first: Version) -> BTreeSet<Leaf> {
    let mut kept = BTreeSet::new();
    for version in [first, 3 - first] {
        let owners = owners.values().filter(|owned| owned.version == version);
        let owned: BTreeSet<Leaf> = owners.flat_map(|owned| &owned.leaves).copied().collect();
        if owned.is_empty() {
            continue;
        }
        let named: BTreeSet<Leaf> = with_containers(&owned).union(&kept).copied().collect();
        let is_named = |leaf: &Leaf| named.contains(leaf) && parents(leaf).all(|place| named.contains(place));
        kept = counted(&merged.keys().copied().filter(is_named).collect());
    }
    kept
}

/// With the structs, maps and lists in which they are.
fn with_containers(leaves: &BTreeSet<Leaf>) -> BTreeSet<Leaf> {
    let containers = leaves.iter().flat_map(|leaf| parents(leaf));
    containers
        .filter(|place| is_container(place))
        .chain(leaves.iter().copied())
        .collect()
}

/// An empty struct or map counts, an empty list does not, and neither does what holds empty lists alone.
fn counted(leaves: &BTreeSet<Leaf>) -> BTreeSet<Leaf> {
    leaves
        .iter()
        .copied()
        .filter(|leaf| counts(leaf, leaves))
        .collect()
}

fn counts(place: Leaf, leaves: &BTreeSet<Leaf>) -> bool {
    let mut inside = leaves
        .iter()
        .filter(|leaf| parents(leaf).last() == Some(place))
        .peekable();
    match (is_container(place), inside.peek()) {
        (false, _) => true,
        (true, None) => !is_list(place),
        (true, Some(_)) => inside.any(|leaf| counts(leaf, leaves)),
    }
}
