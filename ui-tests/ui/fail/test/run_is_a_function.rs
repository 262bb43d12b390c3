//! The function that makes the operator is not called.

use controller_runtime::{Operator, controller_test, testing::Cluster};

fn operator() -> Operator {
    Operator::new("documents")
}

#[controller_test(run = operator)]
async fn holds(cluster: Cluster) {
    drop(cluster);
}

fn main() {
    let _ = operator();
}
