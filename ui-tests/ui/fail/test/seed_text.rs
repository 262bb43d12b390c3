//! The seed is a text.

use controller_runtime::{controller_test, testing::Cluster};

#[controller_test(seed = "seven")]
async fn holds(cluster: Cluster) {
    drop(cluster);
}

fn main() {}
