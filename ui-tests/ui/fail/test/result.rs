//! The test returns a value.

use controller_runtime::{controller_test, testing::Cluster};

#[controller_test]
async fn holds(cluster: Cluster) -> bool {
    cluster.requests().is_empty()
}

fn main() {}
