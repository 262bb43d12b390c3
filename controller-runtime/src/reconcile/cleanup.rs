//! `cleanup(path)`: what is done before an object goes.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};

use super::{Failed, Fails, FromReconcile, Reconciler, Run};
use crate::declare::Declaration;

/// A function that cleans up after an object: `async fn(Arc<Kind>, extractors…) -> Result<(), Error>`.
///
/// It is called until it succeeds, so it must bear to be called again; then the object goes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not clean up after this kind",
    label = "expected `async fn(Arc<Kind>, extractors…) -> Result<(), Error>`",
    note = "it takes the object and up to six extractors, as the reconcile function does, and its error is a `ReconcileError`"
)]
pub trait Cleanup<R: Reconciler, Inputs>: Send + Sync + 'static {
    /// Calls it.
    fn call(&self, run: &Run<R>) -> BoxFuture<'static, Result<(), Failed>>;

    /// Says what rights it needs.
    fn declare(declaration: &mut Declaration);
}

macro_rules! cleanup {
    ($($input:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<R, Function, Fut, E, $($input,)*> Cleanup<R, ($($input,)*)> for Function
        where
            R: Reconciler,
            Function: Fn(Arc<R::Object>, $($input),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<(), E>> + Send + 'static,
            E: Fails,
            $($input: FromReconcile<R>,)*
        {
            fn call(&self, run: &Run<R>) -> BoxFuture<'static, Result<(), Failed>> {
                let cleaning = self(Arc::clone(run.object()), $($input::from_reconcile(run)),*);
                async move { cleaning.await.map_err(Fails::forget) }.boxed()
            }

            #[allow(unused_variables)]
            fn declare(declaration: &mut Declaration) {
                $($input::declare(declaration);)*
            }
        }
    };
}

cleanup!();
cleanup!(A);
cleanup!(A B);
cleanup!(A B C);
cleanup!(A B C D);
cleanup!(A B C D E1);
cleanup!(A B C D E1 F);
