//! An item of another attribute.

use controller_runtime::{controller_test, testing::Cluster};

#[controller_test(start_paused = true)]
async fn holds(cluster: Cluster) {
    drop(cluster);
}

fn main() {}
