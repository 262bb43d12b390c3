//! Maps that are as large as what lives in them.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash},
};

/// No map is made smaller than this.
const SMALL: usize = 1024;

/// Gives memory back when three quarters of it are empty; to be called after a removal. A removal costs O(1) on average.
pub(crate) fn shrink<K: Eq + Hash, V, S: BuildHasher>(map: &mut HashMap<K, V, S>) {
    if map.capacity() > 2 * SMALL && map.len() < map.capacity() / 4 {
        map.shrink_to((map.len() * 2).max(SMALL));
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
