//! What the whole promises.
