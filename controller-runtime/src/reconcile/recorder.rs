//! The `Recorder` extractor: Events of the reconciled object.
//!
//! The rules of what repeats what, and for how long, are those of client-go (KEP-383): the same type and reason for the same
//! object within six minutes is one Event, counted up. The record of that is bounded, and pure.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::{BoxFuture, FutureExt};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;

use super::{FromReconcile, Reconciler, Run};
use crate::{clock::Origin, declare::Declaration, memory::Census, patience::patiently};

/// How long an Event is counted up instead of being made again.
const SAME_FOR: SignedDuration = SignedDuration::from_mins(6);
/// So many Events are remembered; the one that was silent for longest goes first.
const REMEMBERED: usize = 1000;
/// What the API takes of a note, in bytes.
const NOTE_LIMIT: usize = 1024;
/// What the API takes of a name, less a dot and the digits of a time.
const NAME_LIMIT: usize = 253 - 17;

/// Publishes Events of the reconciled object: what a person reads under `kubectl describe`.
///
/// The same reason again, within six minutes, counts up one Event instead of making another. An Event that cannot be published
/// within ten seconds is logged and nothing more: Events explain, they do not decide.
#[derive(Clone)]
pub struct Recorder {
    publisher: Arc<Publisher>,
    reference: ObjectReference,
}

/// One for all runs of a controller, so that repeated Events are seen as such.
pub(super) struct Publisher {
    client: Client,
    controller: String,
    origin: Origin,
    recent: Mutex<Recent>,
}

/// What makes two Events the same.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    about: ObjectReference,
    kind: &'static str,
    reason: String,
}

/// The Events of the last minutes. Invariant: ordered by `last`, at most [`REMEMBERED`].
#[derive(Debug, Default)]
struct Recent {
    events: VecDeque<Published>,
    /// The time in the last name that was given away.
    named: i128,
}

#[derive(Debug)]
struct Published {
    key: Key,
    name: String,
    count: i32,
    last: Timestamp,
}

/// What is to be sent.
#[derive(Debug, PartialEq, Eq)]
enum Send {
    New { name: String },
    Again { name: String, count: i32 },
}

impl Recent {
    fn note(&mut self, key: Key, now: Timestamp) -> Send {
        self.events
            .retain(|event| now.duration_since(event.last) < SAME_FOR);
        let place = self.events.iter().position(|event| event.key == key);
        let (name, count) = match place.and_then(|place| self.events.remove(place)) {
            Some(event) => (event.name, event.count.saturating_add(1)),
            None => (self.name(&key.about, now), 1),
        };
        if self.events.len() == REMEMBERED {
            self.events.pop_front();
        }
        self.events.push_back(Published {
            key,
            name: name.clone(),
            count,
            last: now,
        });
        debug_assert!(self.events.len() <= REMEMBERED, "the record is bounded");
        match count {
            1 => Send::New { name },
            count => Send::Again { name, count },
        }
    }

    /// The object's name and a time, later than that of any name before.
    fn name(&mut self, about: &ObjectReference, now: Timestamp) -> String {
        self.named = now.as_nanosecond().max(self.named + 1);
        let object = cut(about.name.as_deref().unwrap_or_default(), NAME_LIMIT);
        format!("{}.{:x}", object.trim_end_matches(['.', '-']), self.named)
    }

    /// It is not on the server: the next of its kind is a new one.
    fn forget(&mut self, name: &str) {
        self.events.retain(|event| event.name != name);
    }
}

/// At most so many bytes, whole characters.
fn cut(text: &str, limit: usize) -> &str {
    let end = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = end.take_while(|end| *end <= limit).last();
    &text[..end.unwrap_or_default()]
}

impl Publisher {
    pub(super) fn new(client: Client, controller: &str, origin: Origin) -> Self {
        Self {
            client,
            controller: controller.to_owned(),
            origin,
            recent: Mutex::default(),
        }
    }

    async fn publish(&self, about: &ObjectReference, kind: &'static str, reason: &str, note: &str) {
        let key = Key {
            about: about.clone(),
            kind,
            reason: reason.to_owned(),
        };
        // The Events of what has no namespace are in this one.
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let events = Api::<Event>::namespaced(self.client.clone(), namespace);
        loop {
            let now = self.origin.wall();
            let send = self.recent().note(key.clone(), now);
            let (name, again, sent) = match send {
                Send::New { name } => {
                    let event = self.event(&name, about, kind, reason, note, now);
                    let sent = patiently(events.create(&PostParams::default(), &event)).await;
                    (name, false, sent)
                }
                Send::Again { name, count } => {
                    let series = json!({"series": {"count": count, "lastObservedTime": MicroTime(now)}});
                    let (params, patch) = (PatchParams::default(), Patch::Merge(series));
                    let sent = patiently(events.patch(&name, &params, &patch)).await;
                    (name, true, sent)
                }
            };
            let Err(error) = sent else { return };
            self.recent().forget(&name);
            // Somebody has deleted it: it is made anew.
            if again && matches!(&error, kube::Error::Api(status) if status.code == 404) {
                continue;
            }
            tracing::warn!(%error, reason, "cannot publish an Event");
            return;
        }
    }

    /// Lets the Events that are remembered be counted.
    pub(super) fn counted(self, census: &Census) -> Arc<Self> {
        let publisher = Arc::new(self);
        let counted = Arc::clone(&publisher);
        census.add("Events", move || counted.recent().events.len());
        publisher
    }

    fn recent(&self) -> std::sync::MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(
        &self,
        name: &str,
        about: &ObjectReference,
        kind: &str,
        reason: &str,
        note: &str,
        now: Timestamp,
    ) -> Event {
        Event {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: about.namespace.clone(),
                ..ObjectMeta::default()
            },
            action: Some("Reconcile".to_owned()),
            event_time: Some(MicroTime(now)),
            note: Some(cut(note, NOTE_LIMIT).to_owned()),
            reason: Some(reason.to_owned()),
            regarding: Some(about.clone()),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.controller.clone()),
            type_: Some(kind.to_owned()),
            ..Event::default()
        }
    }
}

impl Recorder {
    /// For tests of plain functions: Events of `object`, reported by `controller`.
    pub fn new<K: Resource<DynamicType: Default>>(client: Client, controller: &str, object: &K) -> Self {
        Self {
            publisher: Arc::new(Publisher::new(client, controller, Origin::machine())),
            reference: object.object_ref(&K::DynamicType::default()),
        }
    }

    /// Events of something that no controller reconciles.
    pub(crate) fn about(client: Client, reporter: &str, origin: Origin, reference: ObjectReference) -> Self {
        Self::of(Arc::new(Publisher::new(client, reporter, origin)), reference)
    }

    /// Without the memory of what was published: the next Event is a new one.
    pub(crate) fn anew(&self) -> Self {
        let Publisher {
            client,
            controller,
            origin,
            ..
        } = &*self.publisher;
        Self::about(client.clone(), controller, *origin, self.reference.clone())
    }

    pub(super) fn of(publisher: Arc<Publisher>, mut reference: ObjectReference) -> Self {
        // It is the object that Events are about, not one state of it: a new state does not make the same Event another.
        reference.resource_version = None;
        Self { publisher, reference }
    }

    /// All is as it should be: `reason` is one CamelCase word, `note` a sentence.
    pub async fn normal(&self, reason: &str, note: &str) {
        self.publish("Normal", reason, note).await;
    }

    /// Something is not as it should be.
    pub async fn warning(&self, reason: &str, note: &str) {
        self.publish("Warning", reason, note).await;
    }

    /// Boxed: whoever may publish an Event, which is rare, does not carry the room for it all the time.
    fn publish<'a>(&'a self, kind: &'static str, reason: &'a str, note: &'a str) -> BoxFuture<'a, ()> {
        self.publisher
            .publish(&self.reference, kind, reason, note)
            .boxed()
    }
}

impl<R: Reconciler> FromReconcile<R> for Recorder {
    fn from_reconcile(run: &Run<R>) -> Self {
        Self::of(run.publisher(), run.object().object_ref(run.kind()))
    }

    fn declare(declaration: &mut Declaration) {
        declaration.uses.events = true;
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("of", &self.reference.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use controller_apiserver::{Fault, Server, Verb, When};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{DeleteParams, ListParams};

    use super::*;
    use crate::{clock, patience::PATIENCE};

    fn map() -> ConfigMap {
        let mut map = ConfigMap::default();
        map.metadata.name = Some("a".to_owned());
        map.metadata.namespace = Some("default".to_owned());
        map
    }

    /// A reconcile waits for its Events, and must not fail by them.
    #[tokio::test(start_paused = true)]
    async fn an_event_holds_nobody_up_for_long_whatever_becomes_of_it() {
        for fault in [
            Fault::Hang,
            Fault::HangAfter,
            Fault::status(500),
            Fault::Disconnect,
        ] {
            let server = Server::new();
            let recorder = Recorder::new(server.client(), "test", &map());
            let creations = When::verb(Verb::Create).resource("events");
            server.faults().inject(creations, fault.clone());
            let began = clock::now();
            recorder.normal("Made", "it is there").await;
            assert!(began.elapsed() <= PATIENCE, "{fault:?}: {:?}", began.elapsed());
        }
    }

    /// What is to be counted up was deleted meanwhile: the reader finds one all the same.
    #[tokio::test(start_paused = true)]
    async fn an_event_that_somebody_deleted_is_made_anew() {
        let server = Server::new();
        let recorder = Recorder::new(server.client(), "test", &map());
        let events = Api::<Event>::namespaced(server.client(), "default");
        recorder.normal("Made", "it is there").await;
        events
            .delete_collection(&DeleteParams::default(), &ListParams::default())
            .await
            .unwrap();
        recorder.normal("Made", "it is there").await;
        let found = events.list(&ListParams::default()).await.unwrap().items;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].series, None, "it is the first of its name");
    }

    fn key(name: &str, reason: &str) -> Key {
        Key {
            about: ObjectReference {
                name: Some(name.to_owned()),
                ..ObjectReference::default()
            },
            kind: "Normal",
            reason: reason.to_owned(),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + seconds).unwrap()
    }

    #[test]
    fn the_same_again_is_counted_until_it_was_silent_for_six_minutes() {
        let mut recent = Recent::default();
        let Send::New { name } = recent.note(key("a", "Rotated"), at(0)) else {
            panic!("the first is new")
        };
        for (count, seconds) in [(2, 300), (3, 600)] {
            let again = Send::Again {
                name: name.clone(),
                count,
            };
            assert_eq!(recent.note(key("a", "Rotated"), at(seconds)), again);
        }
        let later = recent.note(key("a", "Rotated"), at(960));
        assert!(
            matches!(&later, Send::New { name: other } if *other != name),
            "{later:?}"
        );
    }

    #[test]
    fn another_reason_or_object_is_another_event_also_at_the_same_moment() {
        let mut recent = Recent::default();
        let mut names = std::collections::BTreeSet::new();
        for key in [key("a", "Rotated"), key("a", "Refused"), key("b", "Rotated")] {
            match recent.note(key, at(0)) {
                Send::New { name } => assert!(names.insert(name)),
                again @ Send::Again { .. } => panic!("{again:?}"),
            }
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_was_not_sent_is_forgotten() {
        let mut recent = Recent::default();
        for index in 0..REMEMBERED * 2 {
            recent.note(key(&format!("a{index}"), "Rotated"), at(0));
        }
        assert_eq!(recent.events.len(), REMEMBERED);
        let Send::New { name } = recent.note(key("b", "Rotated"), at(0)) else {
            panic!("the first is new")
        };
        recent.forget(&name);
        assert!(matches!(
            recent.note(key("b", "Rotated"), at(1)),
            Send::New { .. }
        ));
    }

    /// What the API takes: a name of 253 characters, a note of 1024 bytes.
    #[test]
    fn long_names_and_notes_are_cut_at_whole_characters() {
        let Send::New { name } = Recent::default().note(key(&"a".repeat(253), "Rotated"), at(0)) else {
            panic!("the first is new")
        };
        assert!(name.len() <= 253, "{}", name.len());
        assert_eq!(cut(&"ä".repeat(600), NOTE_LIMIT).len(), 1024);
        assert_eq!(cut(&format!("a{}", "ä".repeat(600)), NOTE_LIMIT).len(), 1023);
    }
}
