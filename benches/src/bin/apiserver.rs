//! What the API server in this process takes: to start, to create, to watch, to list, to remember.
//!
//! `cargo run --release -p benches --bin apiserver [NAME…]` runs every measurement in seven rounds, each in a process of
//! its own on one thread, and prints medians and spread. Figures are of processor time, which a busy machine does not
//! change, but for the start. Requests go through the tower service, as those of an in-memory
//! `kube::Client` do: HTTP requests and answers, no socket.

#![expect(clippy::expect_used, reason = "a benchmark that cannot run stops")]

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use controller_apiserver::{Body, Server};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use tower::ServiceExt as _;

/// How often each measurement runs.
const ROUNDS: usize = 7;

/// Name and size of each measurement.
const MEASUREMENTS: &[(&str, usize)] = &[
    ("start", 1),
    ("create", 20_000),
    ("remember", 100_000),
    ("list", 10_000),
    ("watch, from the past", 50_000),
    ("watch, live, 1 watcher", 20_000),
    ("watch, live, 100 watchers", 2_000),
];

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [child, name, size] = arguments.as_slice()
        && child == "child"
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let readings = runtime.block_on(one(name, size.parse().expect("a number")));
        for (metric, value) in readings {
            println!("{metric}={value}");
        }
        return;
    }
    for (name, size) in MEASUREMENTS {
        if arguments.is_empty() || arguments.iter().any(|wanted| name.contains(wanted.as_str())) {
            rounds(name, *size);
        }
    }
}

/// Runs a measurement in rounds, and prints a row for each metric.
fn rounds(name: &str, size: usize) {
    let mut figures: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let output = Command::new(std::env::current_exe().expect("this program"))
            .args(["child", name, &size.to_string()])
            .output()
            .expect("it starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let (metric, value) = line.split_once('=').expect("metric=value");
            let value = value.parse().expect("a number");
            figures.entry(metric.to_owned()).or_default().push(value);
        }
    }
    for (metric, mut values) in figures {
        values.sort_by(f64::total_cmp);
        let short = |value: f64| match value {
            1_000.0.. => format!("{value:.0}"),
            _ => format!("{value:.1}"),
        };
        let (least, most) = (values[0], values[values.len() - 1]);
        println!(
            "| {name} | {size} | {metric} | {} ({}–{}) |",
            short(values[values.len() / 2]),
            short(least),
            short(most)
        );
    }
}

type Readings = Vec<(&'static str, f64)>;

async fn one(name: &str, size: usize) -> Readings {
    match name {
        "start" => start().await,
        "create" => create(size).await,
        "remember" => remember(size).await,
        "list" => list(size).await,
        "watch, from the past" => watch_past(size).await,
        "watch, live, 1 watcher" => watch_live(size, 1).await,
        "watch, live, 100 watchers" => watch_live(size, 100).await,
        _ => panic!("no measurement {name}"),
    }
}

async fn send(server: &Server, method: &str, path: &str, body: String) -> Response<Body> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .expect("a request");
    let answer = server.service().oneshot(request).await.expect("an answer");
    assert!(answer.status().is_success(), "{}", answer.status());
    answer
}

async fn ask(server: &Server, method: &str, path: &str, body: String) -> Bytes {
    let answer = send(server, method, path, body).await;
    answer.into_body().collect().await.expect("a body").to_bytes()
}

/// A ConfigMap of 1 KiB.
fn config_map(number: usize) -> String {
    let text = "x".repeat(1024);
    format!("{{\"metadata\":{{\"name\":\"m-{number:06}\"}},\"data\":{{\"k\":\"{text}\"}}}}")
}

async fn fill(server: &Server, count: usize) {
    for number in 0..count {
        ask(server, "POST", MAPS, config_map(number)).await;
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

/// The processor time of this process, which has one thread.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("procfs");
    let nanoseconds = text.split(' ').next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

/// Since when something is measured.
struct Watch(Duration);

impl Watch {
    fn start() -> Self {
        Self(processor_time())
    }

    fn elapsed(&self) -> Duration {
        processor_time().saturating_sub(self.0)
    }
}

fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

/// From nothing to the first answer, in a new process: by the clock, since this is shorter than processor time is counted.
async fn start() -> Readings {
    let start = tokio::time::Instant::now();
    let server = Server::new();
    let built = start.elapsed();
    ask(&server, "GET", "/api/v1/namespaces", String::new()).await;
    vec![
        ("ms to a server", milliseconds(built)),
        ("ms to the first answer", milliseconds(start.elapsed())),
    ]
}

async fn create(count: usize) -> Readings {
    let server = Server::new();
    fill(&server, 100).await;
    let start = Watch::start();
    for number in 100..100 + count {
        ask(&server, "POST", MAPS, config_map(number)).await;
    }
    vec![("creates/s", per_second(count, start.elapsed()))]
}

/// What the process grows by for each ConfigMap, besides its 1 KiB of data.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
async fn remember(count: usize) -> Readings {
    let server = Server::new();
    fill(&server, 1_000).await;
    let before = resident_memory();
    for number in 1_000..1_000 + count {
        ask(&server, "POST", MAPS, config_map(number)).await;
    }
    let grown = resident_memory() - before;
    vec![
        ("bytes over 1 KiB each", grown as f64 / count as f64 - 1024.0),
        ("MiB", grown as f64 / 1_048_576.0),
    ]
}

async fn list(count: usize) -> Readings {
    let server = Server::new();
    fill(&server, count).await;
    let start = Watch::start();
    let bytes = ask(&server, "GET", MAPS, String::new()).await;
    let took = start.elapsed();
    assert!(bytes.len() > count * 1024);
    vec![("ms", milliseconds(took))]
}

async fn watch(server: &Server, query: &str) -> Body {
    let path = format!("{MAPS}?watch=1{query}");
    send(server, "GET", &path, String::new()).await.into_body()
}

async fn read(mut body: Body, count: usize) {
    for _ in 0..count {
        let frame = body.frame().await.expect("it goes on").expect("a frame");
        assert!(frame.is_data());
    }
}

/// Events that lie in the log, read by one watcher.
async fn watch_past(count: usize) -> Readings {
    let server = Server::new();
    let from = server.revision();
    fill(&server, count).await;
    let body = watch(&server, &format!("&resourceVersion={from}")).await;
    let start = Watch::start();
    read(body, count).await;
    vec![("events/s", per_second(count, start.elapsed()))]
}

/// Watchers that follow while one client writes: events handed out by the second, writing included, and
/// the processor time that a watcher adds to an event.
async fn watch_live(count: usize, watchers: usize) -> Readings {
    let server = Server::new();
    fill(&server, 1).await;
    let from = server.revision();
    let read_count = Arc::new(AtomicU64::new(0));
    let mut readers = Vec::new();
    for _ in 0..watchers {
        let body = watch(&server, &format!("&resourceVersion={from}")).await;
        let read_count = Arc::clone(&read_count);
        readers.push(tokio::spawn(async move {
            read(body, count).await;
            read_count.fetch_add(1, Ordering::Relaxed);
        }));
    }
    let start = Watch::start();
    for number in 1..=count {
        ask(&server, "POST", MAPS, config_map(number)).await;
        if number % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
    for reader in readers {
        reader.await.expect("it read all");
    }
    let took = start.elapsed();
    assert_eq!(read_count.load(Ordering::Relaxed), watchers as u64);
    vec![("events/s", per_second(count * watchers, took))]
}

fn resident_memory() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok());
    kib.expect("a number") * 1024
}
