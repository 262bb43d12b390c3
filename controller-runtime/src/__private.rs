//! What the expansion of `#[controller]` names: every path in generated code begins here.
//!
//! Of the same version as the macros, and of no other; not for use by hand.

pub use std::{
    convert::{From, Infallible as Never},
    error::Error,
    fmt::{Debug, Display, Formatter, Result as FmtResult},
    marker::{PhantomData as Marker, Sized},
    primitive::str,
    write,
};

use crate::reconcile::Reconciling;
pub use crate::reconcile::controller;
pub use crate::{
    reconcile::{
        Declared, Declares, Inputs, Kind, MakeContext, Options, Outcome, ReconcileError, Reconciler, Retry,
        Wiring,
    },
    trigger::{Predicate, predicate},
};

/// The cause of an error.
pub type Source<'a> = Option<&'a (dyn Error + 'static)>;

/// A running reconcile, boxed where its bounds are asked for.
pub fn boxed<R: Reconciler>(
    future: impl Future<Output = Result<crate::Action, R::Error>> + Send + 'static,
) -> Reconciling<R> {
    Box::pin(future)
}

/// A field as the cause.
pub fn source<'a>(error: &'a (dyn Error + 'static)) -> Source<'a> {
    Some(error)
}

/// The cause of a field.
pub fn source_of<'a>(error: &'a (dyn Error + 'static)) -> Source<'a> {
    error.source()
}

/// No cause.
pub fn no_source<'a>() -> Source<'a> {
    None
}

/// An error, or what a box of one leads to: called as a method, so that boxes are looked through.
pub trait AsSource {
    /// As the standard library wants it.
    fn as_source(&self) -> &(dyn Error + 'static);
}

impl<E: Error + 'static> AsSource for E {
    fn as_source(&self) -> &(dyn Error + 'static) {
        self
    }
}

impl AsSource for dyn Error + 'static {
    fn as_source(&self) -> &(dyn Error + 'static) {
        self
    }
}

impl AsSource for dyn Error + Send + 'static {
    fn as_source(&self) -> &(dyn Error + 'static) {
        self
    }
}

impl AsSource for dyn Error + Send + Sync + 'static {
    fn as_source(&self) -> &(dyn Error + 'static) {
        self
    }
}

/// `#[retry_after = "…"]`
pub fn retry_after(millis: u64) -> Retry {
    Retry::After(std::time::Duration::from_millis(millis))
}
