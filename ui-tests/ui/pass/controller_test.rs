//! A test under strict lints, in a module where the prelude means something else, called as an ordinary function.

#![deny(warnings, missing_docs, unreachable_pub, unused_qualifications)]
#![deny(clippy::pedantic)]
#![allow(dead_code)]

use ::controller_runtime as runtime;
use runtime::{controller_test, prelude::*, testing::Cluster};

mod strange {
    use super::*;

    struct Ok;
    struct Result;
    struct String;
    mod std {}
    mod core {}
    mod test {}

    #[controller_test(run = operator(), seed = 1, crate = runtime)]
    /// It is documented.
    pub(crate) async fn it_runs(cluster: Cluster) {
        cluster.settle().await;
        assert_eq!(cluster.reconciles().len(), 1);
    }

    fn operator() -> Operator {
        Operator::new("accounts").controller(reconcile::controller())
    }
}

#[controller_test]
async fn it_returns_a_result(cluster: Cluster) -> ::std::result::Result<(), kube::Error> {
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(cluster.client());
    namespaces.get("default").await?;
    ::std::result::Result::Ok(())
}

#[controller(selector(fields = "metadata.name=default"))]
#[allow(clippy::unused_async)]
async fn reconcile(
    namespace: Arc<k8s_openapi::api::core::v1::Namespace>,
) -> ::std::result::Result<Action, kube::Error> {
    assert_eq!(namespace.name_any(), "default");
    ::std::result::Result::Ok(Action::await_change())
}

fn main() {
    strange::it_runs();
    it_returns_a_result();
}
