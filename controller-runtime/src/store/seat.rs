//! Where a store found an object, so that it finds it again without asking for its name.

use std::{num::NonZeroU32, sync::Arc};

use crate::{object::Object, pause::is_paused, uid::Uid};

/// Where an object of some key was found last.
///
/// It stays true for as long as that place holds an object of the same key, which the store can tell by a number.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Of namespace and name.
    pub(super) hash: u64,
    /// One more than the position in the table.
    number: NonZeroU32,
}

impl Seat {
    pub(super) fn new(position: u32, hash: u64) -> Self {
        Self {
            hash,
            number: NonZeroU32::MIN.saturating_add(position),
        }
    }

    pub(super) fn position(self) -> u32 {
        self.number.get() - 1
    }
}

/// An object that was found.
#[doc(hidden)]
#[derive(Debug)]
pub struct Found<K> {
    pub(crate) object: Arc<K>,
    pub(crate) uid: Option<Uid>,
    pub(crate) paused: bool,
    /// Where, in a store that can find it again from there. The namespace of the object is that of its key, then.
    pub(crate) seat: Option<Seat>,
}

impl<K: Object> Found<K> {
    /// An object of a store that cannot tell where it is.
    pub(super) fn somewhere(object: Arc<K>) -> Self {
        Self {
            uid: object.meta().uid.as_deref().map(Uid::of),
            paused: is_paused(object.meta()),
            object,
            seat: None,
        }
    }
}
