//! The test takes something else.

use controller_runtime::controller_test;
use kube::Client;

#[controller_test]
async fn holds(client: Client) {
    drop(client);
}

fn main() {}
