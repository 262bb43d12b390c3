//! The context of a controller, or how it is made.
//!
//! Made lazily, when the controller runs: printing manifests opens no database.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, FutureExt};
use kube::Client;

use crate::declare::BoxError;

/// A context of type `C`, or a function that makes one of the client.
///
/// ```
/// use std::sync::Arc;
/// use controller_runtime::reconcile::MakeContext;
/// use kube::Client;
///
/// struct App { client: Client }
///
/// impl App {
///     async fn connect(client: &Client) -> Result<Self, std::io::Error> {
///         Ok(Self { client: client.clone() })
///     }
/// }
///
/// fn takes<Form>(_: impl MakeContext<App, Form>) {}
/// # fn all(app: App, other: App) {
/// takes(App::connect);
/// takes(app);
/// takes(Arc::new(other));
/// # }
/// ```
///
/// `Form` tells these three apart; it is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a context `{C}` nor makes one",
    label = "expected an `async fn(&Client) -> Result<{C}, _>`, or an `Arc<{C}>`",
    note = "the future must be `Send`, and the error a `std::error::Error`"
)]
pub trait MakeContext<C, Form>: Send + 'static {
    /// What makes the context, each time the controller begins to run.
    // That it can be shared is asked where it is named, once.
    fn maker(self) -> Maker<C>
    where
        C: Shareable;
}

/// Makes the context of a controller.
pub(super) type Maker<C> = Box<dyn Fn(Client) -> BoxFuture<'static, Result<Arc<C>, BoxError>> + Send>;

/// What all reconciles can share: they run on many threads at the same time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a context: reconciles on many threads share it",
    label = "not `Send + Sync + 'static`",
    note = "use `Mutex` or an atomic where it has `Cell` or `RefCell`, `Arc` where it has `Rc`, and owned data where it has references"
)]
pub trait Shareable: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<C: Send + Sync + 'static> Shareable for C {}

/// The forms of [`MakeContext`].
#[doc(hidden)]
pub mod form {
    #[derive(Debug)]
    pub struct Value;
    #[derive(Debug)]
    pub struct Shared;
    #[derive(Debug)]
    pub struct Function;
}

#[diagnostic::do_not_recommend]
impl<C: Send + 'static> MakeContext<C, form::Value> for C {
    fn maker(self) -> Maker<C>
    where
        C: Shareable,
    {
        shared(Arc::new(self))
    }
}

#[diagnostic::do_not_recommend]
impl<C: Send + Sync + 'static> MakeContext<C, form::Shared> for Arc<C> {
    fn maker(self) -> Maker<C>
    where
        C: Shareable,
    {
        shared(self)
    }
}

#[diagnostic::do_not_recommend]
impl<C, F> MakeContext<C, form::Function> for F
where
    C: Send + 'static,
    F: for<'a> Make<'a, C> + Send + 'static,
{
    fn maker(self) -> Maker<C>
    where
        C: Shareable,
    {
        let make = Arc::new(Mutex::new(self));
        Box::new(move |client| {
            let make = Arc::clone(&make);
            async move {
                let making = make.lock().unwrap_or_else(PoisonError::into_inner).call(&client);
                making.await.map(Arc::new)
            }
            .boxed()
        })
    }
}

/// The same context each time.
fn shared<C: Shareable>(context: Arc<C>) -> Maker<C> {
    Box::new(move |_client| futures::future::ready(Ok(Arc::clone(&context))).boxed())
}

/// An `async Fn(&'a Client) -> Result<C, _>` whose future can be sent.
///
/// `AsyncFn` cannot be asked for that yet.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not make the context `{C}`",
    label = "expected an `async fn(&Client) -> Result<{C}, _>`"
)]
pub trait Make<'a, C> {
    /// Makes the context.
    fn call(&self, client: &'a Client) -> BoxFuture<'a, Result<C, BoxError>>;
}

impl<'a, C, E, F, Fut> Make<'a, C> for F
where
    F: Fn(&'a Client) -> Fut,
    Fut: Future<Output = Result<C, E>> + Send + 'a,
    E: Into<BoxError>,
{
    fn call(&self, client: &'a Client) -> BoxFuture<'a, Result<C, BoxError>> {
        let made = self(client);
        async move { made.await.map_err(Into::into) }.boxed()
    }
}
