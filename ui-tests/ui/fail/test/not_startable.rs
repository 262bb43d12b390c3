//! What is to be started is no operator.

use controller_runtime::{controller_test, testing::Cluster};

#[controller_test(run = "documents")]
async fn holds(cluster: Cluster) {
    drop(cluster);
}

fn main() {}
