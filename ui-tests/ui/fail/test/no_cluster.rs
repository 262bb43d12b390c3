//! The test takes nothing.

use controller_runtime::controller_test;

#[controller_test]
async fn holds() {}

fn main() {}
