//! Plays a scenario against a server in memory, on virtual time.

use std::time::Duration;

use bytes::Bytes;
use controller_apiserver::{Body, Server};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tower::ServiceExt as _;

use crate::path::{Answers, lookup, substitute, text};
use crate::prepare::Preparation;
use crate::vary::Variation;

/// What a step was answered, ready to be compared.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub code: u16,
    pub content_type: String,
    pub warnings: Vec<String>,
    pub headers: Value,
    pub body: Option<Value>,
    pub text: Option<String>,
    pub events: Option<Vec<Value>>,
    pub ended: Option<&'static str>,
    pub in_time: Option<bool>,
    pub during: Vec<Outcome>,
}

/// An answer as it came.
struct Reply {
    code: u16,
    headers: HeaderMap,
    bytes: Bytes,
    json: Option<Value>,
}

pub struct Player {
    server: Server,
    variation: Variation,
    answers: Answers,
    pub preparation: Preparation,
}

impl Player {
    pub fn new(server: Server, variation: Variation, scenario: &Value, global: &Value) -> Self {
        let key = format!("{}-{}", text(&scenario["topic"]), text(&scenario["name"]));
        let base = format!("g-{key}-run");
        let group = format!("{key}.run.golden.example");
        let reversed: Vec<&str> = group.split('.').rev().collect();
        let mut answers = Answers::new();
        answers.insert("revgroup".into(), reversed.join(".").into());
        answers.insert("ns".into(), base.as_str().into());
        answers.insert("ns2".into(), format!("{base}-2").into());
        answers.insert("ns3".into(), format!("{base}-3").into());
        answers.insert("group".into(), group.into());
        let preparation = Preparation::new(scenario, global, &answers, server.now());
        Self {
            server,
            variation,
            answers,
            preparation,
        }
    }

    /// Makes the namespaces and does the set-up.
    pub async fn begin(&mut self, scenario: &Value) {
        let count = scenario["namespaces"].as_u64().unwrap_or(1);
        for name in ["ns", "ns2", "ns3"].iter().take(usize::try_from(count).unwrap()) {
            let namespace = json!({"method": "POST", "path": "/api/v1/namespaces", "body": {
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.answers[*name]},
            }});
            self.request(&namespace).await;
        }
        for step in scenario["setup"].as_array().into_iter().flatten() {
            let outcome = self.step(step).await;
            if let Some(outcome) = outcome.filter(|_| step.get("wait").is_none()) {
                assert!(outcome.code < 400, "set-up: {outcome:?}");
            }
        }
    }

    /// Does a step; `None` if there is nothing to compare.
    pub async fn step(&mut self, step: &Value) -> Option<Outcome> {
        if let Some(rehearsal) = self.variation.rehearsal(step) {
            whole(self.send(&rehearsal).await).await;
        }
        if step.get("method").is_some() {
            let reply = self.request(step).await;
            return Some(self.outcome(step, reply));
        }
        if step.get("watch").is_some() {
            return Some(Box::pin(self.watch(step)).await);
        }
        if step.get("wait").is_some() {
            return self.wait(step).await;
        }
        tokio::time::sleep(Duration::from_millis(step["sleepMs"].as_u64().unwrap())).await;
        None
    }

    async fn send(&self, step: &Value) -> Response<Body> {
        let mut uri = text(&substitute(&step["path"], &self.answers));
        let query = substitute(&step["query"], &self.answers);
        for (name, value) in query.as_object().into_iter().flatten() {
            let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            for value in values {
                uri.push(if uri.contains('?') { '&' } else { '?' });
                uri.push_str(&format!("{}={}", escape(name), escape(&text(&value))));
            }
        }
        let body = step.get("body").map(|body| substitute(body, &self.answers));
        let encoded = body.as_ref().and_then(|body| self.variation.encode(step, body));
        let (encoded, content_type) = encoded.unzip();
        let body = match (body, step.get("rawBody")) {
            (Some(body), _) => Some(encoded.unwrap_or_else(|| body.to_string())),
            (_, Some(raw)) => Some(text(&substitute(raw, &self.answers))),
            _ => None,
        };
        let mut headers = json!({"User-Agent": "apicases/1", "Accept": "application/json"});
        if body.is_some() {
            headers["Content-Type"] = step
                .get("contentType")
                .cloned()
                .unwrap_or_else(|| content_type.unwrap_or("application/json").into());
        }
        match step["as"].as_str() {
            Some("anonymous") => {}
            Some(user) => headers["Authorization"] = format!("Bearer {user}-token").into(),
            None => headers["Authorization"] = "Bearer admin-token".into(),
        }
        for (name, value) in substitute(&step["headers"], &self.answers)
            .as_object()
            .into_iter()
            .flatten()
        {
            headers[name] = value.clone();
        }
        if let Some(accept) = step.get("accept") {
            headers["Accept"] = accept.clone();
        }
        let mut request = Request::builder()
            .method(step["method"].as_str().unwrap_or("GET"))
            .uri(uri);
        for (name, value) in headers.as_object().unwrap() {
            if !value.is_null() {
                request = request.header(name, text(value));
            }
        }
        let request = request
            .body(Full::new(Bytes::from(body.unwrap_or_default())))
            .unwrap();
        self.server.service().oneshot(request).await.unwrap()
    }

    async fn request(&mut self, step: &Value) -> Reply {
        let reply = whole(self.send(step).await).await;
        if let Some(id) = step["id"].as_str() {
            self.answers
                .insert(id.to_owned(), reply.json.clone().unwrap_or_else(|| json!({})));
            if let Some(names) = step["recordHeaders"].as_array() {
                let headers: serde_json::Map<_, _> = names
                    .iter()
                    .map(|name| {
                        (
                            text(name).to_lowercase(),
                            header(&reply.headers, &text(name)).into(),
                        )
                    })
                    .collect();
                self.answers.insert(format!("{id}-headers"), headers.into());
            }
        }
        reply
    }

    fn outcome(&mut self, step: &Value, reply: Reply) -> Outcome {
        let mut outcome = Outcome {
            code: reply.code,
            content_type: header(&reply.headers, "content-type").unwrap_or_default(),
            warnings: reply
                .headers
                .get_all("warning")
                .iter()
                .map(|value| self.preparation.named(value.to_str().unwrap()))
                .collect(),
            headers: json!({}),
            ..Outcome::default()
        };
        for name in step["recordHeaders"].as_array().into_iter().flatten() {
            let name = text(name).to_lowercase();
            let value = header(&reply.headers, &name).map(|value| match name.as_str() {
                "etag" => "\"<hash>\"".to_owned(),
                _ => self.preparation.named(&value),
            });
            outcome.headers[name] = value.into();
        }
        if step["bodyless"] == true {
            return outcome;
        }
        if let Some(body) = reply.json {
            outcome.body = Some(self.preparation.prepare(body, step, &self.answers));
        } else if !reply.bytes.is_empty() {
            let text = std::str::from_utf8(&reply.bytes).unwrap_or("(not text)");
            outcome.text = Some(self.preparation.named(text));
        }
        outcome
    }

    async fn wait(&mut self, step: &Value) -> Option<Outcome> {
        let mut wait = step["wait"].clone();
        wait["id"] = step["id"].clone();
        let end = Instant::now() + Duration::from_millis(wait["timeoutMs"].as_u64().unwrap_or(20_000));
        loop {
            let reply = self.request(&wait).await;
            if self.holds(&reply, &wait["until"]) {
                if wait["record"] == false {
                    return None;
                }
                for (key, value) in step.as_object().unwrap() {
                    if key != "wait" {
                        wait[key] = value.clone();
                    }
                }
                return Some(self.outcome(&wait, reply));
            }
            assert!(
                Instant::now() < end,
                "waited in vain for {}; last {} {:?}",
                wait["until"],
                reply.code,
                reply.json
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn holds(&self, reply: &Reply, until: &Value) -> bool {
        until.as_array().unwrap().iter().all(|condition| {
            if let Some(code) = condition.get("code") {
                return *code == reply.code;
            }
            let at = text(&substitute(&condition["at"], &self.answers));
            let value = reply.json.as_ref().and_then(|body| lookup(body, &at));
            let exists = condition["exists"]
                .as_bool()
                .is_none_or(|wanted| value.is_some() == wanted);
            let is = condition
                .get("is")
                .is_none_or(|wanted| value == Some(&substitute(wanted, &self.answers)));
            let count = condition["count"].as_u64().is_none_or(|count| {
                value
                    .and_then(Value::as_array)
                    .is_some_and(|list| list.len() as u64 == count)
            });
            exists && is && count
        })
    }

    async fn watch(&mut self, step: &Value) -> Outcome {
        let start = Instant::now();
        let response = self.send(&step["watch"]).await;
        if response.status() != 200 {
            let reply = whole(response).await;
            return self.outcome(step, reply);
        }
        let content_type = header(response.headers(), "content-type").unwrap_or_default();
        let (tell, mut seen) = watch::channel(Seen::default());
        let task = tokio::spawn(follow(response.into_body(), tell));
        let mut during = Vec::new();
        for step in step["during"].as_array().into_iter().flatten() {
            during.extend(self.step(step).await);
        }
        let wanted = usize::try_from(step["events"].as_u64().unwrap_or_default()).unwrap();
        let until_server = step["until"] == "server";
        let patience = step["timeoutMs"]
            .as_u64()
            .unwrap_or(if until_server { 15_000 } else { 6_000 });
        let enough = |seen: &Seen| seen.ended.is_some() || (!until_server && seen.events.len() >= wanted);
        // What did not come in time is missed by the comparison.
        let _ = timeout(Duration::from_millis(patience), seen.wait_for(enough)).await;
        if !until_server {
            let settle = step["settleMs"].as_u64().unwrap_or(250);
            tokio::time::sleep(Duration::from_millis(settle)).await;
        }
        task.abort();
        let seen = seen.borrow().clone();
        let took = (seen.ended.unwrap_or_else(Instant::now) - start).as_secs_f64();
        let mut events = seen.events;
        self.answers.insert(text(&step["id"]), json!({"events": events}));
        if step["unordered"] == true {
            events.sort_by_key(|event| lookup(event, "object.metadata.name").map(text));
        }
        Outcome {
            code: 200,
            content_type,
            during,
            events: Some(
                events
                    .into_iter()
                    .map(|event| self.preparation.prepare(event, step, &self.answers))
                    .collect(),
            ),
            ended: Some(if seen.ended.is_some() { "server" } else { "client" }),
            in_time: step["seconds"]
                .as_array()
                .map(|bounds| (bounds[0].as_f64().unwrap()..=bounds[1].as_f64().unwrap()).contains(&took)),
            headers: json!({}),
            ..Outcome::default()
        }
    }
}

/// What came on a watch.
#[derive(Clone, Debug, Default)]
struct Seen {
    events: Vec<Value>,
    ended: Option<Instant>,
}

async fn follow(mut body: Body, tell: watch::Sender<Seen>) {
    while let Some(Ok(frame)) = body.frame().await {
        let line = frame.into_data().unwrap();
        let event: Value = serde_json::from_slice(&line).unwrap();
        let marks_end = String::from_utf8_lossy(&line).contains("initial-events-end");
        if event["type"] != "BOOKMARK" || marks_end {
            tell.send_modify(|seen| seen.events.push(event));
        }
    }
    tell.send_modify(|seen| seen.ended = Some(Instant::now()));
}

async fn whole(response: Response<Body>) -> Reply {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let content_type = header(&head.headers, "content-type").unwrap_or_default();
    let is_json = content_type
        .split(';')
        .next()
        .is_some_and(|media| media.contains("json"));
    let json = (is_json || bytes.starts_with(b"{"))
        .then(|| serde_json::from_slice(&bytes).ok())
        .flatten();
    Reply {
        code: head.status.as_u16(),
        headers: head.headers,
        bytes,
        json,
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

fn escape(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
