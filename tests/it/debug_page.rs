//! The page `/debug` and the answers of `/debug/why`, over a real socket, and in a real browser where there is one.

use std::{io::Write as _, net::SocketAddr, process::Stdio, time::Duration};

use controller_apiserver::Server;
use controller_runtime::{
    declare::{BoxError, Declaration, Namespaces, Watched},
    manager::{Board, StatusServer},
    metrics::Metrics,
    prelude::*,
};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::Command,
};

/// What a reconciler says may hold anything; the page shows it as text.
const ERROR: &str = "<img src=x onerror=\"document.title='broken in'\"> & more";

/// A controller whose object `a` failed after its data was changed, and its endpoint.
async fn served() -> Result<(SocketAddr, Vec<tokio::task::JoinHandle<()>>), BoxError> {
    let server = Server::new();
    let maps = Api::<ConfigMap>::default_namespaced(server.client());
    let map: ConfigMap =
        serde_json::from_value(json!({ "metadata": { "name": "a" }, "data": { "word": "hunter2" } }))?;
    maps.create(&PostParams::default(), &map).await?;
    let board = Board::new("pages");
    board.expect(
        &Declaration::new("maps", Watched::new::<ConfigMap>(&())),
        &Namespaces::All,
    );
    let controller = Controller::new(maps.clone(), Default::default())
        .named("maps")
        .observe(Arc::new(board.clone()));
    let reconcile = |_: Arc<ConfigMap>, _: Arc<()>| async { Err::<Action, _>(std::io::Error::other(ERROR)) };
    let running = controller.run(
        reconcile,
        |_, _, _| Action::requeue(Duration::from_secs(3600)),
        Arc::new(()),
    );
    let running = tokio::spawn(running.for_each(|_| async {}));
    let endpoint = StatusServer::bind(([127, 0, 0, 1], 0).into(), board, Metrics::new("pages", "1")).await?;
    let address = endpoint.address()?;
    let serving = tokio::spawn(endpoint.serve());
    // Each wait is for what the page will show.
    until(address, |why| why["last_run"]["result"] == "error").await;
    let labels = json!({ "metadata": { "labels": { "tier": "1" } } });
    maps.patch("a", &PatchParams::default(), &Patch::Merge(labels))
        .await?;
    until(address, |why| why["changes"][0]["fields"][0] == "metadata.labels").await;
    Ok((address, vec![running, serving]))
}

async fn until(address: SocketAddr, holds: impl Fn(&Value) -> bool) {
    let mut last = String::new();
    for _ in 0..1000 {
        last = get(address, "/debug/why?controller=maps&object=default%2Fa").await;
        let body = last.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        if serde_json::from_str(body).is_ok_and(|why| holds(&why)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never; last: {last}");
}

async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n",
        address.port()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn answers_are_json_and_mistakes_are_texts() {
    let (address, tasks) = served().await.unwrap();
    let answer = get(address, "/debug/why?controller=maps&object=default/a").await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("application/json"),
        "{answer}"
    );
    assert!(!answer.contains("hunter2"), "{answer}");
    let answer = get(address, "/debug/why?controller=map&object=default/a").await;
    assert!(
        answer.starts_with("HTTP/1.1 404") && answer.contains("did you mean \"maps\"?"),
        "{answer}"
    );
    let answer = get(address, "/debug/why").await;
    assert!(
        answer.starts_with("HTTP/1.1 400") && answer.contains("controller=NAME"),
        "{answer}"
    );
    let answer = get(address, "/debug").await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("text/html"),
        "{answer}"
    );
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_browser_shows_the_answer_and_takes_no_markup_from_it() {
    let Some(browser) = browser() else {
        // Not by the macro: its output is kept back while a test passes.
        let _ = writeln!(std::io::stderr(), "skipped: chromium is not installed");
        return;
    };
    let (address, tasks) = served().await.unwrap();
    let dom = open(
        browser,
        &format!("http://{address}/debug?controller=maps&object=default/a"),
    )
    .await;
    for shown in [
        "<title>pages: why did it run?</title>",
        "<option>maps</option>",
        "<h2>ConfigMap default/a</h2>",
        "<code>metadata.labels</code>",
        "Runs in 60 min: asked to run again",
        "&lt;img src=x onerror=\"document.title='broken in'\"&gt; &amp; more",
    ] {
        assert!(dom.contains(shown), "{shown} is not in {dom}");
    }
    assert!(!dom.contains("<img"), "{dom}");
    let dom = open(
        browser,
        &format!("http://{address}/debug?controller=maps&object=default/b"),
    )
    .await;
    assert!(dom.contains("maps has never seen \"default/b\""), "{dom}");
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
}

fn browser() -> Option<&'static str> {
    let path = std::env::var_os("PATH")?;
    let known = ["chromium", "chromium-browser", "google-chrome"];
    known
        .into_iter()
        .find(|name| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}

/// The document as it is when its scripts have run.
async fn open(browser: &str, url: &str) -> String {
    let home = std::env::temp_dir().join(format!("debug-page-{}", std::process::id()));
    let run = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--virtual-time-budget=10000",
        ])
        .arg(format!("--user-data-dir={}", home.display()))
        .args(["--dump-dom", url])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(120), run)
        .await
        .unwrap()
        .unwrap();
    let _ = std::fs::remove_dir_all(home);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
