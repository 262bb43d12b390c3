//! As much of an API server as a list and a watch need.
//!
//! Lists are read from files that another process has written, so that the memory of a measured process is that of the
//! side it runs.

use std::{
    convert::Infallible,
    path::Path,
    process::Command,
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
/// How many lines of a watch come at once.
const FRAME: usize = 50;
/// The revision of every list.
const REVISION: usize = 1_000_000;

pub(crate) type Answer = UnsyncBoxBody<Bytes, Infallible>;

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

/// What objects to serve.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    Small,
    Large,
}

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }
}

/// The kinds that can be served: plural and kind.
pub(crate) const KINDS: [(&str, &str); 3] = [
    ("configmaps", "ConfigMap"),
    ("secrets", "Secret"),
    ("serviceaccounts", "ServiceAccount"),
];

/// The same content as an object of this kind.
fn of_kind(kind: &str, mut object: ConfigMap) -> serde_json::Value {
    match kind {
        "ConfigMap" => {}
        "Secret" => {
            // As many characters, and such as are base64.
            for text in object.data.iter_mut().flat_map(|data| data.values_mut()) {
                *text = "eHh4".repeat(text.len() / 4);
            }
        }
        "ServiceAccount" => object.metadata.annotations = object.data.take(),
        other => panic!("no kind {other}"),
    }
    let mut value = serde_json::to_value(&object).expect("an object");
    // An object that says to be of another kind cannot be decoded.
    value["kind"] = kind.into();
    value
}

/// Writes the pages of a list into a folder: what `benches pages PLURAL SHAPE COUNT FOLDER` does.
pub(crate) fn write_pages(plural: &str, shape: &str, count: usize, folder: &Path) {
    let (_, kind) = KINDS.iter().find(|(known, _)| *known == plural).expect("a kind");
    let object = match shape {
        "small" => small,
        "large" => large,
        other => panic!("no shape {other}"),
    };
    let numbers: Vec<_> = (0..count).collect();
    // An empty list is a page, too.
    let pages = numbers.chunks(PAGE).len().max(1);
    for page in 0..pages {
        let numbers = numbers.iter().skip(page * PAGE).take(PAGE);
        let items: Vec<_> = numbers.map(|number| of_kind(kind, object(*number))).collect();
        let more = page + 1 < pages;
        let next = if more {
            (page + 1).to_string()
        } else {
            String::new()
        };
        let page_text = serde_json::json!({
            "kind": format!("{kind}List"),
            "apiVersion": "v1",
            "metadata": {"resourceVersion": REVISION.to_string(), "continue": next},
            "items": items,
        });
        let text = serde_json::to_vec(&page_text).expect("a page");
        std::fs::write(folder.join(page.to_string()), text).expect("it can be written");
    }
}

/// Serves one kind by pages, and a watch.
#[derive(Clone)]
pub(crate) struct Server(Arc<State>);

struct State {
    pages: tempfile::TempDir,
    complete_lists: AtomicUsize,
    watches: AtomicUsize,
    /// Ends every watch with 410 when it changes.
    expired: watch::Sender<()>,
    /// Up to which number objects were made, and from which on they live.
    lives: watch::Sender<(usize, usize)>,
}

impl Server {
    /// Of ConfigMaps.
    pub(crate) fn new(shape: Shape, count: usize) -> Self {
        Self::of("configmaps", shape, count)
    }

    /// Of the kind of this plural.
    pub(crate) fn of(plural: &str, shape: Shape, count: usize) -> Self {
        let pages = tempfile::tempdir().expect("a folder");
        let written = Command::new(std::env::current_exe().expect("this program"))
            .args(["pages", plural, shape.name(), &count.to_string()])
            .arg(pages.path())
            .status();
        assert!(written.expect("it starts").success(), "the pages are written");
        Self(Arc::new(State {
            pages,
            complete_lists: AtomicUsize::new(0),
            watches: AtomicUsize::new(0),
            expired: watch::Sender::new(()),
            lives: watch::Sender::new((0, 0)),
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

    /// How many watches were opened.
    pub(crate) fn watches(&self) -> usize {
        self.0.watches.load(Ordering::Relaxed)
    }

    /// Ends every watch with 410, once.
    pub(crate) fn expire(&self) {
        self.0.expired.send_replace(());
    }

    /// Tells of objects up to a number, and lets each live until so many came after it.
    pub(crate) fn churn(&self, made: usize, live: usize) {
        self.0.lives.send_replace((made, live));
    }

    pub(crate) fn answer(&self, query: &str) -> Response<Answer> {
        let parameter = |name: &str| {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        if parameter("sendInitialEvents").is_some() {
            let refused =
                r#"{"kind":"Status","status":"Failure","message":"no","reason":"Invalid","code":422}"#;
            return answer(422, full(Bytes::from_static(refused.as_bytes())));
        }
        if parameter("watch").is_some() {
            self.0.watches.fetch_add(1, Ordering::Relaxed);
            return answer(200, self.watch());
        }
        let token = parameter("continue").filter(|token| !token.is_empty());
        let page = token.unwrap_or("0");
        let text = std::fs::read(self.0.pages.path().join(page)).expect("the page was written");
        let next = page.parse::<usize>().expect("a number") + 1;
        if !self.0.pages.path().join(next.to_string()).exists() {
            self.0.complete_lists.fetch_add(1, Ordering::Relaxed);
        }
        answer(200, full(text.into()))
    }

    /// Lines of objects that come and go, until the history expires.
    fn watch(&self) -> Answer {
        let (expired, lives) = (self.0.expired.subscribe(), self.0.lives.subscribe());
        let lines = stream::unfold((expired, lives, 0), |(mut expired, mut lives, made)| async move {
            let wanted = async {
                let wanted = lives.wait_for(|(until, _)| *until > made).await;
                wanted.map(|wanted| *wanted)
            };
            let (text, made) = tokio::select! {
                Ok(()) = expired.changed() => (GONE.to_owned(), made),
                Ok((until, live)) = wanted => {
                    let until = until.min(made + FRAME);
                    ((made..until).map(|number| step(number, live)).collect(), until)
                }
                else => std::future::pending().await,
            };
            let frame = Ok::<_, Infallible>(Frame::data(Bytes::from(text)));
            Some((frame, (expired, lives, made)))
        });
        BodyExt::boxed_unsync(StreamBody::new(lines))
    }
}

const GONE: &str = concat!(
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","#,
    r#""message":"too old resource version","reason":"Expired","code":410}}"#,
    "\n"
);

/// An object comes, and the one so many before it goes.
fn step(number: usize, live: usize) -> String {
    let line = |kind: &str, number: usize, revision: usize| {
        let mut object = serde_json::to_value(small(number)).expect("an object");
        object["metadata"]["resourceVersion"] = revision.to_string().into();
        format!("{}\n", serde_json::json!({"type": kind, "object": object}))
    };
    let revision = REVISION + 1 + 2 * number;
    let mut text = line("ADDED", number, revision);
    if let Some(gone) = number.checked_sub(live) {
        text += &line("DELETED", gone, revision + 1);
    }
    text
}

pub(crate) fn full(bytes: Bytes) -> Answer {
    Full::new(bytes).boxed_unsync()
}

pub(crate) fn answer(status: u16, body: Answer) -> Response<Answer> {
    let response = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    response.body(body).expect("a response")
}
