//! What a test logs, as text.

use std::{
    io,
    sync::{Arc, Mutex},
};

use tracing::{Dispatch, subscriber::DefaultGuard};

/// Takes what this thread logs, until it is dropped.
pub(crate) struct Logs {
    text: Text,
    _default: DefaultGuard,
    /// With one subscriber alone, what another test's thread logs first would be switched off for all threads.
    _second: Dispatch,
}

#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Logs {
    pub(crate) fn capture() -> Self {
        let text = Text::default();
        let writer = text.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        Self {
            text,
            _second: Dispatch::new(tracing_subscriber::registry()),
            _default: tracing::subscriber::set_default(subscriber),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.text.0.lock().unwrap().clone()).unwrap()
    }
}
