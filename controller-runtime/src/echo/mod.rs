//! What a controller wrote itself: it must not wake for it, and it must see it.
//!
//! A write comes back twice: as the response, and as an event of a watch, in either order and any time apart.
//!
//! - [`OwnWrites`] keeps a key from waking for its own writes. A change that carries exactly the uid and
//!   resourceVersion of a response does not trigger the key that wrote it. While a key runs, changes that would wake it are
//!   held, for their response may not have come yet. Anyone else's change always triggers, and so do other keys.
//! - [`Overlay`] lets a reconcile read what was written before, although the watch has not delivered it yet.
//!
//! Not promised: that no own write ever triggers. One whose response was lost looks like anyone's, and after a relist a
//! change may hide somebody else's beneath ours; both cost a reconcile.

mod echoes;
mod overlay;
mod own_writes;

#[cfg(test)]
mod tests;

pub(crate) use overlay::{Name, Overlay, WeakOverlay, Written, name_of};
pub(crate) use own_writes::{OwnWrites, version_id};
