//! The board's answer to "why did it run?": what the controller knows of the object, and what keeps all of them from running.

use std::fmt;

use super::{
    Board, SourceState,
    board::State,
    controller::ControllerState,
    status::{ObjectId, Phase},
};
use crate::{
    clock,
    explain::{Explainer, Held, KeyState, Known, Told, Why},
    name::Name,
    pause::PAUSED,
};

/// Nothing is known of such an object, and why; a text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotKnown(String);

impl fmt::Display for NotKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotKnown {}

impl Board {
    /// Why an object, named as `namespace/name` or `name`, ran last, and what it waits for.
    ///
    /// # Errors
    /// When there is no such controller or object; the text says what there is.
    pub fn why(&self, controller: &str, object: &str) -> Result<Why, NotKnown> {
        let (namespace, name) = match object.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, object),
        };
        let explainer = self.explainer(controller)?;
        // The board is not locked while the controller is asked.
        match explainer.tell(namespace, name) {
            Told::Known(known) => Ok(self.with_surroundings(controller, *known)),
            Told::Deleted { ago_ms } => Err(NotKnown(format!(
                "{object} was deleted {} s ago; nothing runs for it any more",
                ago_ms / 1000
            ))),
            Told::Unknown { similar } => Err(NotKnown(unknown(controller, object, &similar))),
        }
    }

    fn explainer(&self, controller: &str) -> Result<Explainer, NotKnown> {
        self.read(|state| {
            let Some(known) = state.controllers.get(controller) else {
                return Err(NotKnown(no_controller(controller, state)));
            };
            let not_begun = || {
                NotKnown(format!(
                    "{controller} has not begun: its context is still being made"
                ))
            };
            known.explainer.clone().ok_or_else(not_begun)
        })
    }

    fn with_surroundings(&self, name: &str, known: Known) -> Why {
        let now = clock::now();
        let (held, last_run) = self.read(|state| {
            let mut held = Vec::new();
            if state.phase == Phase::Stopping {
                held.push(because(
                    "stopping",
                    "the operator is stopping: nothing new is started",
                ));
            }
            let Some(controller) = state.controllers.get(name) else {
                return (held, None);
            };
            held.extend(controller.held());
            let standby = state
                .leadership
                .iter()
                .filter(|leadership| *leadership != "leading");
            held.extend(
                standby.map(|standby| because("not_leading", format!("another process leads ({standby})"))),
            );
            let object = Name::new(known.object.namespace.as_deref(), &known.object.name);
            held.extend(of_key(&known, &object, controller));
            let run = controller.objects.last_run(&object);
            (held, run.map(|run| run.status(&object, &controller.kind, now)))
        });
        Why::new(name, known, held, last_run)
    }
}

impl ControllerState {
    /// What keeps all objects of the controller from running.
    fn held(&self) -> Option<Held> {
        if let Some(reason) = &self.ended {
            return Some(because("ended", format!("the controller has ended: {reason}")));
        }
        if self.synced {
            return None;
        }
        let missing = self
            .sources
            .iter()
            .filter(|(_, entry)| entry.state != SourceState::Watching);
        let missing: Vec<_> = missing.map(|(source, _)| source.kind.as_str()).collect();
        Some(because(
            "not_synced",
            format!("not all objects are known yet: {}", missing.join(", ")),
        ))
    }
}

/// What keeps one object from running.
fn of_key(known: &Known, object: &Name, controller: &ControllerState) -> Vec<Held> {
    let mut held = Vec::new();
    // A key that is told to be due has been woken since, and will be looked at again.
    if controller.objects.is_paused(object) && known.queue == KeyState::Idle {
        let text = format!("the annotation {PAUSED} keeps it from running until it is taken away");
        held.push(because("paused", text));
    }
    if known.held > 0 {
        let text = format!(
            "{} changes wait for the end of its run: they may be its own writes",
            known.held
        );
        held.push(because("own_writes", text));
    }
    if let Some(slowed) = &known.slowed {
        let text = format!(
            "it runs in circles, and waits {} s after each",
            slowed.delay_ms / 1000
        );
        held.push(because("slowed", text));
    }
    if known.gate_open && matches!(known.queue, KeyState::Ready { .. }) {
        let running = controller.running.len();
        held.push(because(
            "no_free_place",
            format!("{running} objects run; it waits for one of them to end"),
        ));
    }
    held
}

fn because(reason: &'static str, text: impl Into<String>) -> Held {
    Held {
        reason,
        text: text.into(),
    }
}

fn no_controller(name: &str, state: &State) -> String {
    let names: Vec<_> = state.controllers.keys().map(String::as_str).collect();
    let like = |known: &&&str| strsim::jaro(known, name) >= 0.7;
    let meant = names
        .iter()
        .filter(like)
        .max_by(|one, other| strsim::jaro(one, name).total_cmp(&strsim::jaro(other, name)));
    let meant = meant
        .map(|meant| format!("; did you mean {meant:?}?"))
        .unwrap_or_default();
    format!(
        "there is no controller {name:?}{meant} There are: {}",
        names.join(", ")
    )
}

fn unknown(controller: &str, object: &str, similar: &[String]) -> String {
    let meant = if similar.is_empty() {
        "; name it as namespace/name, or as name if its kind has no namespaces".to_owned()
    } else {
        format!("; did you mean {}?", similar.join(" or "))
    };
    format!("{controller} has never seen {object:?}, or it was deleted long ago{meant}")
}

/// The name of an object, as [`Board::why`] takes it.
impl ObjectId {
    /// `namespace/name`, or `name`.
    pub fn key(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name),
            None => self.name.clone(),
        }
    }
}
