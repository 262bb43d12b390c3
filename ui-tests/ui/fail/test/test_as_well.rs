//! Another attribute makes a test of it, too.

use controller_runtime::{controller_test, testing::Cluster};

#[controller_test]
#[tokio::test]
async fn holds(cluster: Cluster) {
    drop(cluster);
}

fn main() {}
