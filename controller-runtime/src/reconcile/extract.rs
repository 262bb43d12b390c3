//! Extractors: what a reconcile function takes besides the object.

use std::{fmt, sync::Arc};

use kube::Client;

use super::{Attempt, Reconciler, Run};
use crate::{declare::Declaration, store::Store};

/// A parameter of a reconcile function after the first.
///
/// The runtime brings `Arc<Context>`, `Client`, `Store<T>` of declared relations, and [`Attempt`]. Your own reads what
/// it needs from the run:
///
/// ```
/// use std::sync::Arc;
/// use controller_runtime::reconcile::{FromReconcile, Reconciler, Run};
///
/// # struct Pool;
/// struct App { pool: Arc<Pool> }
/// struct Database(Arc<Pool>);
///
/// impl<R: Reconciler<Context = App>> FromReconcile<R> for Database {
///     fn from_reconcile(run: &Run<R>) -> Self {
///         Self(Arc::clone(&run.context().pool))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a reconcile function cannot take `{Self}`",
    label = "not an extractor of this controller",
    note = "it can take `Arc<Context>`, `Client`, `Store<T>` of a declared relation, `Attempt`, and types that implement `FromReconcile`"
)]
pub trait FromReconcile<R: Reconciler>: Sized {
    /// Reads it from a run.
    fn from_reconcile(run: &Run<R>) -> Self;

    /// Says what rights it needs.
    fn declare(declaration: &mut Declaration) {
        let _ = declaration;
    }
}

/// A controller has a store of `T`: it is a relation in the attribute.
#[diagnostic::on_unimplemented(
    message = "this controller has no `Store<{T}>`: nothing in its attribute watches `{T}`",
    label = "`{T}` is not watched",
    note = "add `owns({T})`, `watches({T}, map(…))` or `references({T}, …)` to `#[controller(…)]`"
)]
pub trait Declares<T> {}

impl<R: Reconciler> FromReconcile<R> for Arc<R::Context> {
    fn from_reconcile(run: &Run<R>) -> Self {
        Self::clone(run.context())
    }
}

impl<R: Reconciler> FromReconcile<R> for Client {
    fn from_reconcile(run: &Run<R>) -> Self {
        run.client().clone()
    }
}

impl<R: Reconciler> FromReconcile<R> for Attempt {
    fn from_reconcile(run: &Run<R>) -> Self {
        run.attempt()
    }
}

impl<R, T> FromReconcile<R> for Store<T>
where
    R: Reconciler + Declares<T>,
    T: 'static,
{
    fn from_reconcile(run: &Run<R>) -> Self {
        run.store()
    }
}

type Extract<R, V> = Box<dyn Fn(&Run<R>) -> V + Send + Sync>;

/// The extractors of one function, as witnesses: `((), A), B)` for parameters `A, B`.
pub struct Inputs<R: Reconciler, V> {
    pub(super) extract: Extract<R, V>,
    pub(super) declare: Vec<fn(&mut Declaration)>,
}

impl<R: Reconciler> Inputs<R, ()> {
    /// None yet.
    #[expect(clippy::new_without_default, reason = "only generated code makes one")]
    pub fn new() -> Self {
        Self {
            extract: Box::new(|_| ()),
            declare: Vec::new(),
        }
    }
}

impl<R: Reconciler, V: 'static> Inputs<R, V> {
    /// One more.
    #[must_use]
    pub fn input<T: FromReconcile<R> + 'static>(mut self) -> Inputs<R, (V, T)> {
        let before = self.extract;
        self.declare.push(T::declare);
        Inputs {
            extract: Box::new(move |run| (before(run), T::from_reconcile(run))),
            declare: self.declare,
        }
    }
}

impl<R: Reconciler, V> fmt::Debug for Inputs<R, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inputs")
            .field("count", &self.declare.len())
            .finish_non_exhaustive()
    }
}
