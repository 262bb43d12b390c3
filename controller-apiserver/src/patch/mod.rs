//! The four patch formats: JSON patch, merge patch, strategic merge and server-side apply.
//!
//! Pure functions over JSON values: no I/O and no clock; work and depth are bounded for any input.

pub mod error;
pub mod json;
pub mod merge;
pub mod typed;

pub use error::PatchError;
