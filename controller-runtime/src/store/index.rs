//! Named indexes: from a value that a function reads off an object to the objects that have it.
//!
//! An index remembers the values under which it filed each object. A function that answers differently
//! the second time cannot leave anything behind, and one that panics files the object under nothing.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Reads the values of an object for one index; may give none, or several.
pub(super) type IndexFn<T> = Arc<dyn Fn(&T) -> Vec<String> + Send + Sync>;

/// All indexes of one table. Positions are those of the table, kept equal to it on every change.
pub(super) struct Indexes<T> {
    by_name: BTreeMap<String, Index<T>>,
}

struct Index<T> {
    values_of: IndexFn<T>,
    /// One entry per object of the table, at the object's position.
    values: Vec<Box<[Arc<str>]>>,
    /// No set is empty.
    buckets: HashMap<Arc<str>, BTreeSet<u32>>,
}

impl<T> Indexes<T> {
    pub(super) fn new() -> Self {
        Self {
            by_name: BTreeMap::new(),
        }
    }

    /// Adds or replaces the index `name`.
    pub(super) fn build<'a>(
        &mut self,
        name: &str,
        values_of: IndexFn<T>,
        objects: impl Iterator<Item = &'a T>,
    ) where
        T: 'a,
    {
        let mut index = Index {
            values_of,
            values: Vec::new(),
            buckets: HashMap::new(),
        };
        for object in objects {
            index.push(object);
        }
        self.by_name.insert(name.to_owned(), index);
    }

    /// Positions of the objects that have `value`, low to high; `None` when there is no such index.
    pub(super) fn find(&self, name: &str, value: &str) -> Option<impl Iterator<Item = u32>> {
        let index = self.by_name.get(name)?;
        Some(index.buckets.get(value).into_iter().flatten().copied())
    }

    /// Whether the index `name` would file an object under `value`.
    pub(super) fn files(&self, name: &str, object: &T, value: &str) -> bool {
        let index = self.by_name.get(name);
        index.is_some_and(|index| index.read(object).iter().any(|own| **own == *value))
    }

    pub(super) fn push(&mut self, object: &T) {
        for index in self.by_name.values_mut() {
            index.push(object);
        }
    }

    pub(super) fn replace(&mut self, position: u32, object: &T) {
        for index in self.by_name.values_mut() {
            index.leave(position);
            index.values[position as usize] = index.read(object);
            index.enter(position);
        }
    }

    /// The object at `position` is gone and the last one has taken its place.
    pub(super) fn swap_remove(&mut self, position: u32) {
        for index in self.by_name.values_mut() {
            index.leave(position);
            let last = index.last();
            if last != position {
                index.leave(last);
            }
            index.values.swap_remove(position as usize);
            if last != position {
                index.enter(position);
            }
        }
    }

    /// How many values all indexes know.
    pub(super) fn len(&self) -> usize {
        self.by_name.values().map(|index| index.buckets.len()).sum()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        let of = |index: &Index<T>| index.values.capacity().max(index.buckets.capacity());
        self.by_name.values().map(of).max().unwrap_or_default()
    }

    pub(super) fn shrink_to(&mut self, capacity: usize) {
        for index in self.by_name.values_mut() {
            index.values.shrink_to(capacity);
            index.buckets.shrink_to(capacity);
        }
    }
}

impl<T> Index<T> {
    fn push(&mut self, object: &T) {
        let values = self.read(object);
        self.values.push(values);
        self.enter(self.last());
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the table has fewer than 2^32 objects"
    )]
    fn last(&self) -> u32 {
        self.values.len().saturating_sub(1) as u32
    }

    /// The values of an object, each once, sharing the text of those that are known already.
    fn read(&self, object: &T) -> Box<[Arc<str>]> {
        let values: BTreeSet<String> = catch_unwind(AssertUnwindSafe(|| (self.values_of)(object)))
            .unwrap_or_else(|_| {
                tracing::error!(
                    "an index function panicked; the object is in the store, but not in the index"
                );
                Vec::new()
            })
            .into_iter()
            .collect();
        values
            .into_iter()
            .map(|value| match self.buckets.get_key_value(value.as_str()) {
                Some((known, _)) => Arc::clone(known),
                None => value.into(),
            })
            .collect()
    }

    fn enter(&mut self, position: u32) {
        for value in &self.values[position as usize] {
            self.buckets
                .entry(Arc::clone(value))
                .or_default()
                .insert(position);
        }
    }

    fn leave(&mut self, position: u32) {
        for value in &self.values[position as usize] {
            if let Some(bucket) = self.buckets.get_mut(value) {
                bucket.remove(&position);
                if bucket.is_empty() {
                    self.buckets.remove(value);
                }
            }
        }
    }
}

impl<T> fmt::Debug for Indexes<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}
