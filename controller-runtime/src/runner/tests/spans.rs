//! Every reconcile has a span that says what, why and which.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use super::world::{World, drain};
use crate::{Action, backoff};

#[derive(Debug, thiserror::Error)]
#[error("no")]
struct No;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_reconcile_logs_says_what_why_and_which() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // With one subscriber alone, what another test's thread logs first would be switched off for all threads.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _default = tracing::subscriber::set_default(subscriber);
    let mut world = World::of(["a"]);
    let reading = drain(world.controller().run(
        |_, _| async {
            tokio::task::yield_now().await;
            tracing::info!("inside");
            Ok::<_, No>(Action::requeue(Duration::from_secs(5)))
        },
        backoff(),
        Arc::new(()),
    ));
    world.trigger("a");
    tokio::time::sleep(Duration::from_secs(7)).await;
    reading.abort();
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let inside: Vec<_> = text.lines().filter(|line| line.contains("inside")).collect();
    assert_eq!(inside.len(), 2, "{text}");
    for (line, expected) in inside.iter().zip([
        [
            "object.ref=ConfigMap.v1./a.default",
            "object.reason=external trigger",
            "reconcile.id=1",
        ],
        [
            "object.ref=ConfigMap.v1./a.default",
            "object.reason=reconciler requested requeue",
            "reconcile.id=2",
        ],
    ]) {
        assert!(expected.iter().all(|part| line.contains(part)), "{line}");
    }
}
