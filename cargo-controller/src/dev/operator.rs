//! The operator that runs now: its process, its endpoint and its happenings.

use std::{ffi::OsStr, path::Path, time::Duration};

use tokio::sync::mpsc;

use super::{
    endpoint::Endpoint,
    narrate::{Line, Mood},
    told::Told,
    wire::Happening,
};
use crate::{error::Error, project::Child};

/// How long an operator may take to say where its status is.
const START: Duration = Duration::from_secs(30);
/// How long it may take to stop in good order.
const STOP: Duration = Duration::from_secs(10);

/// A running operator. Dropping it kills the process.
pub(crate) struct Operator {
    pub(crate) child: Child,
    pub(crate) endpoint: Endpoint,
    pub(crate) happenings: mpsc::Receiver<Happening>,
}

impl Operator {
    /// Starts it and waits until its endpoint answers.
    ///
    /// # Errors
    /// When it ends before, with its last words, or never says where its endpoint is.
    ///
    /// # Cancel safety
    /// Dropping the future kills the process.
    pub(crate) async fn start(
        binary: &Path,
        kubeconfig: &Path,
        scratch: &Path,
        told: Told,
    ) -> Result<Self, Error> {
        let address = scratch.join("address");
        // The file of the run before would name a port that is closed.
        let _ = std::fs::remove_file(&address);
        let args = [
            "run",
            "--address",
            "127.0.0.1:0",
            "--stop-with-stdin",
            "--address-file",
        ]
        .map(OsStr::new);
        let args = [&args[..], &[address.as_os_str()]].concat();
        let quotes = told.clone();
        let mut child = Child::start(binary, &args, kubeconfig, move |line| quotes.quote(line))?;
        let endpoint = tokio::select! {
            endpoint = Endpoint::find(&address) => endpoint?,
            status = child.ended() => {
                return Err(Error::OperatorEnded { status, stderr: child.last_words() });
            }
            () = tokio::time::sleep(START) => return Err(Error::NoStatus { seconds: START.as_secs() }),
        };
        let page = endpoint.page();
        told.say(&Line::new(
            Mood::Plain,
            "explain",
            format!("why did it run? {page}"),
        ));
        Ok(Self {
            happenings: endpoint.happenings(),
            child,
            endpoint,
        })
    }

    /// Stops it in good order, and kills it when it does not.
    pub(crate) async fn stop(self) {
        self.child.stop(STOP).await;
    }
}
