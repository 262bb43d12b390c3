//! The attribute is on a structure.

use controller_runtime::controller_test;

#[controller_test]
struct Holds;

fn main() {
    let _ = Holds;
}
