//! A controller whose types are forgotten: what an operator takes.

use std::{fmt, marker::PhantomData};

use futures::future::{BoxFuture, FutureExt};

use super::{MakeContext, Reconciler, Start, Wiring, assembly};
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

    fn run(self: Box<Self>, environment: Environment) -> BoxFuture<'static, Result<(), BoxError>> {
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
        wiring: R::wire(start),
        context,
        form: PhantomData::<fn() -> Form>,
    }))
}

struct Wired<R: Reconciler, M, Form> {
    wiring: Wiring<R>,
    context: M,
    form: PhantomData<fn() -> Form>,
}

impl<R: Reconciler, M: MakeContext<R::Context, Form>, Form> Runnable for Wired<R, M, Form> {
    fn declaration(&self) -> &Declaration {
        &self.wiring.declaration
    }

    fn run(self: Box<Self>, environment: Environment) -> BoxFuture<'static, Result<(), BoxError>> {
        let Self {
            wiring,
            context,
            form: _,
        } = *self;
        async move {
            let context = context.make(environment.client.clone()).await?;
            assembly::run(wiring, context, environment).await
        }
        .boxed()
    }
}
