//! Colour, where a person looks at a terminal and has not said no.

use std::{ffi::OsString, io::IsTerminal};

/// Paints words, or leaves them as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Palette {
    Plain,
    Ansi,
}

impl Palette {
    pub(crate) fn for_stdout() -> Self {
        Self::of(std::io::stdout().is_terminal())
    }

    pub(crate) fn for_stderr() -> Self {
        Self::of(std::io::stderr().is_terminal())
    }

    fn of(terminal: bool) -> Self {
        Self::choose(terminal, std::env::var_os("NO_COLOR"), std::env::var_os("TERM"))
    }

    /// <https://no-color.org>: any value but the empty one says no.
    fn choose(terminal: bool, no_color: Option<OsString>, term: Option<OsString>) -> Self {
        let refused = no_color.is_some_and(|value| !value.is_empty());
        let dumb = term.is_some_and(|value| value == "dumb");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terminal_of_someone_who_did_not_say_no_is_coloured() {
        let choose = |terminal, no_color: Option<&str>, term: Option<&str>| {
            Palette::choose(terminal, no_color.map(OsString::from), term.map(OsString::from))
        };
        assert_eq!(choose(true, None, Some("xterm")), Palette::Ansi);
        assert_eq!(choose(true, Some(""), None), Palette::Ansi);
        assert_eq!(choose(false, None, Some("xterm")), Palette::Plain);
        assert_eq!(choose(true, Some("1"), Some("xterm")), Palette::Plain);
        assert_eq!(choose(true, None, Some("dumb")), Palette::Plain);
    }
}
