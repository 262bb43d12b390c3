//! Sets of paths.

use std::collections::{BTreeMap, BTreeSet};

use super::Element;

/// A set of paths, as a tree. A node may be in the set, have children in it, or both.
///
/// Invariant: no child is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set {
    pub(super) members: BTreeSet<Element>,
    pub(super) children: BTreeMap<Element, Set>,
}

impl Set {
    /// A set of paths of fields.
    pub(crate) fn of<'a, P>(paths: impl IntoIterator<Item = P>) -> Self
    where
        P: IntoIterator<Item = &'a str>,
    {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<Element> = path.into_iter().map(Element::field).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a path, and none of its parents. The whole object is nobody's: no path, no change.
    pub(crate) fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    pub(crate) fn contains(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.child(first).is_some_and(|child| child.contains(rest)),
        }
    }

    /// Adds a node, itself or what is below it.
    pub(crate) fn put(&mut self, element: &Element, itself: bool, below: Option<Self>) {
        if itself {
            self.members.insert(element.clone());
        }
        if let Some(below) = below.filter(|below| !below.is_empty()) {
            self.children.insert(element.clone(), below);
        }
    }

    /// Whether the node itself is in the set.
    pub(crate) fn has(&self, element: &Element) -> bool {
        self.members.contains(element)
    }

    /// What is in the set below a node.
    pub(crate) fn child(&self, element: &Element) -> Option<&Self> {
        self.children.get(element)
    }

    /// The nodes that are in the set or have children in it.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Element> {
        let parents = self.children.keys();
        let leaves = self.members.iter();
        parents.chain(leaves.filter(|leaf| !self.children.contains_key(*leaf)))
    }

    /// What is in one of them.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.extend(other);
        union
    }

    fn extend(&mut self, other: &Self) {
        self.members.extend(other.members.iter().cloned());
        for (element, child) in &other.children {
            match self.children.get_mut(element) {
                Some(mine) => mine.extend(child),
                None => {
                    self.children.insert(element.clone(), child.clone());
                }
            }
        }
    }

    /// What is in both.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let common = |(element, child): (&Element, &Self)| {
            let common = child.intersection(other.children.get(element)?);
            (!common.is_empty()).then(|| (element.clone(), common))
        };
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(common).collect(),
        }
    }

    /// What is not in `other`. A node's children stay when only the node is in `other`.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        self.without(other, false)
    }

    /// What is neither in `other` nor below a node that is.
    pub(crate) fn recursive_difference(&self, other: &Self) -> Self {
        self.without(other, true)
    }

    fn without(&self, other: &Self, recursive: bool) -> Self {
        let rest = |(element, child): (&Element, &Self)| {
            if recursive && other.members.contains(element) {
                return None;
            }
            let rest = match other.children.get(element) {
                Some(other) => child.without(other, recursive),
                None => child.clone(),
            };
            (!rest.is_empty()).then(|| (element.clone(), rest))
        };
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(rest).collect(),
        }
    }

    /// Calls `visit` with every path: the members of a node before what is below them.
    pub(crate) fn each(&self, visit: &mut impl FnMut(&[Element])) {
        self.each_below(&mut Vec::new(), visit);
    }

    fn each_below(&self, path: &mut Vec<Element>, visit: &mut impl FnMut(&[Element])) {
        for member in &self.members {
            path.push(member.clone());
            visit(path);
            path.pop();
        }
        for (element, child) in &self.children {
            path.push(element.clone());
            child.each_below(path, visit);
            path.pop();
        }
    }
}
