//! SIGTERM and Ctrl-C, as wishes to stop.

use std::io;

use super::Stop;

/// Asks `stop` at each signal, from now on.
///
/// # Errors
/// When the system does not let us wait for signals.
pub(super) fn listen(stop: &Stop) -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
            let mut signals = signal(kind)?;
            let stop = stop.clone();
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    stop.now();
                }
            });
        }
    }
    #[cfg(not(unix))]
    let stop = stop.clone();
    #[cfg(not(unix))]
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            stop.now();
        }
    });
    Ok(())
}

/// Asks `stop` when standard input ends: whoever started us holds its other end, and has vanished.
///
/// A thread of its own, because a blocked read would hold up the end of the runtime.
pub(super) fn end_with_stdin(stop: Stop) {
    std::thread::spawn(move || {
        use std::io::Read;
        let mut buffer = [0; 256];
        let mut stdin = io::stdin().lock();
        loop {
            match stdin.read(&mut buffer) {
                Ok(0) => break,
                Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
                _ => {}
            }
        }
        stop.now();
    });
}
