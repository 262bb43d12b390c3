//! The cluster is borrowed.

use controller_runtime::{controller_test, testing::Cluster};

#[controller_test]
async fn holds(cluster: &Cluster) {
    cluster.settle().await;
}

fn main() {}
