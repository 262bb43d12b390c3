//! Real clients against the server over TCP, by the scripts in `tests/clients`.
//!
//! A client that is not installed is told of on standard error, and its test passes. Looked for in
//! `target/clients/bin`, where `.ci/clients` puts them, and on the PATH.

#![allow(clippy::expect_used, reason = "a test")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use controller_apiserver::Server;
use controller_apiserver::access::{MASTERS, Tokens, User};
use controller_apiserver::tls::{Authority, Credential, Kubeconfig};
use tokio::net::TcpListener;

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// A program in the folder of installed clients, or on the PATH.
fn find(program: &str) -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/clients/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(installed).chain(std::env::split_paths(&path));
    folders
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// A Python that has a package.
fn python_with(package: &str) -> Option<PathBuf> {
    let python = find("python3")?;
    let import = Command::new(&python)
        .args(["-c", &format!("import {package}")])
        .output();
    import.is_ok_and(|done| done.status.success()).then_some(python)
}

fn skip(what: &str) {
    // Not by a macro: the test harness would swallow it.
    let _ = writeln!(std::io::stderr(), "skipped: {what} is not installed");
}

/// A login by certificate or by token: the scripts need an administrator.
fn credential(authority: &Authority, by_token: bool) -> Credential {
    if by_token {
        Credential::Token("admin-token".to_owned())
    } else {
        Credential::Certificate(
            authority
                .client("kubernetes-admin", &[MASTERS])
                .expect("a certificate"),
        )
    }
}

/// Runs a script, given a kubeconfig, against a server of its own.
async fn run(name: &str, by_token: bool, script: impl FnOnce(&Path) -> Command + Send + 'static) {
    let authority = Authority::generate().expect("randomness");
    let tokens = Tokens::default().with("admin-token", User::admin());
    let server = Server::builder()
        .wall_clock()
        .service_accounts(true)
        .tokens(tokens)
        .authority(&authority)
        .build();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let kubeconfig = Kubeconfig {
        name: "test".to_owned(),
        server: format!("https://{}", listener.local_addr().expect("an address")),
        authority: Some(authority.pem()),
        credential: credential(&authority, by_token),
        namespace: "default".to_owned(),
    };
    let file = std::env::temp_dir().join(format!("apiserver-clients-{}-{name}", std::process::id()));
    kubeconfig.write(&file).expect("a kubeconfig");
    let tls = authority.server(&[]).expect("a certificate");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        server.serve_tls(listener, tls, stopped).await
    });
    let mut command = script(&file);
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .expect("it ran")
        .expect("it started");
    let _ = stop.send(());
    serving.await.expect("it served").expect("it listened");
    let _ = std::fs::remove_file(&file);
    assert!(
        output.status.success(),
        "{name}:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

async fn kubectl(program: &str, by_token: bool) {
    let (Some(kubectl), Some(python)) = (find(program), find("python3")) else {
        return skip(program);
    };
    let script = move |kubeconfig: &Path| {
        let mut command = Command::new(python);
        command.arg(scripts().join("kubectl.py"));
        command
            .arg("--kubectl")
            .arg(kubectl)
            .arg("--kubeconfig")
            .arg(kubeconfig);
        command
    };
    run(program, by_token, script).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_goes_through_its_verbs() {
    kubectl("kubectl", false).await;
}

/// The kubectl of Debian 12 asks for OpenAPI v2 as protobuf, and knows no server-side validation.
#[tokio::test(flavor = "multi_thread")]
async fn kubectl_1_20_goes_through_its_verbs() {
    kubectl("kubectl-1.20", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_creates_watches_and_patches() {
    let Some(python) = python_with("kubernetes") else {
        return skip("the Python package kubernetes");
    };
    let script = move |kubeconfig: &Path| {
        let mut command = Command::new(python);
        command.arg(scripts().join("python_client.py")).arg(kubeconfig);
        command
    };
    run("python", true, script).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kopf_operator_reconciles() {
    let Some(python) = python_with("kopf, kubernetes") else {
        return skip("the Python package kopf");
    };
    let script = move |kubeconfig: &Path| {
        let mut command = Command::new(python);
        command.arg(scripts().join("kopf_operator.py")).arg(kubeconfig);
        command
    };
    run("kopf", true, script).await;
}
