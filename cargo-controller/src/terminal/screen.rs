//! Taking a terminal, and giving it back.
//!
//! Taken, it shows no cursor and does not echo what is typed, which would end up in the middle of the block; Ctrl-C stays a signal.
//! It is given back when the [`Screen`] is dropped, and when the program panics.

use std::io::{IsTerminal, Write};

/// What fits on the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// A terminal that is taken. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Screen(());

impl Screen {
    /// Takes the terminal; `None` where standard output is none that understands us, or another program has it.
    pub(crate) fn take() -> Option<Self> {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if dumb || !std::io::stdout().is_terminal() || !system::is_ours() || system::size().is_none() {
            return None;
        }
        system::silence();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        show("\x1b[?25l");
        Some(Self(()))
    }

    /// Its size now; people change it.
    pub(crate) fn size(&self) -> Size {
        let _ = self;
        system::size().unwrap_or(Size {
            columns: 80,
            rows: 24,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// May be called twice.
fn give_back() {
    show("\x1b[?25h");
    system::restore();
}

fn show(text: &str) {
    // Whoever read us has gone; there is nobody to tell.
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}

#[cfg(unix)]
mod system {
    use std::{
        io::{stdin, stdout},
        sync::{Mutex, PoisonError},
    };

    use rustix::{
        process::getpgrp,
        termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr},
    };

    use super::Size;

    /// How the terminal was, while it is taken. A panic cannot reach what the session owns, so it is here.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    pub(super) fn size() -> Option<Size> {
        let size = tcgetwinsize(stdout()).ok()?;
        let size = Size {
            columns: size.ws_col.into(),
            rows: size.ws_row.into(),
        };
        (size.columns > 0 && size.rows > 0).then_some(size)
    }

    /// A program in the background that changes a terminal is stopped.
    pub(super) fn is_ours() -> bool {
        tcgetpgrp(stdout()).is_ok_and(|group| group == getpgrp())
    }

    pub(super) fn silence() {
        let Ok(before) = tcgetattr(stdin()) else { return };
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        if tcsetattr(stdin(), OptionalActions::Now, &silent).is_ok() {
            *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        }
    }

    pub(super) fn restore() {
        let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(before) = before {
            let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        }
    }
}

/// Elsewhere there are plain lines.
#[cfg(not(unix))]
mod system {
    pub(super) fn size() -> Option<super::Size> {
        None
    }

    pub(super) fn is_ours() -> bool {
        false
    }

    pub(super) fn silence() {}

    pub(super) fn restore() {}
}
