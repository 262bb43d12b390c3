//! What the core and its shell tell each other.

use crate::clock::Instant;

/// What the shell has to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Order<'a> {
    /// Wait until then, and ask again.
    Wait(Instant),
    /// Read the page that the token leads to; the first one without a token.
    List { token: Option<&'a str>, paged: bool },
    /// Open a watch: at a revision, or (without one) beginning with the whole set. The server is to end it
    /// after so many seconds. Of a `doubted` revision it is to be asked first whether it has it.
    Watch {
        revision: Option<&'a str>,
        seconds: u32,
        doubted: bool,
    },
}

/// What an event of a watch says, as far as the core cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// `ADDED` or `MODIFIED`.
    Put,
    /// `DELETED`.
    Delete,
    /// `BOOKMARK`; `end` when it closes the initial events.
    Bookmark { end: bool },
}

/// What the shell does with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Give it to the store, as part of the list.
    List,
    /// Give it to the store, as a change.
    Take,
    /// Nothing: it was for the core.
    Pass,
    /// The list is complete.
    Synced,
    /// Close the stream and ask for the next order.
    Close,
}

/// How the whole set is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// As the beginning of a watch.
    Stream,
    /// By pages.
    Pages,
    /// In one piece, for a continue token has expired.
    Whole,
}

impl Reading {
    pub(super) fn usual(streaming: bool) -> Self {
        if streaming { Self::Stream } else { Self::Pages }
    }
}
