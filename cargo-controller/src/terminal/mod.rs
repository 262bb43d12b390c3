//! A person's terminal: what fits on it, and how it is left as it was found.

mod block;
mod fit;
mod screen;

pub(crate) use block::Block;
pub(crate) use fit::{clean, fit, width};
pub(crate) use screen::{Screen, Size};
