//! From a request's head to what it asks for.
//!
//! Which methods a path has, and how a missing one is refused, differs between built-in kinds and
//! custom resources, as on a real server.

use bytes::Bytes;
use http::{HeaderMap, Method, header};

use super::query::Query;
use super::route::Target;
use crate::access::User;
use crate::call::{Call, Verb};
use crate::codec::accept::Accept;
use crate::status::ApiError;

/// A request for objects as it came in.
pub(super) struct Incoming<'a> {
    pub(super) method: &'a Method,
    pub(super) query: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) user: User,
    pub(super) body: Bytes,
}

pub(super) enum Refusal {
    Nowhere,
    Error(ApiError),
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::Error(error)
    }
}

impl Incoming<'_> {
    /// What is asked for.
    ///
    /// # Errors
    ///
    /// The path has no such method, or no acceptable answer.
    pub(super) fn call(self, target: Target) -> Result<Call, Refusal> {
        let query = Query::parse(self.query);
        let verb = self.verb(&target, &query)?;
        let mut accept = Accept::negotiate(text(self.headers, header::ACCEPT).as_deref())?
            .including(query.text("includeObject"))?;
        if verb == Verb::Watch {
            accept = accept.streamed()?;
        }
        Ok(Call {
            accept,
            content_type: text(self.headers, header::CONTENT_TYPE),
            agent: text(self.headers, header::USER_AGENT).unwrap_or_default(),
            user: self.user,
            body: self.body,
            target,
            verb,
            query,
        })
    }

    /// What the method means on this path.
    fn verb(&self, target: &Target, query: &Query) -> Result<Verb, Refusal> {
        let resource = &target.resource;
        if resource.is_custom() {
            return self.custom_verb(target, query);
        }
        let collection = target.name.is_empty();
        let across = resource.namespaced && target.namespace.is_empty();
        let watches = target.watch || (collection && query.flag("watch"));
        let verb = match (self.method.as_str(), collection) {
            ("GET", _) if watches => Verb::Watch,
            ("GET", true) => Verb::List,
            ("GET", false) => Verb::Get,
            _ if target.watch || across => return Err(ApiError::method_not_allowed().into()),
            ("POST", true) => Verb::Create,
            ("POST", false) if !target.subresource.is_empty() => Verb::Create,
            ("PUT", false) => Verb::Update,
            ("PATCH", false) => Verb::Patch,
            ("DELETE", false) => Verb::Delete,
            ("DELETE", true) => Verb::DeleteCollection,
            _ => return Err(ApiError::method_not_allowed().into()),
        };
        let verbs = match resource.subresource(&target.subresource) {
            Some(subresource) => &subresource.verbs,
            None => &resource.verbs,
        };
        if verbs.iter().any(|allowed| allowed == verb.as_str()) {
            Ok(verb)
        } else {
            Err(ApiError::method_not_allowed().into())
        }
    }

    /// The handler of custom resources looks at the method last.
    fn custom_verb(&self, target: &Target, query: &Query) -> Result<Verb, Refusal> {
        let resource = &target.resource;
        let collection = target.name.is_empty();
        let across = resource.namespaced && target.namespace.is_empty();
        let watches = target.watch || (collection && query.flag("watch"));
        let verb = match (self.method.as_str(), collection) {
            ("GET", _) if watches => Verb::Watch,
            ("GET", true) => Verb::List,
            ("GET", false) => Verb::Get,
            _ if across || target.watch => return Err(Refusal::Nowhere),
            ("POST", _) => Verb::Create,
            ("PUT" | "PATCH", true) => {
                return Err(ApiError::bad_request("name must be provided").into());
            }
            ("PUT", false) => Verb::Update,
            ("PATCH", false) => Verb::Patch,
            ("DELETE", false) => Verb::Delete,
            ("DELETE", true) => Verb::DeleteCollection,
            (method, _) => {
                let action = method.to_lowercase();
                return Err(ApiError::method_not_supported(&resource.named(), &action).into());
            }
        };
        if target.subresource.is_empty() {
            return Ok(verb);
        }
        let Some(subresource) = resource.subresource(&target.subresource) else {
            return Err(ApiError::not_found(&resource.named(), &target.name).into());
        };
        if subresource.verbs.iter().any(|allowed| allowed == verb.as_str()) {
            return Ok(verb);
        }
        Err(ApiError::method_not_supported(&resource.named(), verb.as_str()).into())
    }
}

/// A header, if it is text.
pub(super) fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}
