//! The attribute stands on a type.

use controller_runtime::controller;

#[controller]
struct Reconciler;

fn main() {
    let _ = Reconciler;
}
