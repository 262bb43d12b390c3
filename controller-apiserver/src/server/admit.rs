//! Authentication, impersonation and authorization, before anything is looked up.

use http::header::USER_AGENT;
use http::request::Parts;

use super::Server;
use crate::access::{Attributes, Denial, Refusal, Target, User};
use crate::call::Verb;
use crate::journal::Entry;
use crate::status::{ApiError, Named};

impl From<Denial> for ApiError {
    fn from(denial: Denial) -> Self {
        Self::forbidden(
            &Named::new(denial.group, denial.resource),
            &denial.name,
            &denial.message,
        )
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unauthorized(_) => Self::unauthorized(),
            Refusal::BadRequest(text) => Self::bad_request(text),
            Refusal::Forbidden(denial) => denial.into(),
        }
    }
}

impl Server {
    /// The user as whom a request goes on. Refusals of requests for objects are in the journal.
    pub(super) fn admit(&self, request: &Parts) -> Result<User, ApiError> {
        let state = self.inner.state();
        let attributes = Attributes::of_request(request);
        let now = state.clock.now().as_second();
        let mut name = String::new();
        let admitted = state
            .guard
            .identify(request, now, |claims| state.holds(claims))
            .map_err(Refusal::from)
            .and_then(|user| {
                name.clone_from(&user.name);
                state.guard.admit(user, &request.headers, &attributes)
            });
        drop(state);
        admitted.map_err(|refusal| {
            let error = ApiError::from(refusal);
            self.note_refusal(request, &attributes, name, &error);
            error
        })
    }

    fn note_refusal(&self, request: &Parts, attributes: &Attributes, user: String, error: &ApiError) {
        let Target::Resource(target) = &attributes.target else {
            return;
        };
        let Some(verb) = Verb::parse(&attributes.verb) else {
            return;
        };
        let agent = request
            .headers
            .get(USER_AGENT)
            .and_then(|agent| agent.to_str().ok());
        let (time, revision) = (self.now(), self.revision());
        self.inner.log().push(Entry {
            sequence: 0,
            time,
            user,
            user_agent: agent.unwrap_or_default().to_owned(),
            verb: verb.as_str(),
            group: target.group.clone(),
            version: target.version.clone(),
            resource: target.resource.clone(),
            subresource: target.subresource.clone(),
            namespace: target.namespace.clone(),
            name: target.name.clone(),
            query: super::query::Query::parse(request.uri.query().unwrap_or_default()).to_string(),
            code: error.code,
            reason: error.reason.clone(),
            revision,
            fault: String::new(),
            also: Vec::new(),
        });
    }
}
