//! A mapper in `map(…)` cannot fail: a `Result` is a list, too, and its error would be an empty one.
//!
//! Both methods are called `surely`; the one of [`Mapped`] goes before that of the trait, and is there for a `Result` only. So
//! that is told where the mapper is named, and nothing else is asked of what a mapper gives.

use std::{fmt, marker::PhantomData};

use super::Mapper;
use crate::object::Object;

/// A mapper, and the type `I` of what its function gives.
pub struct Mapped<T: Object, K: Object, I> {
    pub(super) mapper: Mapper<T, K>,
    pub(super) given: PhantomData<fn() -> I>,
}

impl<T: Object, K: Object, X, E> Mapped<T, K, Result<X, E>> {
    /// Is not there: a `Result` says no for sure.
    pub fn surely(self) -> Mapper<T, K>
    where
        Result<X, E>: Sure,
    {
        self.mapper
    }
}

/// What a mapper in `map(…)` gives.
#[diagnostic::on_unimplemented(
    message = "a mapper in `map(…)` cannot fail, and this one gives a `Result`",
    label = "its error would look like an empty list",
    note = "write `try_map(…)`: what fails there is mapped again, with backoff"
)]
pub trait Sure {}

/// Stands in for the error of a mapper that does not fit at all, of which only that is told.
#[derive(Debug)]
pub enum Unknown {}

#[diagnostic::do_not_recommend]
impl<X> Sure for Result<X, Unknown> {}

/// Of everything that is no `Result`.
pub trait Surely<T: Object, K: Object> {
    /// The mapper.
    fn surely(self) -> Mapper<T, K>;
}

impl<T: Object, K: Object, I> Surely<T, K> for Mapped<T, K, I> {
    fn surely(self) -> Mapper<T, K> {
        self.mapper
    }
}

impl<T: Object, K: Object, I> fmt::Debug for Mapped<T, K, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mapped").field(&self.mapper).finish()
    }
}
