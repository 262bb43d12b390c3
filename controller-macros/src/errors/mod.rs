//! Everything that can be wrong, each with its words, and the accumulator that lets no mistake hide another.
//!
//! A text says what is wrong at the very token, and what to write instead.

mod function;
mod items;
mod own;
mod test;
mod values;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Error;

pub(crate) use self::{function::*, items::*, own::*, test::*, values::*};

/// Collects errors. It must be finished: dropping it unfinished is a bug of this crate.
#[derive(Debug)]
pub(crate) struct Errors {
    /// `None` once finished.
    found: Option<Vec<Error>>,
}

impl Errors {
    pub(crate) fn new() -> Self {
        Self {
            found: Some(Vec::new()),
        }
    }

    pub(crate) fn push(&mut self, error: Error) {
        if let Some(found) = &mut self.found {
            found.push(error);
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.found.as_ref().map_or(0, Vec::len)
    }

    /// Keeps a value, or the error that stands in its place.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// The value if nothing was wrong, or everything that was, in the order of the source.
    pub(crate) fn finish<T>(mut self, value: Option<T>) -> Result<T, Diagnostics> {
        let found = self.found.take().unwrap_or_default();
        match value {
            Some(value) if found.is_empty() => Ok(value),
            _ => {
                debug_assert!(!found.is_empty(), "a value is missing without an error");
                Err(Diagnostics(found))
            }
        }
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.found.is_none(), "errors were collected but not reported");
        }
    }
}

/// The errors of one expansion.
#[derive(Debug)]
pub(crate) struct Diagnostics(Vec<Error>);

impl ToTokens for Diagnostics {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.0.iter().map(Error::to_compile_error));
    }
}
