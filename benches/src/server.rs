//! As much of an API server as a list and a watch need, in memory.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use k8s_openapi::{
    api::core::v1::ConfigMap,
    apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry},
};
use kube::{Client, client::Body};
use tokio::sync::watch;

const PAGE: usize = 500;

type Answer = UnsyncBoxBody<Bytes, Infallible>;

pub(crate) fn name(number: usize) -> String {
    format!("object-{number:07}")
}

/// An object of some hundred bytes.
pub(crate) fn small(number: usize) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name(number));
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.uid = Some(format!("00000000-0000-0000-0000-{number:012}"));
    object.metadata.resource_version = Some(number.to_string());
    object.metadata.labels = Some([("app".to_owned(), "bench".to_owned())].into());
    object.data = Some([("key".to_owned(), "value".repeat(10))].into());
    object
}

/// An object of 5 KiB, more than half of it managedFields.
pub(crate) fn large(number: usize) -> ConfigMap {
    let mut object = small(number);
    let fields: serde_json::Map<_, _> = (0..70)
        .map(|field| {
            (
                format!("f:field-{field:03}"),
                serde_json::json!({"f:name": {}, "f:value": {}}),
            )
        })
        .collect();
    object.metadata.managed_fields = Some(vec![ManagedFieldsEntry {
        manager: Some("kubectl".to_owned()),
        operation: Some("Update".to_owned()),
        api_version: Some("v1".to_owned()),
        fields_type: Some("FieldsV1".to_owned()),
        fields_v1: Some(FieldsV1(serde_json::json!({ "f:data": fields }))),
        ..ManagedFieldsEntry::default()
    }]);
    object.data = Some(
        (0..20)
            .map(|line| (format!("line-{line:02}"), "x".repeat(80)))
            .collect(),
    );
    object
}

/// Serves one kind by pages, and a watch that brings nothing until its history expires.
#[derive(Clone)]
pub(crate) struct Server(Arc<State>);

struct State {
    pages: Vec<Bytes>,
    complete_lists: AtomicUsize,
    expired: watch::Sender<bool>,
}

impl Server {
    pub(crate) fn new(objects: impl Iterator<Item = ConfigMap>) -> Self {
        let objects: Vec<_> = objects.collect();
        let count = objects.chunks(PAGE).len();
        let pages = objects.chunks(PAGE).enumerate().map(|(number, items)| {
            let next = if number + 1 < count {
                (number + 1).to_string()
            } else {
                String::new()
            };
            let page = serde_json::json!({
                "kind": "ConfigMapList",
                "apiVersion": "v1",
                "metadata": {"resourceVersion": "1000000", "continue": next},
                "items": items,
            });
            Bytes::from(serde_json::to_vec(&page).expect("a page"))
        });
        Self(Arc::new(State {
            pages: pages.collect(),
            complete_lists: AtomicUsize::new(0),
            expired: watch::Sender::new(false),
        }))
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let response = server.answer(request.uri().query().unwrap_or_default());
            std::future::ready(Ok::<_, Infallible>(response))
        });
        Client::new(service, "default")
    }

    /// How often a whole list was read.
    pub(crate) fn complete_lists(&self) -> usize {
        self.0.complete_lists.load(Ordering::Relaxed)
    }

    /// Ends every watch with 410, once.
    pub(crate) fn expire(&self) {
        self.0.expired.send_replace(true);
        self.0.expired.send_replace(false);
    }

    fn answer(&self, query: &str) -> Response<Answer> {
        let parameter = |name: &str| {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        if parameter("sendInitialEvents").is_some() {
            let refused =
                r#"{"kind":"Status","status":"Failure","message":"no","reason":"Invalid","code":422}"#;
            return json(422, full(Bytes::from_static(refused.as_bytes())));
        }
        if parameter("watch").is_some() {
            return json(200, self.watch());
        }
        let page = parameter("continue")
            .and_then(|token| token.parse().ok())
            .unwrap_or(0_usize);
        if page + 1 == self.0.pages.len() {
            self.0.complete_lists.fetch_add(1, Ordering::Relaxed);
        }
        json(200, full(self.0.pages[page].clone()))
    }

    fn watch(&self) -> Answer {
        let mut expired = self.0.expired.subscribe();
        let event = stream::once(async move {
            if expired.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            let gone = concat!(
                r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","#,
                r#""message":"too old resource version","reason":"Expired","code":410}}"#,
                "\n"
            );
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(gone.as_bytes())))
        });
        BodyExt::boxed_unsync(StreamBody::new(event))
    }
}

fn full(bytes: Bytes) -> Answer {
    Full::new(bytes).boxed_unsync()
}

fn json(status: u16, body: Answer) -> Response<Answer> {
    let response = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    response.body(body).expect("a response")
}
