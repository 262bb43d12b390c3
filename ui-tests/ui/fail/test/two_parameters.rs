//! The test takes a cluster, and something else.

use controller_runtime::{controller_test, testing::Cluster};
use kube::Client;

#[controller_test]
async fn holds(cluster: Cluster, client: Client) {
    drop((cluster, client));
}

fn main() {}
