//! examples/document
fn main() {}
