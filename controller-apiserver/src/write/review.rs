//! Reviews and tokens: bodies that are answered and never stored.

use jiff::Timestamp;
use serde_json::Value;

use super::WriteOptions;
use super::decode::Expected;
use crate::access::{self, BoundTo, Identity, ReviewError, TokenRequest};
use crate::call::{Answer, Session};
use crate::clock::seconds;
use crate::object::{meta_mut, meta_str, str_at};
use crate::status::{ApiError, Named};

impl Session<'_> {
    /// POST of a review.
    pub(crate) fn review(&mut self) -> Result<Answer, ApiError> {
        let options = WriteOptions::of(self.call, false)?;
        let body = self.decode(&options)?;
        self.check_namespace(&body)?;
        let (call, state) = (self.call, &*self.state);
        let (user, policy) = (&call.user, &state.guard.policy);
        let review = match call.target.resource.plural.as_str() {
            "selfsubjectaccessreviews" => access::self_subject_access_review(&body, user, policy),
            "subjectaccessreviews" => access::subject_access_review(&body, policy),
            "localsubjectaccessreviews" => {
                access::local_subject_access_review(&body, &call.target.namespace, policy)
            }
            "selfsubjectrulesreviews" => access::self_subject_rules_review(&body, user, policy),
            "selfsubjectreviews" => Ok(access::self_subject_review(user, &state.now())),
            "tokenreviews" => access::token_review(&body, |token, audiences| {
                let now = state.clock.now().as_second();
                let authenticator = &state.guard.authenticator;
                authenticator.token(token, audiences, now, |claims| state.holds(claims))
            }),
            other => return Err(ApiError::not_supported(other)),
        };
        let group = Named::new(&*call.target.resource.group, "");
        Ok(Answer::value(
            201,
            review.map_err(|error| refused(error, &group))?,
        ))
    }

    /// POST to the `token` of a service account.
    pub(crate) fn issue_token(&mut self) -> Result<Answer, ApiError> {
        let options = WriteOptions::of(self.call, false)?;
        let expected = Expected::builtin("authentication.k8s.io", "v1", "TokenRequest");
        let mut body = self.decode_as(&expected, &options)?;
        let target = &self.call.target;
        if meta_str(&body, "name").is_empty() {
            meta_mut(&mut body).insert("name".into(), target.name.clone().into());
        }
        self.check_name(&body)?;
        self.check_namespace(&body)?;
        let Some(account) = self.existing() else {
            return Err(ApiError::not_found(&target.resource.named(), &target.name));
        };
        let kind = Named::new(expected.group, expected.kind);
        let request = TokenRequest::of(&body).map_err(|error| refused(error, &kind))?;
        let mut bound = BoundTo {
            namespace: target.namespace.clone(),
            serviceaccount: Identity {
                name: target.name.clone(),
                uid: account.uid.to_string(),
            },
            ..BoundTo::default()
        };
        if let Some(reference) = &request.bound {
            self.bind_token(reference, &mut bound)?;
        }
        let now = self.state.clock.now();
        let claims = request.claims(bound, self.state.ids.uid(), now.as_second());
        let token = self.state.guard.authenticator.signer.sign(&claims);
        let expires = Timestamp::from_second(claims.exp).unwrap_or(Timestamp::MAX);
        let answer = request.answer(&claims, &token, &seconds(now), &seconds(expires));
        Ok(Answer::value(201, answer))
    }

    /// Binds a token to the object that a reference names.
    fn bind_token(&self, reference: &Value, bound: &mut BoundTo) -> Result<(), ApiError> {
        let (kind, version) = (str_at(reference, "kind"), str_at(reference, "apiVersion"));
        let (name, uid) = (str_at(reference, "name"), str_at(reference, "uid"));
        let (plural, key) = match (version, kind) {
            ("v1", "Pod") => ("pods", format!("{}/{name}", bound.namespace)),
            ("v1", "Secret") => ("secrets", format!("{}/{name}", bound.namespace)),
            ("v1", "Node") => ("nodes", name.to_owned()),
            _ => {
                let (group, version) = version.split_once('/').unwrap_or(("", version));
                let text = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
                return Err(ApiError::bad_request(text));
            }
        };
        let Some(object) = self.state.store.get(plural, &key) else {
            return Err(ApiError::not_found(&Named::new("", plural), name));
        };
        if !uid.is_empty() && *uid != *object.uid {
            let why = format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. \
                 The object might have been deleted and then recreated"
            );
            return Err(ApiError::conflict(&Named::new("", kind), name, &why));
        }
        let identity = Identity {
            name: name.to_owned(),
            uid: object.uid.to_string(),
        };
        match kind {
            "Secret" => bound.secret = Some(identity),
            "Node" => bound.node = Some(identity),
            _ => {
                self.bind_token_to_pod(&object.value(), bound)?;
                bound.pod = Some(identity);
            }
        }
        Ok(())
    }

    /// A token for a pod is one of the account it runs under, and knows its node.
    fn bind_token_to_pod(&self, pod: &Value, bound: &mut BoundTo) -> Result<(), ApiError> {
        if str_at(pod, "spec.serviceAccountName") != bound.serviceaccount.name {
            let text = format!(
                "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                bound.serviceaccount.name
            );
            return Err(ApiError::bad_request(text));
        }
        let node = str_at(pod, "spec.nodeName");
        if !node.is_empty() {
            let uid = self
                .state
                .store
                .get("nodes", node)
                .map(|node| node.uid.to_string());
            bound.node = Some(Identity {
                name: node.to_owned(),
                uid: uid.unwrap_or_default(),
            });
        }
        Ok(())
    }
}

fn refused(error: ReviewError, kind: &Named) -> ApiError {
    match error {
        ReviewError::BadRequest(text) => ApiError::bad_request(text),
        ReviewError::Invalid(causes) => ApiError::invalid(kind, "", causes),
    }
}
