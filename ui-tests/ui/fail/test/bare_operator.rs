//! The operator stands without its key.

use controller_runtime::{Operator, controller_test, testing::Cluster};

fn operator() -> Operator {
    Operator::new("documents")
}

#[controller_test(operator())]
async fn holds(cluster: Cluster) {
    drop(cluster);
}

fn main() {
    let _ = operator();
}
