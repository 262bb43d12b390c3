//! A value without a key.

use controller_runtime::{controller_test, testing::Cluster};

#[controller_test("1s")]
async fn holds(cluster: Cluster) {
    drop(cluster);
}

fn main() {}
