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

pub use core::prelude::v1::test;

pub use kube::{core::PartialObjectMeta, discovery::ApiResource};

#[cfg(feature = "testing")]
pub use crate::testing;
pub use crate::{
    declare::Scope,
    reconcile::{
        Declared, Declares, Field, Inputs, MakeContext, Mapper, NotShared, Options, Outcome, ReconcileError,
        Reconciler, Retry, Runs, Start, Surely, Wiring, cause, controller,
    },
    trigger::{Predicate, predicate},
};

/// The cause of an error.
pub type Source<'a> = Option<&'a (dyn Error + 'static)>;

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

/// `#[retry_after = "…"]`
pub fn retry_after(millis: u64) -> Retry {
    Retry::After(std::time::Duration::from_millis(millis))
}
