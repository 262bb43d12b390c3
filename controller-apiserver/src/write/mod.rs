//! Writes: decoding, admission, the rules of metadata, and the commit.
//!
//! The steps are those of the API server's generic registry (`pkg/registry/generic`) and its
//! create/update/delete strategies.

mod below;
mod collection;
mod configuration;
mod create;
mod decode;
mod delete;
mod generation;
mod metadata;
mod options;
mod patch;
mod policy;
mod review;
mod scale;
mod status;
mod strategy;
mod track;
mod update;

pub(crate) use delete::delete_stored;
pub(crate) use metadata::tidy as tidy_metadata;
pub(crate) use options::{DeleteOptions, Propagation, WriteOptions};
