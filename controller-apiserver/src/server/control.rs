//! The admin path `/-/`: what tests in other languages do to a server that runs in another process.
//!
//! | request | what it does |
//! |---|---|
//! | `GET /-/journal` | what was asked so far, a line of JSON for each request |
//! | `GET`, `POST`, `DELETE /-/faults`, `DELETE /-/faults/ID` | tells, injects and takes away faults |
//! | `POST /-/compact` | forgets the history |
//! | `POST /-/close-watches` | ends all watches |
//! | `POST /-/clock` `{"jumpSeconds": -3600}` | moves the server's clock |
//! | `POST /-/restore` `{"revision": 120}` | goes back to an earlier state |
//! | `POST /-/definitions` `{"hold": true}` | lets new definitions wait to be established |
//!
//! It is not part of Kubernetes. With RBAC it needs the right to the path, as `system:masters` has.

use http::{Method, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Body, Server, answer};
use crate::codec::accept::Media;
use crate::fault::{FaultId, Script};
use crate::status::ApiError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Jump {
    jump_seconds: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Restore {
    revision: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hold {
    hold: bool,
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::bad_request(error.to_string()))
}

impl Server {
    /// Answers a request below `/-/`.
    pub(super) fn control(&self, rest: &str, method: &Method, body: &[u8]) -> Response<Body> {
        match self.controlled(rest, method, body) {
            Ok(response) => response,
            Err(error) => answer::refusal(&error, Media::Json, &[]),
        }
    }

    fn controlled(&self, rest: &str, method: &Method, body: &[u8]) -> Result<Response<Body>, ApiError> {
        let done = || Ok(answer::json(200, &json!({})));
        let rest = rest.split_once('/').unwrap_or((rest, ""));
        match (method.as_str(), rest) {
            ("GET", ("journal", "")) => {
                let lines = self.journal().to_ndjson();
                Ok(answer::bytes(200, "application/x-ndjson", lines.into()))
            }
            ("GET", ("faults", "")) => {
                let all = self.faults().all();
                let list: Vec<_> = all
                    .iter()
                    .map(|(id, word)| json!({"id": id, "type": word}))
                    .collect();
                Ok(answer::json(200, &list.into()))
            }
            ("POST", ("faults", "")) => {
                let (when, fault) = Script::read(body).map_err(ApiError::bad_request)?;
                let id = self.faults().inject(when, fault);
                Ok(answer::json(201, &json!({"id": id.0})))
            }
            ("DELETE", ("faults", "")) => {
                self.faults().clear();
                done()
            }
            ("DELETE", ("faults", id)) => {
                let id = id
                    .parse()
                    .map_err(|_| ApiError::bad_request(format!("{id:?} is no fault")))?;
                self.faults().remove(FaultId(id));
                done()
            }
            ("POST", ("compact", "")) => {
                self.compact();
                done()
            }
            ("POST", ("close-watches", "")) => {
                self.close_watches();
                done()
            }
            ("POST", ("clock", "")) => {
                let jump: Jump = read(body)?;
                self.jump_clock(jiff::SignedDuration::from_secs(jump.jump_seconds));
                done()
            }
            ("POST", ("restore", "")) => {
                let restore: Restore = read(body)?;
                self.restore(restore.revision)
                    .map_err(|error| ApiError::bad_request(error.to_string()))?;
                done()
            }
            ("POST", ("definitions", "")) => {
                let hold: Hold = read(body)?;
                self.hold_definitions(hold.hold);
                done()
            }
            _ => Err(ApiError::no_such_resource()),
        }
    }
}
