//! The operator as a child process: it never outlives us, and what it writes is passed on.
//!
//! It is in a process group of its own, so that Ctrl-C in the terminal reaches it through us alone, and its standard
//! input is a pipe that we hold: an operator started with `--stop-with-stdin` ends when we vanish, however we do.

use std::{
    collections::VecDeque,
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{ChildStdin, Command},
};

use crate::error::Error;

/// How many of its last lines a failure quotes.
const TAIL: usize = 12;

/// A running operator. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Child {
    process: tokio::process::Child,
    _stdin: Option<ChildStdin>,
    tail: Tail,
}

type Tail = Arc<Mutex<VecDeque<String>>>;

impl Child {
    /// Starts `binary`; each line it writes goes to `line`.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub(crate) fn start(
        binary: &Path,
        args: &[&std::ffi::OsStr],
        kubeconfig: &Path,
        line: impl Fn(&str) + Clone + Send + 'static,
    ) -> Result<Self, Error> {
        let mut command = Command::new(binary);
        command
            .args(args)
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if std::env::var_os("RUST_LOG").is_none() {
            // What controllers do is told by the status endpoint, and need not be said twice.
            command.env("RUST_LOG", "warn,controller_runtime=error");
        }
        #[cfg(unix)]
        command.process_group(0);
        let mut process = command.spawn().map_err(|source| Error::Spawn {
            program: binary.display().to_string(),
            source,
        })?;
        let tail = Tail::default();
        pass_on(process.stdout.take(), tail.clone(), line.clone());
        pass_on(process.stderr.take(), tail.clone(), line);
        Ok(Self {
            _stdin: process.stdin.take(),
            process,
            tail,
        })
    }

    /// Resolves when the process has ended. Cancel safe.
    pub(crate) async fn ended(&mut self) -> String {
        describe(self.process.wait().await)
    }

    /// The last lines it wrote.
    pub(crate) fn last_words(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Asks it to end, and kills it after `limit`.
    pub(crate) async fn stop(mut self, limit: Duration) {
        self.terminate();
        if tokio::time::timeout(limit, self.process.wait()).await.is_err() {
            self.kill().await;
        }
    }

    /// Ends it at once.
    pub(crate) async fn kill(&mut self) {
        // It fails only for a process that has ended.
        let _ = self.process.kill().await;
    }

    #[cfg(unix)]
    fn terminate(&self) {
        use rustix::process::{Pid, Signal, kill_process};
        // `id` is `None` once the process was waited for, so that the number cannot be another process.
        let id = self.process.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = id.and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    #[cfg(not(unix))]
    fn terminate(&mut self) {
        let _ = self.process.start_kill();
    }
}

fn describe(status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    }
}

fn pass_on(
    from: Option<impl AsyncRead + Unpin + Send + 'static>,
    tail: Tail,
    line: impl Fn(&str) + Send + 'static,
) {
    let Some(from) = from else { return };
    tokio::spawn(async move {
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(text)) = lines.next_line().await {
            line(&text);
            let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
            if tail.len() == TAIL {
                tail.pop_front();
            }
            tail.push_back(text);
        }
    });
}
