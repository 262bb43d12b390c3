//! A server that is told what to answer, for what no real one says.

use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, channel::mpsc};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, client::Body};
use serde_json::json;

use crate::{
    store::DeltaCause,
    watch::{Config, Informer, StreamingLists},
};

/// One answer of the server: a status, and the pieces of the body as they are sent.
pub(crate) struct Answer {
    code: u16,
    pieces: mpsc::UnboundedReceiver<Bytes>,
}

pub(crate) type Sender = mpsc::UnboundedSender<Bytes>;

/// A server that gives its answers in turn, and writes down what was asked. Without an answer left it hangs.
#[derive(Clone, Default)]
pub(crate) struct Scripted {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    pub(crate) fn client(&self) -> Client {
        let this = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let this = this.clone();
            async move {
                this.asked.lock().unwrap().push(request.uri().to_string());
                let answer = this.answers.lock().unwrap().pop_front();
                let Some(answer) = answer else {
                    return std::future::pending().await;
                };
                let body =
                    StreamBody::new(answer.pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece))));
                Ok::<_, Infallible>(Response::builder().status(answer.code).body(body).unwrap())
            }
        });
        Client::new(service, "default")
    }

    /// The next answer stays open: more is sent through the sender, and dropping it ends the body.
    pub(crate) fn opens(&self) -> Sender {
        let (sender, pieces) = mpsc::unbounded();
        self.answers
            .lock()
            .unwrap()
            .push_back(Answer { code: 200, pieces });
        sender
    }

    pub(crate) fn answers(&self, code: u16, body: &serde_json::Value) {
        let (sender, pieces) = mpsc::unbounded();
        sender.unbounded_send(body.to_string().into()).unwrap();
        self.answers.lock().unwrap().push_back(Answer { code, pieces });
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

pub(crate) fn config_map(name: &str, revision: u64) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default", "uid": name, "resourceVersion": revision.to_string() },
    })
}

pub(crate) fn send(sender: &Sender, kind: &str, object: &serde_json::Value) {
    let line = format!("{}\n", json!({ "type": kind, "object": object }));
    sender.unbounded_send(line.into()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_list_by_pages_and_a_watch_fill_the_store() {
    let server = Scripted::default();
    let page = |token: &str, names: &[&str]| {
        json!({
            "metadata": { "resourceVersion": "10", "continue": token },
            "items": names.iter().map(|name| config_map(name, 5)).collect::<Vec<_>>(),
        })
    };
    server.answers(200, &page("more", &["a", "b"]));
    server.answers(200, &page("", &["c"]));
    let events = server.opens();
    let api: Api<ConfigMap> = Api::all(server.client());
    let informer = Informer::new(api, Config::default().streaming_lists(StreamingLists::Off));
    let causes = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&causes);
    informer
        .subscribe(move |delta| heard.lock().unwrap().push((delta.key.name.clone(), delta.cause)))
        .detach();
    let driver = tokio::spawn(informer.run());
    informer.store().wait_until_ready().await.unwrap();
    assert_eq!(informer.store().len(), 3);
    send(&events, "ADDED", &config_map("d", 11));
    send(&events, "DELETED", &config_map("a", 12));
    tokio::time::sleep(Duration::from_millis(1)).await;
    let store = informer.store();
    assert!(store.get(("default", "a")).is_none());
    assert!(store.within("default").get("d").is_some());
    assert_eq!(
        *causes.lock().unwrap(),
        [
            ("a".to_owned(), DeltaCause::Initial),
            ("b".to_owned(), DeltaCause::Initial),
            ("c".to_owned(), DeltaCause::Initial),
            ("d".to_owned(), DeltaCause::Watch),
            ("a".to_owned(), DeltaCause::Watch),
        ]
    );
    assert_eq!(server.asked().len(), 3, "{:?}", server.asked());
    driver.abort();
}
