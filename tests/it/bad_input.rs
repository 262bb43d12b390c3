//! Bad input: a kind that is not there, an object that no type fits. Each is told in one clear text, and harms nothing else.

use std::{
    io::Write,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use controller_apiserver::{Fault, Verb, When};
use controller_runtime::{
    manager::{Board, Readiness, SourceStatus},
    operator::RunOptions,
    prelude::*,
};
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    CustomResourceExt,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    client::Body,
    core::ApiResource,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinHandle;
use tower::util::MapRequest;

use crate::world::{World, same};

/// What is not to be told, wherever it stands.
const VALUE: u64 = 4_815_162_342;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Document", namespaced)]
struct DocumentSpec {
    title: String,
}

#[controller(name = "document")]
async fn document(_: Arc<Document>) -> Result<Action, Failure> {
    tokio::task::yield_now().await;
    Ok(Action::await_change())
}

/// To it a Document is a related kind.
#[controller(name = "map", watches(Document, map(maps_of)))]
async fn map(_: Arc<ConfigMap>) -> Result<Action, Failure> {
    tokio::task::yield_now().await;
    Ok(Action::await_change())
}

fn maps_of(document: &Document) -> Vec<ObjectRef<ConfigMap>> {
    vec![ObjectRef::new(&document.name_any()).within("default")]
}

/// An operator on a server, and what it tells.
struct Operation {
    world: World,
    board: Board,
    /// How many requests for Documents it made: the journal knows none for a kind that is not there.
    asked: Arc<AtomicUsize>,
    running: JoinHandle<Result<(), controller_runtime::OperatorError>>,
}

impl Operation {
    fn start() -> Self {
        let world = World::new();
        let board = Board::new("documents");
        let asked = Arc::default();
        let operator = Operator::new("documents")
            .controller(document::controller())
            .controller(map::controller());
        let options = RunOptions::new().client(counting(&world, Arc::clone(&asked)));
        let running = tokio::spawn({
            let board = board.clone();
            async move { operator.run_on(&board, options).await }
        });
        Self {
            world,
            board,
            asked,
            running,
        }
    }

    /// Installs the CRD with a schema that lets anything in, as that of an older or a foreign version may.
    async fn install(&self) {
        let mut crd = serde_json::to_value(Document::crd()).unwrap();
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let crd: CustomResourceDefinition = serde_json::from_value(crd).unwrap();
        let crds = Api::all(self.world.client.clone());
        crds.create(&PostParams::default(), &crd).await.unwrap();
    }

    /// Writes a Document with this title, of any type; gives its uid.
    async fn write(&self, name: &str, title: serde_json::Value) -> String {
        let kind = ApiResource::erase::<Document>(&());
        let documents = Api::<DynamicObject>::namespaced_with(self.world.client.clone(), "default", &kind);
        let object = json!({
            "apiVersion": "example.com/v1", "kind": "Document", "metadata": { "name": name }, "spec": { "title": title },
        });
        let params = PatchParams::apply("test").force();
        let written = documents
            .patch(name, &params, &Patch::Apply(object))
            .await
            .unwrap();
        written.uid().unwrap()
    }

    /// The names of the Documents that were reconciled.
    fn reconciled(&self) -> Vec<String> {
        let status = self.board.status();
        let documents = status.controllers.iter().filter(|one| one.name == "document");
        let objects = documents.flat_map(|controller| &controller.objects);
        objects.map(|one| one.object.name.clone()).collect()
    }

    /// How each controller's watch of Documents is.
    fn sources(&self) -> Vec<SourceStatus> {
        let controllers = self.board.status().controllers.into_iter();
        controllers
            .flat_map(|controller| controller.sources)
            .filter(|source| source.source.kind == "Document")
            .collect()
    }

    async fn until_ready(&self) {
        let board = &self.board;
        let ready = || same(board.readiness(), Readiness::Ready);
        self.world.until("it is ready", ready).await;
    }

    async fn until_reconciled(&self, names: &[&str]) {
        let level = || same(self.reconciled(), names.iter().map(ToString::to_string).collect());
        self.world.until("they are reconciled", level).await;
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// A client of the operator that counts its requests for Documents.
fn counting(world: &World, asked: Arc<AtomicUsize>) -> Client {
    let service = MapRequest::new(world.server.service(), move |mut request: http::Request<Body>| {
        if request.uri().path().ends_with("/documents") {
            asked.fetch_add(1, Ordering::Relaxed);
        }
        let agent = http::HeaderValue::from_static("controller");
        request.headers_mut().insert(http::header::USER_AGENT, agent);
        request
    });
    Client::new(service, "default")
}

/// What the operator logs, while it is held.
struct Log {
    text: Arc<Mutex<Vec<u8>>>,
    _default: tracing::subscriber::DefaultGuard,
    /// With one subscriber alone, what another test's thread logs first would be switched off for all threads.
    _second: tracing::Dispatch,
}

struct Pen(Arc<Mutex<Vec<u8>>>);

impl Write for Pen {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn keep() -> Self {
        let text = Arc::<Mutex<Vec<u8>>>::default();
        let pen = Arc::clone(&text);
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || Pen(Arc::clone(&pen)))
            .finish();
        let second = tracing::Dispatch::new(tracing_subscriber::registry());
        Self {
            text,
            _second: second,
            _default: tracing::subscriber::set_default(subscriber),
        }
    }

    /// The lines with all these words.
    fn lines(&self, words: &[&str]) -> Vec<String> {
        let text = String::from_utf8(self.text.lock().unwrap().clone()).unwrap();
        let lines = text
            .lines()
            .filter(|line| words.iter().all(|word| line.contains(word)));
        lines.map(str::to_owned).collect()
    }
}

/// A watch of a kind whose CRD is not there failed with "404 page not found", or ended the process: it names the kind and
/// what to do, asks at a bounded rate, and goes on when the CRD comes.
#[tokio::test(start_paused = true)]
async fn a_missing_crd_is_named_with_what_to_do_and_may_come_late() {
    let log = Log::keep();
    let operation = Operation::start();
    let told = |text: &str, controller: &str| {
        let words = [
            "documents.example.com (Document v1)",
            "does not know this kind",
            "install its CRD",
            "`crds`",
        ];
        let told = |line: &str| line.starts_with(controller) && words.iter().all(|word| line.contains(word));
        text.lines().any(told)
    };
    operation
        .world
        .until("both controllers name the kind and what to do", || {
            let text = operation.board.readiness().to_string();
            let both = told(&text, "- document: Document: ") && told(&text, "- map: Document: ");
            if both && text.starts_with("not ready") {
                Ok(())
            } else {
                Err(text)
            }
        })
        .await;

    let before = operation.asked.load(Ordering::Relaxed);
    operation.world.advance(Duration::from_secs(3600)).await;
    let asked = operation.asked.load(Ordering::Relaxed) - before;
    assert!((60..=360).contains(&asked), "{asked} requests in an hour");
    assert!(!operation.running.is_finished(), "it lives");
    let lines = log.lines(&["a source fails", "documents.example.com", "install its CRD"]);
    assert!((1..=2).contains(&lines.len()), "once for each verb: {lines:#?}");

    operation.install().await;
    operation.until_ready().await;
    operation.write("a", json!("A")).await;
    operation.until_reconciled(&["a"]).await;
    assert_eq!(
        log.lines(&["a source has recovered", "documents.example.com"])
            .len(),
        1
    );
}

/// One object that no type fits failed a typed list again and again, and hid all others: it is named, the others go on, and
/// it is reconciled once it is mended. In the first list, in a watch, and in a list again.
#[tokio::test(start_paused = true)]
async fn an_object_that_no_type_fits_is_named_and_harms_no_other() {
    for first_list in [true, false] {
        let log = Log::keep();
        let operation = Operation::start();
        let (world, board) = (&operation.world, &operation.board);
        if first_list {
            operation.install().await;
            operation.write("good", json!("a title")).await;
        } else {
            operation.install().await;
            operation.until_ready().await;
            operation.write("good", json!("a title")).await;
            operation.until_reconciled(&["good"]).await;
        }
        let uid = operation.write("bad", json!({ "secret": VALUE })).await;
        let number = operation.write("worse", json!(VALUE)).await;
        let named = |name: &str, uid: &str, what: &str| {
            format!(
                "Document default/{name} (uid {uid}) cannot be decoded: spec.title: invalid type: {what}, expected a string"
            )
        };
        let (bad, worse) = (named("bad", &uid, "map"), named("worse", &number, "integer"));
        let lines = ["document", "map"]
            .map(|controller| [format!("{controller}: {bad}"), format!("{controller}: {worse}")]);
        let degraded = Readiness::Degraded(lines.concat());
        world
            .until("it is named", || same(board.readiness(), degraded.clone()))
            .await;
        operation.until_reconciled(&["good"]).await;
        operation.write("other", json!("another title")).await;
        operation.until_reconciled(&["good", "other"]).await;

        // A list brings them again, which is no news.
        let watch = When::verb(Verb::Watch).resource("documents").agent("controller");
        world.server.faults().inject(watch.times(1), Fault::status(410));
        world.server.close_watches();
        operation.write("good", json!("a new title")).await;
        world.advance(Duration::from_secs(600)).await;
        assert_eq!(board.readiness(), degraded);
        assert_eq!(
            log.lines(&["could not be decoded", "\"bad\"", &uid, "spec.title"])
                .len(),
            1
        );
        assert_eq!(log.lines(&["could not be decoded"]).len(), 2);
        let status = serde_json::to_string(&board.status()).unwrap();
        assert!(
            status.contains(&format!(
                r#"{{"object":{{"kind":"Document","namespace":"default","name":"bad"}},"uid":"{uid}""#
            )),
            "{status}"
        );
        for text in [status, board.readiness().to_string(), log.lines(&[]).concat()] {
            assert!(!text.contains(&VALUE.to_string()), "{text}");
        }

        operation.write("bad", json!("mended")).await;
        operation.until_reconciled(&["bad", "good", "other"]).await;
        operation.write("worse", json!("mended")).await;
        operation
            .until_reconciled(&["bad", "good", "other", "worse"])
            .await;
        operation.until_ready().await;
        assert!(
            operation
                .sources()
                .iter()
                .all(|source| source.undecodable.is_empty())
        );
    }
}

/// The same when the text of the object was garbled on its way only: the next list brings it whole.
#[tokio::test(start_paused = true)]
async fn an_object_that_was_garbled_on_its_way_is_taken_when_it_comes_whole() {
    let operation = Operation::start();
    operation.install().await;
    operation.until_ready().await;
    let watch = When::verb(Verb::Watch).resource("documents").agent("controller");
    let fault = operation
        .world
        .server
        .faults()
        .inject(watch, Fault::Garbage { at: 0 });
    operation.world.server.close_watches();
    operation.world.advance(Duration::from_secs(60)).await;
    operation.write("a", json!("A")).await;
    operation.write("b", json!("B")).await;
    let named = || match operation
        .sources()
        .iter()
        .map(|one| one.undecodable.len())
        .sum::<usize>()
    {
        0 => Err(operation.sources()),
        _ => Ok(()),
    };
    operation.world.until("the garbled one is named", named).await;
    operation.until_reconciled(&["b"]).await;
    operation.world.server.faults().remove(fault);
    operation.write("a", json!("A again")).await;
    operation.until_reconciled(&["a", "b"]).await;
    operation.until_ready().await;
}
