//! One session: what to do at each edit, happening, tick and signal.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use futures::future::{BoxFuture, FutureExt};
use kube::Client;
use tokio::time::{Instant, MissedTickBehavior};

use super::{
    events::events,
    install::install,
    manifests::Manifests,
    narrate::{self, Line, Mood},
    operator::Operator,
    settle::{self, Verdict},
    told::Told,
    wire::{Happening, Status},
};
use crate::{
    cli::DevArgs,
    error::Error,
    manifest::Stamp,
    project::{self, Listener, Project},
    signals::Signals,
};

/// How often files and the operator's state are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How many ticks pass between two looks at the files.
const LOOK: u32 = 5;
/// How long nothing may happen before a moment counts as quiet.
const QUIET: Duration = Duration::from_millis(300);
/// How long the next file waits for quiet, at most.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long it must stay settled.
const SETTLED: Duration = Duration::from_secs(1);

/// What does not change while a session lasts.
pub(crate) struct Session<'a> {
    pub(crate) args: &'a DevArgs,
    pub(crate) project: Project,
    pub(crate) told: Told,
    pub(crate) client: Client,
    pub(crate) scratch: &'a Path,
    pub(crate) kubeconfig: &'a Path,
}

/// What does.
struct State<'a> {
    manifests: Manifests,
    operator: Option<Operator>,
    sources: Vec<Stamp>,
    build: Option<BoxFuture<'a, Result<PathBuf, Error>>>,
    started: Instant,
    /// When something was last told or done.
    stirred: Instant,
    /// When a file was last applied.
    applied: Instant,
}

impl Session<'_> {
    /// Runs until a signal, or until settled.
    ///
    /// # Errors
    /// As [`super::run`].
    pub(crate) async fn run(&self, mut manifests: Manifests, signals: &mut Signals) -> Result<(), Error> {
        let lines = manifests.look().await?;
        self.say_all(lines);
        self.say(Mood::Plain, "objects", manifests.describe());
        let started = tokio::select! {
            started = self.start() => started,
            () = signals.next() => return Ok(()),
        };
        let (binary, operator) = started?;
        let now = Instant::now();
        let mut state = State {
            manifests,
            operator: Some(operator),
            sources: project::sources(&self.project, &binary),
            build: None,
            started: now,
            stirred: now,
            applied: now,
        };
        let result = tokio::select! {
            result = self.attend(&mut state) => result,
            () = signals.next() => Ok(()),
        };
        self.end(state.operator, signals).await;
        result
    }

    async fn start(&self) -> Result<(PathBuf, Operator), Error> {
        let binary = self.build().await?;
        let operator = self.launch(&binary).await?;
        Ok((binary, operator))
    }

    async fn build(&self) -> Result<PathBuf, Error> {
        self.say(
            Mood::Plain,
            "build",
            format!("cargo build in {}", self.project.folder.display()),
        );
        let began = Instant::now();
        let hear = |said| self.told.cargo(said);
        let listener = self.told.is_live().then(|| Listener {
            hear: &hear,
            colour: self.told.is_coloured(),
        });
        let built = project::build(&self.project, self.args.bin.as_deref(), listener).await;
        self.told.building(None);
        let binary = built?;
        let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.say(Mood::Good, "built", format!("in {}", narrate::duration(took)));
        Ok(binary)
    }

    async fn launch(&self, binary: &Path) -> Result<Operator, Error> {
        let crds = install(binary, &self.client).await?;
        if !crds.is_empty() {
            self.say(Mood::Plain, "crds", crds.join(", "));
        }
        Operator::start(binary, self.kubeconfig, self.scratch, self.told.clone()).await
    }

    /// Ends the operator; a second signal ends it at once.
    async fn end(&self, operator: Option<Operator>, signals: &mut Signals) {
        let Some(operator) = operator else { return };
        self.say(Mood::Plain, "stop", "the operator finishes what it does");
        tokio::select! {
            () = operator.stop() => {}
            // Dropping the future kills it.
            () = signals.next() => {}
        }
    }

    async fn attend<'s>(&'s self, state: &mut State<'s>) -> Result<(), Error> {
        let mut events = events(self.client.clone());
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut count = 0_u32;
        let mut settled_since = None;
        loop {
            tokio::select! {
                happening = next_happening(&mut state.operator) => self.happened(state, happening).await?,
                Some(line) = events.recv() => self.say_all([line]),
                built = next_build(&mut state.build) => self.built(state, built).await?,
                _ = ticks.tick() => {
                    count = count.wrapping_add(1);
                    let looks = count.is_multiple_of(LOOK);
                    if looks {
                        self.look(state).await?;
                    }
                    let asks = self.args.until_settled || state.manifests.is_waiting() || (looks && self.told.is_live());
                    let status = match &state.operator {
                        Some(operator) if asks => operator.endpoint.status().await,
                        _ => None,
                    };
                    if let Some(status) = &status {
                        self.told.status(status);
                    }
                    self.apply_when_quiet(state, status.as_ref()).await;
                    if self.args.until_settled
                        && let Some(status) = status
                        && self.is_settled(state, &status, &mut settled_since)?
                    {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Tells it; `None` means that the operator has ended.
    async fn happened(&self, state: &mut State<'_>, happening: Option<Happening>) -> Result<(), Error> {
        state.stirred = Instant::now();
        if let Some(happening) = happening {
            self.say_all(narrate::happening(&happening));
            return Ok(());
        }
        let Some(mut operator) = state.operator.take() else {
            return Ok(());
        };
        // The stream has ended; the process may need a moment more.
        let waited = tokio::time::timeout(Duration::from_secs(2), operator.child.ended()).await;
        let status = if let Ok(status) = waited {
            status
        } else {
            operator.child.kill().await;
            "it no longer answered".to_owned()
        };
        let ended = Error::OperatorEnded {
            status,
            stderr: operator.child.last_words(),
        };
        if self.args.until_settled {
            return Err(ended);
        }
        self.say(
            Mood::Bad,
            "ended",
            format!("{ended}\nwaiting for a change of its sources"),
        );
        Ok(())
    }

    async fn look<'s>(&'s self, state: &mut State<'s>) -> Result<(), Error> {
        let lines = state.manifests.look().await?;
        if !lines.is_empty() {
            state.stirred = Instant::now();
        }
        self.say_all(lines);
        let now: Vec<_> = state
            .sources
            .iter()
            .map(|stamp| Stamp::of(stamp.path.clone()))
            .collect();
        if now != state.sources {
            let changed = now.iter().zip(&state.sources).find(|(now, before)| now != before);
            if let Some((stamp, _)) = changed {
                self.say(Mood::Plain, "edit", stamp.path.display().to_string());
            }
            state.sources = now;
            // A build that is under way has seen an older text.
            state.build = Some(self.build().boxed());
        }
        Ok(())
    }

    async fn built(&self, state: &mut State<'_>, built: Result<PathBuf, Error>) -> Result<(), Error> {
        state.build = None;
        state.stirred = Instant::now();
        let binary = match built {
            Ok(binary) => binary,
            Err(error) => {
                let rest = match state.operator {
                    Some(_) => "the one that was built before still runs",
                    None => "waiting for a change of its sources",
                };
                self.say(Mood::Bad, "build", format!("{error}; {rest}"));
                return Ok(());
            }
        };
        state.sources = project::sources(&self.project, &binary);
        if let Some(operator) = state.operator.take() {
            operator.stop().await;
        }
        match self.launch(&binary).await {
            Ok(operator) => state.operator = Some(operator),
            Err(error) if self.args.until_settled => return Err(error),
            Err(error) => self.say(
                Mood::Bad,
                "start",
                format!("{error}\nwaiting for a change of its sources"),
            ),
        }
        Ok(())
    }

    /// A file at a time, so that what is told reads in order.
    async fn apply_when_quiet(&self, state: &mut State<'_>, status: Option<&Status>) {
        if !state.manifests.is_waiting() {
            return;
        }
        let quiet = status.is_some_and(is_quiet) && state.stirred.elapsed() >= QUIET;
        if quiet || state.applied.elapsed() >= PATIENCE {
            self.say_all(state.manifests.apply_next().await);
            state.applied = Instant::now();
            state.stirred = state.applied;
        }
    }

    fn is_settled(
        &self,
        state: &State<'_>,
        status: &Status,
        since: &mut Option<Instant>,
    ) -> Result<bool, Error> {
        let verdict = settle::judge(status, &state.manifests.expected());
        let late = state.started.elapsed() >= self.args.timeout;
        let busy = state.manifests.is_waiting() || state.build.is_some();
        match verdict {
            Verdict::Settled { reconciled, failed } if !busy => {
                let since = *since.get_or_insert_with(Instant::now);
                if since.elapsed() < SETTLED || state.stirred.elapsed() < SETTLED {
                    return Ok(false);
                }
                let problems: Vec<_> = state.manifests.problems().map(|p| format!("- {p}")).collect();
                if !problems.is_empty() {
                    return Err(Error::NotSettled(problems));
                }
                self.say(Mood::Good, "settled", settled_text(reconciled, &failed));
                Ok(true)
            }
            verdict => {
                *since = None;
                if !late {
                    return Ok(false);
                }
                let mut reasons: Vec<_> = state.manifests.problems().map(|p| format!("- {p}")).collect();
                if let Verdict::Open(open) = verdict {
                    reasons.extend(open.iter().map(|reason| format!("- {reason}")));
                }
                Err(Error::NotSettled(reasons))
            }
        }
    }

    fn say(&self, mood: Mood, word: &'static str, text: impl Into<String>) {
        self.told.say(&Line::new(mood, word, text));
    }

    fn say_all(&self, lines: impl IntoIterator<Item = Line>) {
        for line in lines {
            self.told.say(&line);
        }
    }
}

/// In sync, and nothing is about to run.
fn is_quiet(status: &Status) -> bool {
    status.ready
        && status
            .controllers
            .iter()
            .all(|c| c.queue.ready + c.queue.running == 0)
}

fn settled_text(reconciled: usize, failed: &[String]) -> String {
    let mut text = format!("{reconciled} objects reconciled");
    if !failed.is_empty() {
        // A String takes everything.
        let _ = write!(text, ", {} failed for good:", failed.len());
        for failure in failed {
            text.push_str("\n- ");
            text.push_str(failure);
        }
    }
    text
}

async fn next_happening(operator: &mut Option<Operator>) -> Option<Happening> {
    match operator {
        Some(operator) => operator.happenings.recv().await,
        None => std::future::pending().await,
    }
}

async fn next_build(build: &mut Option<BoxFuture<'_, Result<PathBuf, Error>>>) -> Result<PathBuf, Error> {
    match build {
        Some(build) => build.await,
        None => std::future::pending().await,
    }
}
