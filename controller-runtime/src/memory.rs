//! Maps that are as large as what lives in them.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash},
    sync::{Arc, Mutex, PoisonError},
};

/// No map is made smaller than this.
const SMALL: usize = 1024;

/// Gives memory back when three quarters of it are empty; to be called after a removal. A removal costs O(1) on average.
pub(crate) fn shrink<K: Eq + Hash, V, S: BuildHasher>(map: &mut HashMap<K, V, S>) {
    if map.capacity() > 2 * SMALL && map.len() < map.capacity() / 4 {
        map.shrink_to((map.len() * 2).max(SMALL));
    }
}

/// The maps of one controller, each under a name, so that someone can ask how much is in them. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Census(Arc<Mutex<Vec<Counted>>>);

type Counted = (String, Box<dyn Fn() -> usize + Send>);

impl Census {
    /// Takes up a map.
    pub(crate) fn add(&self, what: impl Into<String>, count: impl Fn() -> usize + Send + 'static) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((what.into(), Box::new(count)));
    }

    /// How many entries each has, in the order in which they were taken up.
    pub(crate) fn take(&self) -> Vec<(String, usize)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(what, count)| (what.clone(), count())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_churned_through_leaves_no_memory_behind() {
        let mut map: HashMap<u32, u32> = (0..100_000).map(|number| (number, number)).collect();
        for number in 10..100_000 {
            map.remove(&number);
            shrink(&mut map);
        }
        assert_eq!(map.len(), 10);
        assert!(map.capacity() <= 2 * SMALL, "{}", map.capacity());
    }
}
