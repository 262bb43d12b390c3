//! From an HTTP request to an answer.

use std::ops::Deref;
use std::sync::MutexGuard;
use std::time::Duration;

use http::{Method, Request, Response, header};
use http_body_util::{BodyExt as _, Limited};
use tower::BoxError;

use super::client::Disconnected;
use super::flight::Flight;
use super::incoming::{Incoming, Refusal, text};
use super::query::Query;
use super::route::{Route, Target, route};
use super::{Body, Server, answer, health, metrics};
use crate::call::{Answer, Call, Session, Verb};
use crate::codec::accept::Accept;
use crate::codec::body::LIMIT;
use crate::discovery;
use crate::fault::{Fault, StreamFault};
use crate::journal::Entry;
use crate::registry::Registry;
use crate::rights::Right;
use crate::state::State;
use crate::status::ApiError;
use crate::watch::{REVISION_PATIENCE, WatchStream};

/// How long a read waits for a revision between two looks.
const REVISION_POLL: Duration = Duration::from_millis(50);

impl Server {
    /// Answers a request.
    ///
    /// # Errors
    ///
    /// Only where a fault cuts the connection.
    pub async fn handle<B>(&self, request: Request<B>) -> Result<Response<Body>, Disconnected>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let (head, body) = request.into_parts();
        let flight = self
            .inner
            .flights
            .start(format!("{} {}", head.method, head.uri.path()));
        self.inner.start_controllers();
        let accept = text(&head.headers, header::ACCEPT);
        let media = Accept::media_or_json(accept.as_deref());
        let user = match self.admit(&head) {
            Ok(user) => user,
            Err(error) => return Ok(answer::refusal(&error, media, &[])),
        };
        let bytes = match Limited::new(body, LIMIT).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                let error = ApiError::too_large(format!("Request entity too large: limit is {LIMIT}"));
                return Ok(answer::refusal(&error, media, &[]));
            }
            Err(error) => {
                let error = ApiError::bad_request(format!("cannot read the body: {error}"));
                return Ok(answer::refusal(&error, media, &[]));
            }
        };
        let found = {
            let state = self.inner.state();
            route(&state.registry, head.uri.path())
        };
        let mut response = match found {
            Route::Nowhere => answer::not_found_text(),
            Route::OpenApi(rest) => {
                let registry = || Served(self.inner.state());
                self.inner
                    .documents
                    .answer(registry, &rest, &head.method, &head.headers)
            }
            Route::Control(rest) => self.control(&rest, &head.method, &bytes),
            Route::Refused(error) => answer::refusal(&error, media, &[]),
            Route::Version => answer::json(200, &discovery::version()),
            Route::Health => {
                let query = Query::parse(head.uri.query().unwrap_or_default());
                answer::text(200, &health::text(head.uri.path(), &query))
            }
            Route::Metrics => metrics::answer(&self.inner.state()),
            Route::Discovery(wanted) => {
                discovery::answer(&self.inner.state().registry, &wanted, &head.method, &head.headers)
            }
            Route::Resource(target) => {
                let request = Incoming {
                    method: &head.method,
                    query: head.uri.query().unwrap_or_default(),
                    headers: &head.headers,
                    user,
                    body: bytes,
                };
                self.objects(target, request, &flight).await?
            }
        };
        if head.method == Method::HEAD {
            *response.body_mut() = Body::whole(bytes::Bytes::new());
        }
        response.body_mut().keep(flight);
        Ok(response)
    }

    /// A request for objects.
    async fn objects(
        &self,
        target: Target,
        request: Incoming<'_>,
        flight: &Flight,
    ) -> Result<Response<Body>, Disconnected> {
        let accept = text(request.headers, header::ACCEPT);
        let media = Accept::media_or_json(accept.as_deref());
        let call = match request.call(target) {
            Ok(call) => call,
            Err(Refusal::Nowhere) => return Ok(answer::not_found_text()),
            Err(Refusal::Error(error)) => return Ok(answer::refusal(&error, media, &[])),
        };
        let faults = self.inner.faults.meet(&call);
        let call = bent(call, &faults);
        self.before(&call, &faults, flight).await?;
        let (outcome, warnings) = self.attempt(&call, &faults, flight).await;
        let lost = faults
            .iter()
            .find(|fault| matches!(fault, Fault::LoseAnswer | Fault::HangAfter));
        if let Some(fault) = lost {
            return Err(self.vanish(fault, flight).await);
        }
        Ok(match outcome {
            Ok(response) if faults.iter().any(|fault| matches!(fault, Fault::StallBody)) => {
                flight.park(true);
                response.map(Body::stalled)
            }
            Ok(response) if faults.iter().any(|fault| matches!(fault, Fault::CutBody)) => {
                response.map(Body::cut)
            }
            Ok(response) => response,
            Err(error) => answer::refusal(&error, media, &warnings),
        })
    }

    /// Faults that meet a request before it is looked at.
    async fn before(&self, call: &Call, faults: &[Fault], flight: &Flight) -> Result<(), Disconnected> {
        for fault in faults {
            match fault {
                Fault::Delay(by) => {
                    flight.park(true);
                    tokio::time::sleep(*by).await;
                    flight.park(false);
                }
                Fault::Hang | Fault::Disconnect => {
                    self.note(call, 0, "", fault.word());
                    return Err(self.vanish(fault, flight).await);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The connection goes, or nothing comes any more.
    async fn vanish(&self, fault: &Fault, flight: &Flight) -> Disconnected {
        if matches!(fault, Fault::Hang | Fault::HangAfter) {
            flight.park(true);
            std::future::pending::<()>().await;
        }
        Disconnected
    }

    /// Answers a request; one that asks for a revision to come is tried for a while.
    async fn attempt(
        &self,
        call: &Call,
        faults: &[Fault],
        flight: &Flight,
    ) -> (Result<Response<Body>, ApiError>, Vec<String>) {
        let mut waited = Duration::ZERO;
        loop {
            let asked = match self.once(call, faults, waited >= REVISION_PATIENCE) {
                Attempt::Done(outcome, warnings) => return (outcome, warnings),
                Attempt::NotYet(revision) => revision,
            };
            tracing::trace!(asked, "the revision is not there yet");
            flight.park(true);
            tokio::time::sleep(REVISION_POLL).await;
            flight.park(false);
            waited += REVISION_POLL;
        }
    }

    /// One look at the state: the decision, its effect, and the journal entry, under one lock.
    fn once(&self, call: &Call, faults: &[Fault], last: bool) -> Attempt {
        let mut state = self.inner.state();
        let word = faults.first().map_or("", Fault::word);
        let mut session = Session::new(&mut state, call);
        session.lag = faults.iter().find_map(|fault| match fault {
            Fault::StaleReads(revisions) => Some(*revisions),
            _ => None,
        });
        let mut warnings = deprecation(call);
        let outcome = match injected(call, faults) {
            Some(error) => Err(error),
            None => session.run(),
        };
        warnings.append(&mut session.warnings);
        let also = std::mem::take(&mut session.also);
        let outcome = match outcome {
            Ok(Answer::NotYet { revision }) if !last => return Attempt::NotYet(revision),
            Ok(Answer::NotYet { revision }) => {
                let current = state.store.revision();
                Err(ApiError::too_large_revision(revision, current))
            }
            other => other,
        };
        let response = outcome.map(|answer| match answer {
            Answer::Watch(opening) => {
                let target = &call.target;
                let fault = StreamFault::of(faults);
                let stream = WatchStream::open(
                    &self.inner,
                    &mut state,
                    &target.resource,
                    &target.namespace,
                    call.accept,
                    *opening,
                    fault,
                );
                answer::watch(stream, call.accept, &warnings)
            }
            answer => answer::objects(call, answer, faults, &warnings, state.clock.now()),
        });
        let work = !state.work.is_empty();
        match &response {
            Ok(response) => self.note_at(call, response.status().as_u16(), "", word, &state, also),
            Err(error) => self.note_at(call, error.code, &error.reason, word, &state, also),
        }
        drop(state);
        if work {
            self.inner.work.notify_one();
        }
        Attempt::Done(response, warnings)
    }

    fn note(&self, call: &Call, code: u16, reason: &str, fault: &str) {
        let state = self.inner.state();
        self.note_at(call, code, reason, fault, &state, Vec::new());
    }

    fn note_at(&self, call: &Call, code: u16, reason: &str, fault: &str, state: &State, also: Vec<Right>) {
        let target = &call.target;
        self.inner.log().push(Entry {
            sequence: 0,
            time: state.clock.now(),
            user: call.user.name.clone(),
            user_agent: call.agent.clone(),
            verb: call.verb.as_str(),
            group: target.resource.group.clone(),
            version: target.resource.version.clone(),
            resource: target.resource.plural.clone(),
            subresource: target.subresource.clone(),
            namespace: target.namespace.clone(),
            name: target.name.clone(),
            query: call.query.to_string(),
            code,
            reason: reason.to_owned(),
            revision: state.store.revision(),
            fault: fault.to_owned(),
            also,
        });
    }
}

/// What is served, as long as nobody changes it.
struct Served<'a>(MutexGuard<'a, State>);

impl Deref for Served<'_> {
    type Target = Registry;

    fn deref(&self) -> &Registry {
        &self.0.registry
    }
}

enum Attempt {
    Done(Result<Response<Body>, ApiError>, Vec<String>),
    NotYet(u64),
}

/// The request as a fault makes it.
fn bent(mut call: Call, faults: &[Fault]) -> Call {
    for fault in faults {
        if let Fault::SmallPages(limit) = fault
            && call.verb == Verb::List
        {
            call.query.set("limit", &limit.to_string());
        }
    }
    call
}

/// A refusal that a fault asks for.
fn injected(call: &Call, faults: &[Fault]) -> Option<ApiError> {
    faults.iter().find_map(|fault| match fault {
        Fault::Answer(error) => Some(error.clone()),
        Fault::RefuseStreamingLists if call.query.first("sendInitialEvents").is_some() => {
            Some(crate::read::revision::invalid(vec![
                crate::status::Cause::forbidden(
                    "sendInitialEvents",
                    "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
                ),
            ]))
        }
        Fault::ExpireContinue if !call.query.text("continue").is_empty() => {
            Some(ApiError::expired("The provided continue parameter is too old"))
        }
        _ => None,
    })
}

/// A deprecated version says so with every answer.
fn deprecation(call: &Call) -> Vec<String> {
    let custom = call.resource().custom.as_ref();
    custom
        .and_then(|custom| custom.deprecation.clone())
        .into_iter()
        .collect()
}

impl Session<'_> {
    /// Does what the call asks for.
    fn run(&mut self) -> Result<Answer, ApiError> {
        let target = &self.call.target;
        if target.subresource == "scale" {
            return self.scale();
        }
        match self.call.verb {
            Verb::Get => self.get(),
            Verb::List => self.list(),
            Verb::Watch => self.watch(),
            Verb::Create if !target.subresource.is_empty() => self.create_below(),
            Verb::Create if self.resource().is_virtual() => self.review(),
            Verb::Create => self.create(),
            Verb::Update => self.update(),
            Verb::Patch => self.patch(),
            Verb::Delete => self.delete(),
            Verb::DeleteCollection => self.delete_collection(),
        }
    }
}
