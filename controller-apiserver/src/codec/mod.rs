//! Between bytes and objects: JSON, YAML and protobuf bodies, the types of built-in kinds, and what a client
//! accepts as an answer.

pub(crate) mod accept;
pub(crate) mod body;
mod protobuf;
pub(crate) mod scalars;
pub(crate) mod typed;
pub(crate) mod types;
mod wire;
