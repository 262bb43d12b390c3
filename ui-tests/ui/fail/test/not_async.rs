//! The test is not async.

use controller_runtime::{controller_test, testing::Cluster};

#[controller_test]
fn holds(cluster: Cluster) {
    drop(cluster);
}

fn main() {}
