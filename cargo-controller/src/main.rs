//! cargo-controller
fn main() {}
