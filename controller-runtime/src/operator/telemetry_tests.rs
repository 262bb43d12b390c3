//! Spans go to a collector that the standard variables name. An operator in a process of its own, for variables belong to a process.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener as StdListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use controller_apiserver::{
    Server,
    tls::{Credential, Kubeconfig},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt as _, api::PostParams};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::spawn_blocking};

use crate::{Action, Operator, controller};

const PASSWORD: &str = "hunter2";

#[expect(clippy::unused_async, reason = "a reconcile function is async")]
#[controller(name = "greeter")]
async fn greet(secret: Arc<Secret>) -> Result<Action, kube::Error> {
    tracing::info!(name = secret.name_any(), "greeted");
    Ok(Action::await_change())
}

/// Set in the process that the tests below start; there, and only there, `process` is an operator.
const PROCESS: &str = "OPERATOR_OF_A_TEST";

#[tokio::test]
async fn process() {
    if std::env::var_os(PROCESS).is_none() {
        return;
    }
    let args = [
        "greeter",
        "run",
        "--address",
        "127.0.0.1:0",
        "--json-logs",
        "--stop-with-stdin",
    ];
    let operator = Operator::new("greeter").controller(greet::controller());
    let args = args.iter().map(std::ffi::OsString::from);
    operator.command(args).await.expect("a good end");
}

/// A server over TCP, and the file that names it.
struct World {
    server: Server,
    kubeconfig: PathBuf,
}

impl World {
    async fn new(test: &str) -> Self {
        let server = Server::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let kubeconfig = std::env::temp_dir().join(format!("{test}-{}", std::process::id()));
        let access = Kubeconfig {
            name: "test".to_owned(),
            server: format!("http://{}", listener.local_addr().expect("an address")),
            authority: None,
            credential: Credential::None,
            namespace: "default".to_owned(),
        };
        access.write(&kubeconfig).expect("it can be written");
        let serving = server.clone();
        tokio::spawn(async move { serving.serve(listener, std::future::pending()).await });
        Self { server, kubeconfig }
    }

    async fn secret(&self, name: &str) {
        let secret = json!({"metadata": {"name": name}, "stringData": {"password": PASSWORD}});
        let secret: Secret = serde_json::from_value(secret).expect("a Secret");
        let secrets = Api::<Secret>::default_namespaced(self.server.client());
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .expect("taken");
    }

    fn start(&self, collector: SocketAddr) -> Process {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args(["--exact", "operator::telemetry_tests::process", "--nocapture"])
            .env(PROCESS, "1")
            .env("KUBECONFIG", &self.kubeconfig)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{collector}"))
            .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20swordfish")
            .env("OTEL_SERVICE_NAME", "greeter-of-the-test")
            .env("OTEL_BSP_SCHEDULE_DELAY", "50")
            .env_remove("RUST_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let (tell, lines) = mpsc::channel();
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        Process { child, lines }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.kubeconfig);
    }
}

struct Process {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Process {
    /// The line that is written when a Secret is reconciled.
    fn greeted(&self, name: &str) -> Value {
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(60)) {
            let value: Value = serde_json::from_str(&line).unwrap_or_default();
            if value["fields"]["message"] == "greeted" && value["fields"]["name"] == name {
                return value;
            }
            seen.push(line);
        }
        panic!("{name} was not greeted:\n{}", seen.join("\n"));
    }

    /// Asks it to stop, and gives how long that took.
    #[expect(clippy::disallowed_methods, reason = "another process has no virtual time")]
    fn stop(mut self) -> Duration {
        drop(self.child.stdin.take());
        let began = Instant::now();
        let status = self.child.wait().expect("it was started here");
        let rest: Vec<_> = self.lines.iter().collect();
        assert!(status.success(), "{status}:\n{}", rest.join("\n"));
        began.elapsed()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// A collector, and what it is sent: heads and bodies. It answers if it is told to.
fn collector(answers: bool) -> (SocketAddr, mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = StdListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                while let Some(request) = request(&mut stream) {
                    let _ = tell.send(request);
                    if answers {
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                        stream.get_mut().write_all(answer).expect("it listens");
                    }
                }
            });
        }
    });
    (address, told)
}

/// The next request of a connection; `None` when there is no more.
fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Whether these bytes are in there: texts stand in protobuf as they are.
fn holds(body: &[u8], bytes: &[u8]) -> bool {
    body.windows(bytes.len()).any(|window| window == bytes)
}

fn bytes_of(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<_> = hexadecimal
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .collect();
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("two digits"))
        .collect()
}

#[tokio::test]
async fn spans_of_reconciles_reach_the_collector_that_the_environment_names() {
    let (address, told) = collector(true);
    let world = World::new("spans").await;
    world.secret("a").await;
    let process = world.start(address);
    let (line, process) = spawn_blocking(move || (process.greeted("a"), process))
        .await
        .unwrap();
    spawn_blocking(move || process.stop()).await.unwrap();
    let sent: Vec<_> = told.try_iter().collect();
    let trace = line["span"]["trace_id"]
        .as_str()
        .expect("the line names its trace");
    let (head, body) = sent
        .iter()
        .find(|(_, body)| holds(body, &bytes_of(trace)))
        .unwrap_or_else(|| panic!("none of {} requests has the trace of {line}", sent.len()));
    assert!(head.starts_with("POST /v1/traces "), "{head}");
    assert!(
        head.contains("application/x-protobuf") && head.contains("Bearer swordfish"),
        "{head}"
    );
    for text in [
        "greeter-of-the-test",
        "reconciling object",
        "object.ref",
        "Secret.v1./a.default",
        "object.reason",
        "in the first list",
        "reconcile.id",
        "greeted",
    ] {
        assert!(holds(body, text.as_bytes()), "{text} is not sent");
    }
    for secret in [PASSWORD, "aHVudGVyMg", "swordfish"] {
        assert!(
            sent.iter().all(|(_, body)| !holds(body, secret.as_bytes())),
            "{secret} is sent"
        );
    }
}

#[tokio::test]
async fn a_collector_that_never_answers_holds_up_neither_reconciles_nor_the_end() {
    let (address, told) = collector(false);
    let world = World::new("no-answer").await;
    world.secret("a").await;
    let process = world.start(address);
    let process = spawn_blocking(move || {
        process.greeted("a");
        told.recv_timeout(Duration::from_secs(60))
            .expect("spans are sent");
        process
    });
    let process = process.await.unwrap();
    world.secret("b").await;
    let took = spawn_blocking(move || {
        process.greeted("b");
        process.stop()
    });
    // The request alone could take ten seconds.
    let took = took.await.unwrap();
    assert!(took < Duration::from_secs(8), "the end took {took:?}");
}
