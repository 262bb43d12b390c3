//! Several mistakes: all are told.
// mistakes: 3

use controller_runtime::{controller_test, testing::Cluster};

#[controller_test(sed = 7, workloads = "soon")]
fn holds(cluster: Cluster) {
    drop(cluster);
}

fn main() {}
