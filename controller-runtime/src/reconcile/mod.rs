//! What a reconcile function is to the runtime.
//!
//! `#[controller]` turns a function into a [`Reconciler`]: a type whose only duty is to say how it is wired. What the
//! function takes besides the object are extractors ([`FromReconcile`]); each of them can also be made by hand, so
//! that the function stays callable in a unit test. How its errors are tried again is theirs to say
//! ([`ReconcileError`]).

mod around;
mod assembly;
mod attempt;
mod bodies;
mod children;
mod circles;
mod cleanup;
mod context;
mod declared;
mod error;
mod extract;
mod failure;
mod finalizer;
mod now;
mod options;
mod recorder;
mod relation;
mod requests;
mod run;
mod start;
mod status;
mod surely;
#[cfg(test)]
mod tests;
mod via;
mod wakes;
mod wiring;

use crate::Action;

pub use attempt::Attempt;
pub use children::{Child, Children, Refusal};
pub use cleanup::Cleanup;
#[doc(hidden)]
pub use context::form;
pub use context::{MakeContext, Shareable};
pub use declared::Declared;
#[doc(hidden)]
pub use declared::controller;
#[doc(hidden)]
pub use error::cause;
pub use error::{Failed, ReconcileError, Retry};
pub use extract::{Declares, FromReconcile, Inputs};
pub use failure::{Fails, Failure, OrFail};
pub use now::Now;
pub use options::Options;
pub use recorder::Recorder;
pub use relation::{Reconciled, Related};
pub use run::Run;
pub use start::Start;
pub use status::Status;
#[doc(hidden)]
pub use surely::{Mapped, Sure, Surely, Unknown};
pub use via::{Field, Mapper};
pub use wiring::{Reconciling, Wiring};

/// A controller's types, and how it is wired. `#[controller]` makes one of a function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reconciler",
    note = "`#[controller]` on an `async fn` makes one"
)]
pub trait Reconciler: Sized + Send + Sync + 'static {
    /// The kind that is reconciled.
    type Object: Reconciled;
    /// What all reconciles share; `()` if they share nothing.
    type Context: Shareable;

    /// What it watches, and the function itself.
    fn wire(start: Start<Self>) -> Wiring<Self>;
}

/// The result of a reconcile function: `Result<Action, Error>`, where the error says how it is tried again.
#[diagnostic::on_unimplemented(
    message = "a reconcile function returns `Result<Action, Error>`, not `{Self}`",
    label = "expected `Result<Action, Error>`",
    note = "the action says when to run next: `Ok(Action::await_change())`"
)]
pub trait Outcome: Send + 'static {
    /// The same result, with the error's type forgotten.
    fn forget(self) -> Result<Action, Failed>;
}

impl<E: Fails> Outcome for Result<Action, E> {
    fn forget(self) -> Result<Action, Failed> {
        self.map_err(Fails::forget)
    }
}

/// The running reconciles of a controller with a context `C`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Runs<C>(std::marker::PhantomData<fn() -> C>);

impl<C: Shareable> Runs<C> {
    /// A running reconcile, boxed where its bounds are asked for.
    pub fn boxed<O: Outcome>(future: impl Future<Output = O> + Send + 'static) -> Reconciling {
        Box::pin(async move { future.await.forget() })
    }
}

/// Of a context that cannot be shared: that is told where it is named, and what follows from it is not told again.
#[doc(hidden)]
pub trait NotShared {
    /// Takes the place of the method of the same name, which goes before if it is there.
    fn boxed<O>(future: impl Future<Output = O>) -> Reconciling;
}

impl<C> NotShared for Runs<C> {
    fn boxed<O>(_future: impl Future<Output = O>) -> Reconciling {
        unreachable!("a controller with mistakes does not compile")
    }
}
