//! What is compared does the same: each of the plain ones brings the example's manifests to where the example brings them.

#![allow(missing_docs, reason = "a test binary has no readers of its API")]
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use controller_apiserver::{
    InstallError, Server,
    tls::{Credential, Kubeconfig},
};
use futures::future::join_all;
use serde_json::Value;
use tokio::{net::TcpListener, process::Command};

/// How long one of them may take.
const LIMIT: Duration = Duration::from_secs(60);

/// An operator, and what its manifests come to: lines `path#pointer = value`, where `null` is nothing.
struct Plain {
    name: &'static str,
    binary: &'static str,
    wanted: &'static str,
    /// What is deleted then, and what there is after that.
    deleted: Option<&'static str>,
    left: &'static str,
}

const ALL: [Plain; 7] = [
    Plain {
        name: "document",
        binary: env!("CARGO_BIN_EXE_plain-document"),
        // `early` waits for a Secret that comes last.
        wanted: "
            /api/v1/namespaces/default/configmaps/imprint#/metadata/ownerReferences/0/kind = Document
            /api/v1/namespaces/handbook/configmaps/on-call#/metadata/name = on-call
            /api/v1/namespaces/default/configmaps/early#/metadata/name = early
            /api/v1/namespaces/default/configmaps/untitled = null",
        deleted: Some("/apis/example.com/v1/namespaces/default/documents/imprint"),
        left: "/api/v1/namespaces/default/configmaps/imprint = null",
    },
    Plain {
        name: "website",
        binary: env!("CARGO_BIN_EXE_plain-website"),
        wanted: "
            /apis/example.com/v1/namespaces/default/websites/shop#/status/ready = 3/3
            /apis/example.com/v1/namespaces/default/websites/shop#/status/conditions/0/type = Available
            /apis/example.com/v1/namespaces/default/websites/shop#/status/conditions/0/status = True
            /apis/example.com/v1/namespaces/default/websites/shop#/status/conditions/1/reason = Reconciled
            /apis/networking.k8s.io/v1/namespaces/default/ingresses/shop#/spec/rules/0/host = shop.example.com
            /apis/networking.k8s.io/v1/namespaces/default/ingresses/handbook = null
            /api/v1/namespaces/default/services/handbook#/spec/ports/0/port = 80
            /api/v1/namespaces/default/configmaps/handbook#/metadata/ownerReferences/0/kind = Website",
        deleted: Some("/apis/example.com/v1/namespaces/default/websites/shop"),
        left: "/apis/networking.k8s.io/v1/namespaces/default/ingresses/shop = null",
    },
    Plain {
        name: "secret-sync",
        binary: env!("CARGO_BIN_EXE_plain-secret-sync"),
        // `forgotten` waits for a Secret that comes last.
        wanted: "
            /api/v1/namespaces/team-a/secrets/registry#/data/password = b25l
            /api/v1/namespaces/team-b/secrets/registry#/data/password = b25l
            /api/v1/namespaces/team-c/secrets/registry = null
            /api/v1/namespaces/team-b/secrets/forgotten#/data/password = cmVtZW1iZXJlZA==
            /apis/example.com/v1/namespaces/platform/secretsyncs/registry#/status/copies = 2
            /apis/example.com/v1/namespaces/platform/secretsyncs/registry#/status/conditions/0/status = True",
        deleted: Some("/apis/example.com/v1/namespaces/platform/secretsyncs/registry"),
        left: "
            /apis/example.com/v1/namespaces/platform/secretsyncs/registry = null
            /api/v1/namespaces/team-a/secrets/registry = null
            /api/v1/namespaces/team-a/secrets/forgotten#/type = Opaque
            /api/v1/namespaces/platform/secrets/registry#/type = Opaque",
    },
    Plain {
        name: "namespace-quota",
        binary: env!("CARGO_BIN_EXE_plain-namespace-quota"),
        wanted: "
            /api/v1/namespaces/team-a/resourcequotas/small#/spec/hard/pods = 10
            /api/v1/namespaces/team-b/resourcequotas/small#/spec/hard/pods = 10
            /api/v1/namespaces/team-c/resourcequotas/large#/spec/hard/pods = 100
            /api/v1/namespaces/free/resourcequotas/small = null
            /apis/example.com/v1/namespacequotas/small#/status/namespaces = 2
            /apis/example.com/v1/namespacequotas/everywhere#/status/conditions/0/reason = NoLabels",
        deleted: Some("/apis/example.com/v1/namespacequotas/small"),
        left: "/api/v1/namespaces/team-a/resourcequotas/small = null",
    },
    Plain {
        name: "label-janitor",
        binary: env!("CARGO_BIN_EXE_plain-label-janitor"),
        wanted: "
            /api/v1/namespaces/default/configmaps/settings#/metadata/labels/example.com~1team = carts
            /api/v1/namespaces/default/configmaps/settings#/metadata/labels/team = null
            /api/v1/namespaces/default/configmaps/settings#/data/color = green
            /api/v1/namespaces/default/configmaps/torn#/metadata/labels/example.com~1team = stock
            /apis/apps/v1/namespaces/default/deployments/web#/metadata/labels/example.com~1team = carts
            /apis/events.k8s.io/v1/namespaces/default/events#/items/0/reason = Contradiction
            /apis/events.k8s.io/v1/namespaces/default/events#/items/0/regarding/name = torn",
        deleted: None,
        left: "",
    },
    Plain {
        name: "database",
        binary: env!("CARGO_BIN_EXE_plain-database"),
        wanted: "
            /api/v1/namespaces/default/secrets/orders-app#/type = Opaque
            /api/v1/namespaces/default/secrets/orders-report#/type = Opaque
            /api/v1/namespaces/default/secrets/stock-app#/metadata/ownerReferences/0/kind = Database
            /apis/example.com/v1/namespaces/default/databases/orders#/status/users = 2
            /apis/example.com/v1/namespaces/default/databases/mistaken#/status/conditions/0/reason = Refused",
        deleted: Some("/apis/example.com/v1/namespaces/default/databases/orders"),
        left: "
            /apis/example.com/v1/namespaces/default/databases/orders = null
            /api/v1/namespaces/default/secrets/orders-app = null",
    },
    Plain {
        name: "gateway-lite",
        binary: env!("CARGO_BIN_EXE_plain-gateway-lite"),
        wanted: "
            /apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes/http-app-1#/status/parents/0/conditions/0/reason = Accepted
            /apis/gateway.networking.k8s.io/v1/namespaces/site-ns/httproutes/home#/status/parents/0/conditions/0/reason = Accepted
            /apis/gateway.networking.k8s.io/v1/namespaces/no-external-access/httproutes/stranger#/status/parents/0/conditions/0/reason = NotAllowedByListeners
            /apis/gateway.networking.k8s.io/v1/namespaces/site-ns/httproutes/elsewhere#/status/parents/0/conditions/0/reason = NoMatchingListenerHostname
            /apis/gateway.networking.k8s.io/v1/namespaces/site-ns/httproutes/lost#/status/parents/0 = null
            /apis/gateway.networking.k8s.io/v1/namespaces/infra-ns/gateways/shared-gateway#/status/listeners/0/attachedRoutes = 3
            /apis/gateway.networking.k8s.io/v1/namespaces/infra-ns/gateways/shared-gateway#/status/conditions/1/type = Programmed",
        deleted: Some("/apis/gateway.networking.k8s.io/v1/namespaces/infra-ns/gateways/shared-gateway"),
        left: "/apis/gateway.networking.k8s.io/v1/namespaces/site-ns/httproutes/home#/status/parents/0 = null",
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn each_does_what_the_example_does() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    for example in fs::read_dir(examples).expect("they are there").flatten() {
        let name = example.file_name();
        let is_there = ALL.iter().any(|plain| name == plain.name);
        assert!(
            is_there || !example.path().is_dir(),
            "no plain {}",
            name.display()
        );
    }
    let wrong = join_all(ALL.iter().map(Plain::wrong)).await;
    let wrong: Vec<_> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The table of `examples/README.md`.
#[test]
fn the_lines_are_as_told() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(here.join("../examples/README.md")).expect("it is there");
    let counted = std::process::Command::new(here.join("count")).output();
    let counted = String::from_utf8(counted.expect("bash is there").stdout).expect("it is UTF-8");
    for line in counted.lines().skip(1) {
        let cells: Vec<_> = line.split_whitespace().collect();
        let row = format!("| `{}` | {} | {} |", cells[0], cells[1], cells[2]);
        assert!(table.contains(&row), "not in the table: {row}");
    }
    assert_eq!(counted.lines().count(), ALL.len() + 1, "{counted}");
}

impl Plain {
    /// What is not as it should be.
    async fn wrong(&self) -> Option<String> {
        let server = Server::builder()
            .wall_clock()
            .workloads(Duration::from_millis(100))
            .build();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let kubeconfig = folder.path().join("kubeconfig");
        serve(&server, &kubeconfig).await;
        if let Some(definition) = self.printed().await {
            install(&server, &definition).await;
        }
        let log = fs::File::create(folder.path().join("log")).expect("a file");
        let _operator = Command::new(self.binary)
            .env("KUBECONFIG", &kubeconfig)
            .env("NO_COLOR", "1")
            .env_remove("JANITOR_KINDS")
            .stdin(Stdio::null())
            .stderr(log.try_clone().expect("a file"))
            .stdout(log)
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        for file in self.manifests() {
            let text = fs::read_to_string(file).expect("manifests are UTF-8");
            install(&server, &text).await;
        }
        let mut wrong = missing(&server, self.wanted).await;
        if let (None, Some(path)) = (&wrong, self.deleted) {
            request(&server, "DELETE", path).await;
            wrong = missing(&server, self.left).await;
        }
        let log = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        wrong.map(|wrong| format!("{}: {wrong}\n{}", self.name, log()))
    }

    /// The files of the example, by name.
    fn manifests(&self) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        let entries = fs::read_dir(folder.join(self.name).join("manifests"));
        let entries = entries.expect("they are there").flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
        files.sort();
        files
    }

    /// Its own definition, unless it works on kinds of others.
    async fn printed(&self) -> Option<String> {
        if matches!(self.name, "label-janitor" | "gateway-lite") {
            return None;
        }
        let output = Command::new(self.binary)
            .arg("crds")
            .output()
            .await
            .expect("it starts");
        assert!(output.status.success(), "{}: {output:?}", self.name);
        Some(String::from_utf8(output.stdout).expect("YAML is UTF-8"))
    }
}

async fn serve(server: &Server, kubeconfig: &Path) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let access = Kubeconfig {
        name: "test".to_owned(),
        server: format!("http://{}", listener.local_addr().expect("it is bound")),
        authority: None,
        credential: Credential::None,
        namespace: "default".to_owned(),
    };
    access.write(kubeconfig).expect("the folder is there");
    let server = server.clone();
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await });
}

/// All objects of a text; again while the server does not serve their kind yet.
async fn install(server: &Server, text: &str) {
    let objects: Vec<Value> = serde_saphyr::from_multiple(text).expect("manifests are YAML");
    for object in objects.iter().filter(|object| object.is_object()) {
        let installed = async {
            while let Err(error) = server.install([object]).await {
                let early = matches!(error, InstallError::NoKind { .. });
                assert!(early, "{error}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let installed = tokio::time::timeout(LIMIT, installed).await;
        installed.expect("its definition comes before it");
    }
}

async fn request(server: &Server, method: &str, path: &str) -> Value {
    let request = http::Request::builder().method(method).uri(path);
    let request = request.body(Vec::new()).expect("it is a request");
    match server.client().request(request).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Value::Null,
        answer => answer.expect("the server answers"),
    }
}

/// What is still not there after the limit.
async fn missing(server: &Server, wanted: &str) -> Option<String> {
    let mut missing = None;
    let look = async {
        for line in wanted.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (place, value) = line.split_once(" = ").expect("a line is `path#pointer = value`");
            let (path, pointer) = place.split_once('#').unwrap_or((place, ""));
            loop {
                let object = request(server, "GET", path).await;
                let found = match object.pointer(pointer).unwrap_or(&Value::Null) {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                if found == value {
                    break;
                }
                missing = Some(format!("not {line}, but {object:#}"));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    };
    let looked = tokio::time::timeout(LIMIT, look).await;
    looked.is_err().then_some(missing).flatten()
}
