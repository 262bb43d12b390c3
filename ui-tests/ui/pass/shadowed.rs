//! A module that shadows everything a careless macro would name.
#![allow(dead_code, non_camel_case_types, non_snake_case, unused_macros)]

use controller_runtime::controller;

struct Result;
struct Option;
struct String;
struct Box;
struct Vec;
struct Send;
struct Sync;
struct Sized;
struct From;
struct Into;
struct Error;
struct Debug;
struct Display;
struct Future;
struct Wiring;
struct Reconciler;
struct str;
fn Ok() {}
fn Err() {}
fn Some() {}
fn None() {}
fn drop() {}
mod std {}
mod core {}
mod alloc {}
mod kube {}
mod controller_runtime_ {}
macro_rules! write {
    () => {};
}
macro_rules! vec {
    () => {};
}

#[controller(
    owns(::k8s_openapi::api::core::v1::Secret, predicates(generation)),
    references(::k8s_openapi::api::core::v1::Pod, |_| ::std::option::Option::None::<::std::string::String>),
    error = pub enum Failure {
        #[error("{0} of {1:?}")]
        Kube(#[source] ::kube::Error, u8),
        #[error(transparent)]
        Io(#[from] ::std::io::Error),
    },
)]
async fn reconcile(
    _object: ::std::sync::Arc<::k8s_openapi::api::core::v1::ConfigMap>,
    _ctx: ::std::sync::Arc<u8>,
) -> ::std::result::Result<::controller_runtime::Action, Failure> {
    ::std::result::Result::Ok(::controller_runtime::Action::await_change())
}

fn main() {
    let _ = reconcile::controller(7_u8);
}
