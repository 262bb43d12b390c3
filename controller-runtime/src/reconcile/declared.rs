//! A controller whose types are forgotten: what an operator takes.

use std::fmt;

use futures::future::{BoxFuture, FutureExt};

use super::{MakeContext, Reconciler, Start, assembly, context::Maker};
use crate::declare::{BoxError, Declaration, Environment, Runnable};

/// A controller made by `#[controller]`: give it to `Operator::controller`.
pub struct Declared(Box<dyn Runnable>);

impl Declared {
    /// Stands in where the attribute has mistakes, so that they stay the only errors.
    #[doc(hidden)]
    pub fn broken() -> Self {
        unreachable!("a controller with mistakes does not compile")
    }
}

impl Runnable for Declared {
    fn declaration(&self) -> &Declaration {
        self.0.declaration()
    }

    fn run(&self, environment: Environment) -> BoxFuture<'static, Result<(), BoxError>> {
        self.0.run(environment)
    }
}

impl fmt::Debug for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Declared").field(self.declaration()).finish()
    }
}

/// Joins a reconciler and its context. Both were asked for their bounds where they were written.
pub fn controller<R, M, Form>(start: Start<R>, context: M) -> Declared
where
    R: Reconciler,
    M: MakeContext<R::Context, Form>,
    Form: 'static,
{
    Declared(Box::new(Wired {
        declaration: R::wire(start.clone()).declaration,
        start,
        make: context.maker(),
    }))
}

struct Wired<R: Reconciler> {
    declaration: Declaration,
    /// Wired anew for each run: what a run is made of is used up by it.
    start: Start<R>,
    make: Maker<R::Context>,
}

impl<R: Reconciler> Runnable for Wired<R> {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn run(&self, environment: Environment) -> BoxFuture<'static, Result<(), BoxError>> {
        let context = (self.make)(environment.client.clone());
        let start = self.start.clone();
        async move {
            let context = tokio::select! {
                biased;
                // What it waits for may never come; nothing runs yet that would have to end.
                () = environment.shutdown.clone() => return Ok(()),
                context = context => context?,
            };
            assembly::run(R::wire(start), context, environment).await
        }
        .boxed()
    }
}
