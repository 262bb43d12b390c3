//! Without a prelude.
#![no_implicit_prelude]

#[::controller_runtime::controller(
    watches(::k8s_openapi::api::core::v1::Secret, map(names)),
    predicates(all(generation, not(labels))),
    error = enum Failure {
        #[error("failed: {reason}")]
        #[retry_after = "5s"]
        Failed { reason: ::std::string::String },
    },
)]
async fn reconcile(
    object: ::std::sync::Arc<::k8s_openapi::api::core::v1::ConfigMap>,
) -> ::std::result::Result<::controller_runtime::Action, Failure> {
    match object.data {
        ::std::option::Option::Some(_) => {
            ::std::result::Result::Ok(::controller_runtime::Action::await_change())
        }
        ::std::option::Option::None => ::std::result::Result::Err(Failure::Failed {
            reason: ::std::string::String::new(),
        }),
    }
}

fn names(
    _: &::k8s_openapi::api::core::v1::Secret,
) -> ::std::option::Option<::controller_runtime::object::ObjectRef<::k8s_openapi::api::core::v1::ConfigMap>> {
    ::std::option::Option::None
}

#[derive(::std::fmt::Debug, ::thiserror::Error, ::controller_runtime::ReconcileError)]
#[error("out of paper")]
#[permanent]
struct OutOfPaper;

fn main() {
    let _ = reconcile::controller();
    let _ = OutOfPaper;
}
