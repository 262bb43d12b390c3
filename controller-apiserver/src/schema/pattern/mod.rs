//! Regular expressions of schemas.
//!
//! The server compiles them with Go's `regexp` (RE2 syntax, <https://pkg.go.dev/regexp/syntax>). They are read here as Go reads them, refused with
//! Go's texts, and written anew for the `regex` crate, whose Perl classes know all of Unicode and whose brackets have set operations.
//!
//! Not checked: names in `\p{…}` that only the `regex` crate knows.

mod class;
mod read;
#[cfg(test)]
mod tests;

use std::fmt;

use regex::{Regex, RegexBuilder};

/// The largest compiled program: a pattern is bounded by memory, not by trust.
const SIZE: usize = 1 << 20;

/// Why a pattern is none, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    what: String,
    /// The part that is wrong.
    part: String,
}

impl Refusal {
    fn new(what: &str, part: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            part: part.into(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}: `{}`", self.what, self.part)
    }
}

/// Compiles a pattern; an empty one matches everything.
pub(crate) fn compile(pattern: &str) -> Result<Regex, Refusal> {
    let built = RegexBuilder::new(&read::rewrite(pattern)?)
        .size_limit(SIZE)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => Refusal::new("expression too large", pattern),
        error => {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            Refusal::new(reason.trim_start_matches("error: "), pattern)
        }
    })
}
