//! The four patch formats: JSON patch, merge patch, strategic merge and server-side apply.
//!
//! Pure functions over JSON values: no I/O and no clock; work and depth are bounded for any input.

pub mod apply;
pub mod error;
mod fields;
pub mod json;
pub mod merge;
pub mod strategic;
pub mod typed;

pub use error::PatchError;
