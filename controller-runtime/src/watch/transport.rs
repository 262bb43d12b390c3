//! Requests of one source, each piece of an answer under a deadline.

use std::{cmp::Ordering, time::Duration};

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderValue, Response, header};
use http_body_util::BodyExt;
use kube::{
    Client,
    api::{ListParams, Request, WatchParams},
    client::Body,
    core::Status,
};
use tokio::time::timeout;

use super::{Config, failure::Failure, wire};
use crate::{error_text::chain, revision::compare};

/// No event is longer. (etcd's default limit for one object is 1.5 MiB.)
const LONGEST_LINE: usize = 64 << 20;
/// Of an answer that is no list and no watch, as much is read as fits into an error text.
const LONGEST_STATUS: usize = 64 << 10;

/// Where a source's requests go, and what they ask for.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) client: Client,
    pub(crate) url: String,
    pub(crate) metadata_only: bool,
    pub(crate) config: Config,
}

impl Endpoint {
    /// Reads a page as one text.
    pub(crate) async fn list(&self, token: Option<&str>, paged: bool) -> Result<Bytes, Failure> {
        let params = ListParams {
            label_selector: self.config.labels.clone(),
            field_selector: self.config.fields.clone(),
            limit: if paged { self.config.page_size } else { None },
            continue_token: token.map(str::to_owned),
            ..ListParams::default()
        };
        let request = Request::new(&*self.url);
        let request = if self.metadata_only {
            request.list_metadata(&params)
        } else {
            request.list(&params)
        };
        let mut body = self.send(request).await?;
        collect(&mut body, usize::MAX, self.config.answer_limit).await
    }

    /// Opens a watch at a revision, or (without one) a streaming list.
    pub(crate) async fn watch(&self, revision: Option<&str>, seconds: u32) -> Result<Lines, Failure> {
        let params = WatchParams {
            label_selector: self.config.labels.clone(),
            field_selector: self.config.fields.clone(),
            timeout: Some(seconds),
            bookmarks: true,
            send_initial_events: revision.is_none(),
        };
        let request = Request::new(&*self.url);
        // Without a revision the set is as new as a read with quorum; "0" would take whatever a cache holds.
        let revision = revision.unwrap_or_default();
        let request = if self.metadata_only {
            request.watch_metadata(&params, revision)
        } else {
            request.watch(&params, revision)
        };
        let body = self.send(request).await?;
        Ok(Lines::new(body))
    }

    /// Opens a watch at a revision if the server has come to it.
    ///
    /// A watch of a revision that is still to come is no error, but silence until then.
    pub(crate) async fn resume(&self, revision: &str, seconds: u32) -> Result<Lines, Failure> {
        match self.revision().await {
            Some(now) if compare(&now, revision) == Some(Ordering::Less) => Err(Failure::WentBack {
                from: revision.to_owned(),
                to: now,
            }),
            // Whoever may not list, or cannot now, may watch all the same.
            _ => self.watch(Some(revision), seconds).await,
        }
    }

    /// The revision of the server, if it tells.
    async fn revision(&self) -> Option<String> {
        let one = Request::new(&*self.url).list_metadata(&ListParams::default().limit(1));
        let mut body = self.send(one).await.ok()?;
        let text = collect(&mut body, usize::MAX, self.config.answer_limit)
            .await
            .ok()?;
        let (head, _) = wire::page(&text).ok()?;
        head.resource_version
    }

    async fn send(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Body, Failure> {
        let mut request = request.map_err(|error| Failure::Connection(chain(&error)))?;
        // A compressed stream comes in blocks, which holds events back.
        if request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=true"))
        {
            let identity = HeaderValue::from_static("identity");
            request.headers_mut().insert(header::ACCEPT_ENCODING, identity);
        }
        let limit = self.config.answer_limit;
        let response = timeout(limit, self.client.send(request.map(Body::from)))
            .await
            .map_err(|_elapsed| Failure::NoAnswer(limit))?
            .map_err(|error| Failure::Connection(chain(&error)))?;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        Err(refusal(response, limit).await)
    }
}

/// Reads why a request was refused. Proxies answer with anything but a `Status`.
async fn refusal(response: Response<Body>, limit: Duration) -> Failure {
    let code = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    let text = collect(&mut response.into_body(), LONGEST_STATUS, limit)
        .await
        .unwrap_or_default();
    let status = serde_json::from_slice::<Status>(&text).unwrap_or_else(|_| {
        let text: String = String::from_utf8_lossy(&text).trim().chars().take(200).collect();
        Status::failure(&text, "Unknown")
    });
    Failure::Refused {
        status: Box::new(status.with_code(code)),
        retry_after,
    }
}

async fn collect(body: &mut Body, longest: usize, limit: Duration) -> Result<Bytes, Failure> {
    let mut text = BytesMut::new();
    while let Some(piece) = piece(body, limit).await.map_err(|_| Failure::NoAnswer(limit))?? {
        text.extend_from_slice(&piece);
        if text.len() >= longest {
            break;
        }
    }
    Ok(text.freeze())
}

struct Elapsed;

async fn piece(body: &mut Body, limit: Duration) -> Result<Result<Option<Bytes>, Failure>, Elapsed> {
    loop {
        match timeout(limit, body.frame()).await {
            Err(_elapsed) => return Err(Elapsed),
            Ok(None) => return Ok(Ok(None)),
            Ok(Some(Err(error))) => return Ok(Err(Failure::Connection(chain(&error)))),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Ok(Some(data)));
                }
            }
        }
    }
}

/// What the next read of a watch gives.
pub(crate) enum Read {
    Line(Bytes),
    End,
    Silent,
    Broken(Failure),
}

/// The lines of an open watch.
pub(crate) struct Lines {
    body: Body,
    /// What came and was not read; begins a line.
    chunk: Bytes,
    /// The beginning of a line whose end has not come.
    partial: BytesMut,
}

impl Lines {
    fn new(body: Body) -> Self {
        Self {
            body,
            chunk: Bytes::new(),
            partial: BytesMut::new(),
        }
    }

    /// The next line that is not empty; `Silent` when nothing comes for as long as `limit`.
    pub(crate) async fn next(&mut self, limit: Duration) -> Read {
        loop {
            if let Some(line) = self.take_line() {
                if line.is_empty() {
                    continue;
                }
                return Read::Line(line);
            }
            match piece(&mut self.body, limit).await {
                Err(Elapsed) => return Read::Silent,
                Ok(Ok(Some(piece))) => self.chunk = piece,
                Ok(Ok(None)) if self.partial.is_empty() => return Read::End,
                Ok(Ok(None)) => {
                    return Read::Broken(Failure::Connection(
                        "it ended in the middle of an event".to_owned(),
                    ));
                }
                Ok(Err(failure)) => return Read::Broken(failure),
            }
            if self.partial.len() > LONGEST_LINE {
                return Read::Broken(Failure::Malformed(format!(
                    "an event of more than {LONGEST_LINE} bytes"
                )));
            }
        }
    }

    fn take_line(&mut self) -> Option<Bytes> {
        let Some(end) = self.chunk.iter().position(|&byte| byte == b'\n') else {
            self.partial.extend_from_slice(&self.chunk);
            self.chunk.clear();
            return None;
        };
        let line = self.chunk.split_to(end);
        self.chunk.advance(1);
        if self.partial.is_empty() {
            return Some(line);
        }
        self.partial.extend_from_slice(&line);
        Some(self.partial.split().freeze())
    }
}
