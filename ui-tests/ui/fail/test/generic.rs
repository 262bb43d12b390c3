//! The test has a parameter for a type.

use controller_runtime::{controller_test, testing::Cluster};

#[controller_test]
async fn holds<K>(cluster: Cluster) {
    drop(cluster);
}

fn main() {}
