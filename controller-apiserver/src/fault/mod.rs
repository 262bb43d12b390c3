//! Faults on demand: what can go wrong between a client and a server, for requests that match.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! use controller_apiserver::{Fault, Server, Verb, When};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{Api, api::ListParams};
//!
//! let server = Server::new();
//! server.faults().inject(When::verb(Verb::List).resource("configmaps").times(1), Fault::status(503));
//! let api = Api::<ConfigMap>::namespaced(server.client(), "default");
//! assert!(api.list(&ListParams::default()).await.is_err());
//! assert!(api.list(&ListParams::default()).await.is_ok());
//! # }
//! ```

mod script;
mod stream;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub(crate) use script::Script;
pub(crate) use stream::{StreamFault, garble};

use crate::call::{Call, Verb};
use crate::status::ApiError;

/// Which requests a fault concerns; what is not said matches everything.
#[derive(Clone, Debug, Default)]
pub struct When {
    verb: Option<Verb>,
    group: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    agent: Option<String>,
    times: Option<u32>,
    skip: u32,
    chance: Option<f64>,
}

impl When {
    /// Any request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests of this verb.
    pub fn verb(verb: Verb) -> Self {
        Self {
            verb: Some(verb),
            ..Self::default()
        }
    }

    /// Only for this resource (`configmaps`).
    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Only in this API group; empty is the core group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Only for this subresource; empty is the object itself.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// Only in this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only for the object of this name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Only from clients whose `User-Agent` starts so.
    #[must_use]
    pub fn agent(mut self, prefix: impl Into<String>) -> Self {
        self.agent = Some(prefix.into());
        self
    }

    /// Only this many times; without it the fault stays until it is removed.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Not for the first requests that match.
    #[must_use]
    pub fn skip(mut self, requests: u32) -> Self {
        self.skip = requests;
        self
    }

    /// Only with this probability, from 0 to 1, for each request that matches. What it hits follows the
    /// server's seed.
    #[must_use]
    pub fn chance(mut self, probability: f64) -> Self {
        self.chance = Some(probability);
        self
    }

    fn matches(&self, call: &Call) -> bool {
        let target = &call.target;
        let same = |wanted: &Option<String>, given: &str| wanted.as_deref().is_none_or(|w| w == given);
        self.verb.is_none_or(|verb| verb == call.verb)
            && same(&self.group, &target.resource.group)
            && same(&self.resource, &target.resource.plural)
            && same(&self.subresource, &target.subresource)
            && same(&self.namespace, &target.namespace)
            && same(&self.name, &target.name)
            && self
                .agent
                .as_deref()
                .is_none_or(|prefix| call.agent.starts_with(prefix))
    }
}

/// What goes wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The request is refused, and has no effect.
    Answer(ApiError),
    /// The request is looked at only after this time.
    Delay(Duration),
    /// No answer ever comes; the request has no effect.
    Hang,
    /// The connection is cut before the request has an effect.
    Disconnect,
    /// The request has its effect, then the connection is cut.
    LoseAnswer,
    /// The request has its effect, but no answer ever comes.
    HangAfter,
    /// A watch ends after this many lines.
    Cut {
        /// Lines that are still sent.
        after: usize,
    },
    /// A watch is open and silent, and ignores its own `timeoutSeconds`.
    Silent,
    /// A watch ends in the middle of a line, after this many whole ones.
    Truncate {
        /// Lines that are still sent.
        after: usize,
    },
    /// A watch sends an `ERROR` event and ends, after this many lines.
    ErrorEvent {
        /// Lines that are still sent.
        after: usize,
        /// What the event holds.
        status: ApiError,
    },
    /// One line of a watch, or one item of a list, holds an object that no client can decode.
    Garbage {
        /// Its place, from 0.
        at: usize,
    },
    /// A watch sends no bookmarks, not even the one that ends the initial events.
    NoBookmarks,
    /// A watch does not end by itself, whatever its `timeoutSeconds`.
    NoTimeout,
    /// Every line of a watch comes this much later.
    DelayEvents(Duration),
    /// Streaming lists (`sendInitialEvents`) are refused, as by servers that do not know them.
    RefuseStreamingLists,
    /// A list is cut to pages of this size, whatever its `limit`.
    SmallPages(usize),
    /// The continue token of a request counts as expired.
    ExpireContinue,
    /// A page of a list does not tell that there are more.
    ForgetContinue,
    /// A read shows the state of so many revisions ago, as from a cache that lags behind.
    StaleReads(u64),
    /// Headers and half of the body come, and then nothing more.
    StallBody,
    /// Headers and half of the body come, then the connection is cut.
    CutBody,
}

impl Fault {
    /// A refusal with the usual reason and text of an HTTP code.
    pub fn status(code: u16) -> Self {
        Self::Answer(refusal(code))
    }

    /// A word for the journal.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Answer(_) => "answer",
            Self::Delay(_) => "delay",
            Self::Hang => "hang",
            Self::Disconnect => "disconnect",
            Self::LoseAnswer => "lose-answer",
            Self::HangAfter => "hang-after",
            Self::Cut { .. } => "cut",
            Self::Silent => "silent",
            Self::Truncate { .. } => "truncate",
            Self::ErrorEvent { .. } => "error-event",
            Self::Garbage { .. } => "garbage",
            Self::NoBookmarks => "no-bookmarks",
            Self::NoTimeout => "no-timeout",
            Self::DelayEvents(_) => "delay-events",
            Self::RefuseStreamingLists => "refuse-streaming-lists",
            Self::SmallPages(_) => "small-pages",
            Self::ExpireContinue => "expire-continue",
            Self::ForgetContinue => "forget-continue",
            Self::StaleReads(_) => "stale-reads",
            Self::StallBody => "stall-body",
            Self::CutBody => "cut-body",
        }
    }
}

/// A refusal with the usual reason and text of an HTTP code.
fn refusal(code: u16) -> ApiError {
    let (reason, message) = match code {
        400 => ("BadRequest", "injected: bad request"),
        401 => ("Unauthorized", "Unauthorized"),
        403 => ("Forbidden", "injected: forbidden"),
        404 => ("NotFound", "the server could not find the requested resource"),
        409 => (
            "Conflict",
            "the object has been modified; please apply your changes to the latest version and try again",
        ),
        410 => ("Expired", "too old resource version"),
        413 => ("RequestEntityTooLarge", "Request entity too large"),
        422 => ("Invalid", "injected: invalid"),
        429 => (
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        ),
        503 => (
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        504 => (
            "Timeout",
            "the server was unable to return a response in the time allotted",
        ),
        _ => ("InternalError", "Internal error occurred: injected"),
    };
    let error = ApiError::new(code, reason, message);
    if code == 429 { error.retry_after(1) } else { error }
}

/// Names an injected fault, to remove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultId(pub(crate) u64);

#[derive(Debug)]
struct Rules {
    /// Who is hit by what only sometimes hits.
    chance: fastrand::Rng,
    next: u64,
    injected: Vec<(FaultId, When, Fault)>,
}

/// The faults of a server.
#[derive(Clone, Debug)]
pub struct Faults(Arc<Mutex<Rules>>);

impl Faults {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Rules {
            chance: fastrand::Rng::with_seed(seed),
            next: 0,
            injected: Vec::new(),
        })))
    }

    /// The faults that are injected: a name and a word for each.
    pub(crate) fn all(&self) -> Vec<(u64, &'static str)> {
        let rules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rules
            .injected
            .iter()
            .map(|(id, _, fault)| (id.0, fault.word()))
            .collect()
    }

    /// Lets requests that match fail, from now on. Several faults can meet one request.
    pub fn inject(&self, when: When, fault: Fault) -> FaultId {
        let mut rules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rules.next += 1;
        let id = FaultId(rules.next);
        rules.injected.push((id, when, fault));
        id
    }

    /// Takes a fault away; streams it already met keep it.
    pub fn remove(&self, id: FaultId) {
        let mut rules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rules.injected.retain(|(other, _, _)| *other != id);
    }

    /// Takes all faults away.
    pub fn clear(&self) {
        let mut rules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rules.injected.clear();
    }

    /// The faults that meet a request; those that are counted are used up.
    pub(crate) fn meet(&self, call: &Call) -> Vec<Fault> {
        let mut rules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut met = Vec::new();
        let Rules { chance, injected, .. } = &mut *rules;
        for (_, when, fault) in injected.iter_mut() {
            if !when.matches(call) || when.times == Some(0) {
                continue;
            }
            if when.chance.is_some_and(|probability| chance.f64() >= probability) {
                continue;
            }
            if when.skip > 0 {
                when.skip -= 1;
                continue;
            }
            if let Some(times) = &mut when.times {
                *times -= 1;
            }
            met.push(fault.clone());
        }
        injected.retain(|(_, when, _)| when.times != Some(0));
        met
    }
}
