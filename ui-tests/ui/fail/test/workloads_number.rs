//! A duration without a unit.

use controller_runtime::{controller_test, testing::Cluster};

#[controller_test(workloads = "10")]
async fn holds(cluster: Cluster) {
    drop(cluster);
}

fn main() {}
