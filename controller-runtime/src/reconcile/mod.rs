//! What a reconcile function is to the runtime.
//!
//! `#[controller]` turns a function into a [`Reconciler`]: a type whose only duty is to say how it is wired. What the
//! function takes besides the object are extractors ([`FromReconcile`]); each of them can also be made by hand, so
//! that the function stays callable in a unit test. How its errors are tried again is theirs to say
//! ([`ReconcileError`]).

mod assembly;
mod attempt;
mod context;
mod declared;
mod error;
mod extract;
mod options;
mod relation;
mod run;
#[cfg(test)]
mod tests;
mod wiring;

use crate::{Action, object::Object};

pub use attempt::Attempt;
pub use context::MakeContext;
#[doc(hidden)]
pub use context::form;
pub use declared::Declared;
#[doc(hidden)]
pub use declared::controller;
pub use error::{ReconcileError, Retry};
pub use extract::{Declares, FromReconcile, Inputs};
pub use options::Options;
pub use relation::Related;
pub use run::Run;
pub use wiring::{Reconciling, Wiring};

/// A controller's types, and how it is wired. `#[controller]` makes one of a function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reconciler",
    note = "`#[controller]` on an `async fn` makes one"
)]
pub trait Reconciler: Sized + Send + Sync + 'static {
    /// The kind that is reconciled.
    type Object: Object;
    /// What all reconciles share; `()` if they share nothing.
    type Context: Send + Sync + 'static;
    /// Why a reconcile can fail.
    type Error: ReconcileError;

    /// What it watches, and the function itself.
    fn wire(kind: Kind<Self>) -> Wiring<Self>;
}

/// What is known of a controller's kind only at run time; `()` for most.
pub type Kind<R> = <<R as Reconciler>::Object as kube::Resource>::DynamicType;

/// The result of a reconcile function: `Result<Action, Error>`.
#[diagnostic::on_unimplemented(
    message = "a reconcile function returns `Result<Action, Error>`, not `{Self}`",
    label = "expected `Result<Action, Error>`",
    note = "the action says when to run next: `Ok(Action::await_change())`"
)]
pub trait Outcome {
    /// Why it can fail.
    type Error;
}

impl<E> Outcome for Result<Action, E> {
    type Error = E;
}
