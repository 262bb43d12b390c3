//! Colour, where a person looks at a terminal and has not said no.

use std::io::IsTerminal;

/// Paints words, or leaves them as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Palette {
    Plain,
    Ansi,
}

impl Palette {
    pub(crate) fn for_stdout() -> Self {
        Self::choose(std::io::stdout().is_terminal())
    }

    pub(crate) fn for_stderr() -> Self {
        Self::choose(std::io::stderr().is_terminal())
    }

    /// <https://no-color.org>: any value but the empty one says no.
    fn choose(terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if terminal && !refused && !dumb {
            Self::Ansi
        } else {
            Self::Plain
        }
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}
