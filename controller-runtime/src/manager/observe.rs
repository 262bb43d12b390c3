//! From what a controller tells to what the board keeps.

use super::{
    Board,
    board::millis,
    controller::{ControllerState, RunningEntry, SourceEntry},
    objects::LastRun,
    status::{Happening, ObjectId, RunResult, SourceId, SourceState, UndecodableObject},
};
use crate::{
    clock,
    error_text::chain,
    explain::Explainer,
    name::Name,
    queue::Causes,
    runner::{Event, Finished, Gauge, Observer, Outcome, SourceChange, Started, Subject},
};

impl Observer for Board {
    fn observe(&self, controller: &str, event: &Event<'_>) {
        match event {
            Event::Synced => self.synced(controller),
            Event::Started(started) => self.started(controller, started),
            Event::Finished(finished) => {
                if matches!(finished.outcome, Outcome::Interrupted) {
                    self.drop_run(&identity(&finished.object));
                }
                self.finished(controller, finished);
            }
            Event::Gone(subject) => self.gone(controller, subject),
            Event::Paused(subject) => self.paused(controller, subject),
            Event::Source(change) => self.source(controller, change),
            Event::MapperPanicked { kind, message } => self.tell(Happening::MapperPanicked {
                controller: controller.to_owned(),
                kind: (*kind).to_owned(),
                message: (*message).to_owned(),
            }),
            Event::Circle(circle) => self.tell(Happening::Circle {
                controller: controller.to_owned(),
                object: identity(&circle.object),
                cycles: circle.cycles,
                delay_ms: millis(circle.delay),
                fields: circle.fields.to_vec(),
            }),
            Event::Settled { .. } => {
                self.with(controller, |state| state.objects.forget_unmet());
            }
            Event::Stopping | Event::Stopped => {}
        }
    }

    fn queue(&self, controller: &str, gauge: &Gauge) {
        self.with(controller, |state| state.gauge = Some(gauge.clone()));
    }

    fn explainer(&self, controller: &str, explainer: &Explainer) {
        self.with(controller, |state| state.explainer = Some(explainer.clone()));
    }
}

impl Board {
    fn synced(&self, controller: &str) {
        let first = self.with(controller, |state| {
            for entry in state.sources.values_mut() {
                if entry.state == SourceState::Listing {
                    entry.state = SourceState::Watching;
                    entry.since = clock::now();
                    entry.unserved = None;
                }
            }
            !std::mem::replace(&mut state.synced, true)
        });
        if first == Some(true) {
            self.tell(Happening::Synced {
                controller: controller.to_owned(),
                after_ms: millis(self.uptime()),
            });
        }
    }

    /// The state of one source. Saying the same again changes nothing.
    fn source(&self, controller: &str, change: &SourceChange<'_>) {
        let source = SourceId {
            kind: change.kind.to_owned(),
            namespace: change.namespace.map(str::to_owned),
        };
        let new = match change.problem {
            Some(message) => SourceState::Failing {
                message: message.to_owned(),
            },
            None if change.synced => SourceState::Watching,
            None => SourceState::Listing,
        };
        let undecodable = undecodable(change);
        let before = self.with(controller, |state| {
            state.replace_source(&source, new.clone(), undecodable.clone())
        });
        let Some((before, undecodable_before)) = before else {
            return;
        };
        self.decoding(controller, &undecodable_before, &undecodable);
        let controller = controller.to_owned();
        if before == new {
            return;
        }
        match (before, new) {
            (_, SourceState::Failing { message }) => self.tell(Happening::SourceFailing {
                controller,
                source,
                message,
            }),
            (SourceState::Failing { .. }, _) => {
                self.tell(Happening::SourceRecovered { controller, source });
            }
            (SourceState::Listing | SourceState::Watching, _) => {}
        }
    }

    /// Each object that cannot be decoded is told once, until the reason changes; and so is its end.
    fn decoding(&self, controller: &str, before: &[UndecodableObject], now: &[UndecodableObject]) {
        for undecodable in now.iter().filter(|one| !before.contains(one)) {
            self.tell(Happening::Undecodable {
                controller: controller.to_owned(),
                undecodable: undecodable.clone(),
            });
        }
        let is_there = |object: &ObjectId| now.iter().any(|one| one.object == *object);
        for mended in before.iter().filter(|one| !is_there(&one.object)) {
            self.tell(Happening::Mended {
                controller: controller.to_owned(),
                object: mended.object.clone(),
            });
        }
    }

    fn started(&self, controller: &str, started: &Started<'_>) {
        let run = RunningEntry {
            object: name_of(&started.object),
            causes: started.causes.iter().cloned().collect(),
            gone: false,
        };
        self.with(controller, |state| {
            state.objects.started(&run.object);
            state.running.insert(started.id, run)
        });
    }

    fn paused(&self, controller: &str, object: &Subject<'_>) {
        let new = self.with(controller, |state| state.objects.paused(name_of(object)));
        if new == Some(true) {
            self.tell(Happening::Paused {
                controller: controller.to_owned(),
                object: identity(object),
            });
        }
    }

    fn gone(&self, controller: &str, object: &Subject<'_>) {
        let name = name_of(object);
        let known = self.with(controller, |state| {
            for run in state.running.values_mut() {
                run.gone |= run.object == name;
            }
            state.objects.gone(&name)
        });
        if known == Some(true) {
            self.tell(Happening::Gone {
                controller: controller.to_owned(),
                object: identity(object),
            });
        }
    }

    fn finished(&self, controller: &str, finished: &Finished<'_>) {
        let Some((result, error)) = judge(&finished.outcome) else {
            self.with(controller, |state| state.running.remove(&finished.id));
            self.gone(controller, &finished.object);
            return;
        };
        let now = clock::now();
        let report = self.with(controller, |state| {
            let running = state.running.remove(&finished.id);
            let (name, causes, gone) = match running {
                Some(running) => (running.object, running.causes, running.gone),
                None => (name_of(&finished.object), Causes::default(), false),
            };
            let run = LastRun {
                result,
                error: error.map(String::into_boxed_str),
                failures: finished.failures,
                took: finished.took,
                causes,
                at: now,
                next: finished.next_run.and_then(|next| now.checked_add(next)),
            };
            let report = run.report(now);
            if !gone {
                state.objects.ended(name, run);
            }
            report
        });
        if let Some(report) = report {
            self.tell(Happening::Reconciled {
                controller: controller.to_owned(),
                object: identity(&finished.object),
                report,
            });
        }
    }
}

impl ControllerState {
    /// Gives what was known before.
    fn replace_source(
        &mut self,
        source: &SourceId,
        state: SourceState,
        undecodable: Vec<UndecodableObject>,
    ) -> (SourceState, Vec<UndecodableObject>) {
        let now = clock::now();
        let entry = self
            .sources
            .entry(source.clone())
            .or_insert_with(|| SourceEntry::listing(now));
        if entry.state != state {
            entry.since = now;
        }
        if state == SourceState::Watching {
            entry.unserved = None;
        }
        (
            std::mem::replace(&mut entry.state, state),
            std::mem::replace(&mut entry.undecodable, undecodable),
        )
    }
}

fn undecodable(change: &SourceChange<'_>) -> Vec<UndecodableObject> {
    let objects = change.undecodable.iter();
    objects
        .map(|((namespace, name), what)| UndecodableObject {
            object: ObjectId {
                kind: change.kind.to_owned(),
                namespace: namespace.clone(),
                name: name.clone(),
            },
            uid: what.uid.clone(),
            message: what.message.clone(),
        })
        .collect()
}

fn name_of(subject: &Subject<'_>) -> Name {
    Name::new(subject.namespace, subject.name)
}

fn identity(subject: &Subject<'_>) -> ObjectId {
    ObjectId {
        kind: subject.kind.to_owned(),
        namespace: subject.namespace.map(str::to_owned),
        name: subject.name.to_owned(),
    }
}

/// The result and the error's text; `None` when the object is not there.
fn judge(outcome: &Outcome<'_>) -> Option<(RunResult, Option<String>)> {
    Some(match outcome {
        Outcome::Missing => return None,
        Outcome::Done | Outcome::Requeued(_) => (RunResult::Ok, None),
        Outcome::Failed(error) => (RunResult::Error, Some(chain(*error))),
        Outcome::Permanent(error) => (RunResult::Permanent, Some(chain(*error))),
        Outcome::Panicked(message) => (RunResult::Panic, Some(format!("panicked: {message}"))),
        Outcome::TimedOut(limit) => (RunResult::Timeout, Some(format!("not finished within {limit:?}"))),
        Outcome::Interrupted => (
            RunResult::Interrupted,
            Some("dropped at the end of the shutdown".to_owned()),
        ),
    })
}
