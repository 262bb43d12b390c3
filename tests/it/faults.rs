//! What a fault of the API server does to an operator, row by row of the table in the guide: a line there is a test here.
//!
//! An operator with a kind of its own and children of it runs with its printed roles, and its endpoint answers over a socket. Each row lets the fault
//! last for two minutes and looks at probes and metrics; then it ends, and everything must be as it should be within the time that the row gives.
//!
//! Each row is played twice: by one process, and by two that elect a leader, each of which is started again when it ends, as in a Deployment.

use std::{
    fmt::Debug,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use controller_apiserver::{Fault, Server, Verb, When, access::User};
use controller_runtime::{
    Action, Operator,
    clock::Origin,
    controller,
    operator::{ElectionOptions, ManifestOptions, OperatorError, RunOptions},
    reconcile::Children,
};
use k8s_openapi::{
    api::{core::v1::ConfigMap, rbac::v1::ClusterRoleBinding},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResource, CustomResourceExt, ResourceExt,
    api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinHandle;

const GUIDE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../controller-runtime/guide/faults.md"
);
/// How long a fault lasts.
const LASTS: Duration = Duration::from_secs(120);
const WIDGETS: usize = 4;
/// How long a process that ended is left alone before it is started again.
const PAUSE: Duration = Duration::from_secs(10);
/// So much more time has a leader: the lease of one that ended runs out first.
const ELECTING: Duration = Duration::from_secs(30);

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Widget", namespaced)]
struct WidgetSpec {
    #[serde(deserialize_with = "readable")]
    size: u64,
}

/// The schema allows it, and the operator cannot read it: as after an upgrade of the one and not of the other.
const UNREADABLE: u64 = 404;

fn readable<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let size = u64::deserialize(from)?;
    if size == UNREADABLE {
        return Err(serde::de::Error::custom("no such size"));
    }
    Ok(size)
}

#[controller(
    name = "widgets",
    owns(ConfigMap),
    config(timeout = "20s"),
    backoff(initial = "1s", max = "30s")
)]
async fn widget(widget: Arc<Widget>, children: Children) -> Result<Action, kube::Error> {
    let child = ConfigMap {
        metadata: ObjectMeta {
            name: Some(widget.name_any()),
            ..ObjectMeta::default()
        },
        data: Some([("size".to_owned(), widget.spec.size.to_string())].into()),
        ..ConfigMap::default()
    };
    children.apply([child]).await?;
    Ok(Action::await_change())
}

/// One line of the table.
#[derive(Debug)]
struct Row {
    fault: String,
    when: Moment,
    ready: Ready,
    /// Names of metrics that are above zero, or with `=0` that are zero, while the fault lasts.
    tells: Vec<String>,
    within: Duration,
    leader: Leader,
}

/// What becomes of the process that leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leader {
    /// It goes on, or nobody led.
    Stays,
    /// It cannot renew its lease, and ends.
    Ends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    BeforeSync,
    AtRest,
    UnderLoad,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    Yes,
    Degraded,
    No,
}

fn rows() -> Vec<Row> {
    let guide = std::fs::read_to_string(GUIDE).expect("the guide is there");
    let lines = guide.lines().filter(|line| line.starts_with("| ")).skip(1);
    lines.map(row).collect()
}

fn row(line: &str) -> Row {
    let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [fault, when, live, ready, tells, within, leader] = cells[..] else {
        panic!("not seven cells: {line}");
    };
    assert_eq!(live, "yes", "liveness never depends on the API server: {line}");
    Row {
        fault: fault.to_owned(),
        when: match when {
            "before sync" => Moment::BeforeSync,
            "at rest" => Moment::AtRest,
            "under load" => Moment::UnderLoad,
            other => panic!("no moment: {other}"),
        },
        ready: match ready {
            "yes" => Ready::Yes,
            "degraded" => Ready::Degraded,
            "no" => Ready::No,
            other => panic!("not a readiness: {other}"),
        },
        tells: tells
            .split(',')
            .map(|name| name.trim().trim_matches('`').to_owned())
            .filter(|name| name != "–")
            .collect(),
        within: within
            .strip_suffix(" s")
            .and_then(|seconds| seconds.parse().ok())
            .map_or_else(
                || panic!("not a number of seconds: {within}"),
                Duration::from_secs,
            ),
        leader: match leader {
            "stays" => Leader::Stays,
            "ends" => Leader::Ends,
            other => panic!("nothing that a leader does: {other}"),
        },
    }
}

struct World {
    server: Server,
    client: Client,
    /// Which widget is changed next, and to what.
    changes: AtomicUsize,
    /// The revision of a backup, from before the operator ever ran.
    backup: u64,
}

impl World {
    async fn new(definition: bool) -> Self {
        let server = Server::builder().seed(7).build();
        let mut manifests = operator()
            .manifests(&ManifestOptions::new("operators", "widgets:1"))
            .unwrap();
        if !definition {
            manifests.retain(|manifest| manifest["kind"] != "CustomResourceDefinition");
        }
        server.install(manifests).await.unwrap();
        let mut world = Self {
            client: server.client_named("test"),
            server,
            changes: AtomicUsize::new(0),
            backup: 0,
        };
        if definition {
            world.make_widgets().await;
        }
        world.backup = world.server.revision();
        world
    }

    async fn define(&self) {
        self.server.install([Widget::crd()]).await.unwrap();
        self.make_widgets().await;
    }

    async fn make_widgets(&self) {
        for number in 0..WIDGETS {
            let widget = Widget::new(&format!("w{number}"), WidgetSpec { size: 0 });
            self.widgets()
                .create(&PostParams::default(), &widget)
                .await
                .unwrap();
        }
    }

    fn widgets(&self) -> Api<Widget> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// Someone changes a widget, if it is there.
    async fn change(&self) {
        let change = self.changes.fetch_add(1, Ordering::Relaxed) + 1;
        // Not the first one: some rows need it as it is.
        let name = format!("w{}", 1 + change % (WIDGETS - 1));
        self.set(&name, change as u64).await;
    }

    /// The answer may be one that nobody here can decode.
    async fn set(&self, name: &str, size: u64) {
        let patch = Patch::Merge(json!({"spec": {"size": size}}));
        let _ = self.widgets().patch(name, &PatchParams::default(), &patch).await;
    }

    /// Each widget has its child as it should be, or what is wrong.
    async fn done(&self) -> Result<(), String> {
        let said = |error: kube::Error| error.to_string();
        let widgets = self.widgets().list(&ListParams::default()).await.map_err(said)?;
        let maps = Api::<ConfigMap>::namespaced(self.client.clone(), "default");
        let maps = maps.list(&ListParams::default()).await.map_err(said)?;
        if widgets.items.len() < WIDGETS {
            return Err("widgets are missing".to_owned());
        }
        for widget in widgets {
            let name = widget.name_any();
            let child = maps.iter().find(|map| map.name_any() == name);
            let size = child.and_then(|map| map.data.as_ref()?.get("size").cloned());
            if size.as_deref() != Some(&*widget.spec.size.to_string()) {
                return Err(format!("{name}: {:?}, and its child {size:?}", widget.spec.size));
            }
        }
        Ok(())
    }

    /// Lets the fault begin.
    async fn begin(&self, Row { fault, when, .. }: &Row) {
        let faults = self.server.faults();
        let any = || When::any().agent("operator");
        let writes = || When::verb(Verb::Patch).agent("operator");
        let lists = || When::verb(Verb::List).agent("operator");
        let watches = || When::verb(Verb::Watch).agent("operator");
        let listed = || {
            // So that there are lists: streaming ones are watches.
            faults.inject(watches(), Fault::RefuseStreamingLists);
            self.server.compact();
            self.server.close_watches();
        };
        match &**fault {
            "refused with 409" => _ = faults.inject(writes(), Fault::status(409)),
            "refused with 413" => _ = faults.inject(writes(), Fault::status(413)),
            "refused with 422" => _ = faults.inject(writes(), Fault::status(422)),
            "refused with 429" => _ = faults.inject(any(), Fault::status(429)),
            "refused with 500" => _ = faults.inject(any(), Fault::status(500)),
            "refused with 503" => _ = faults.inject(any(), Fault::status(503)),
            "refused with 504" => _ = faults.inject(any(), Fault::status(504)),
            "answers late" => _ = faults.inject(any(), Fault::Delay(Duration::from_secs(3))),
            "hangs" => _ = faults.inject(any(), Fault::Hang),
            "stalls midway" => _ = faults.inject(any(), Fault::StallBody),
            "cuts connections" => _ = faults.inject(any(), Fault::Disconnect),
            "loses answers" => _ = faults.inject(writes(), Fault::LoseAnswer),
            "hangs after writes" => _ = faults.inject(writes(), Fault::HangAfter),
            "cuts answers" => _ = faults.inject(any(), Fault::CutBody),
            "watches end" => _ = faults.inject(watches(), Fault::Cut { after: 3 }),
            "watches lag" => _ = faults.inject(watches(), Fault::DelayEvents(Duration::from_millis(500))),
            "watches are silent" => _ = faults.inject(watches(), Fault::Silent),
            "watches are truncated" => _ = faults.inject(watches(), Fault::Truncate { after: 0 }),
            "watches bring errors" => {
                let Fault::Answer(status) = Fault::status(500) else {
                    unreachable!("a status is an answer")
                };
                faults.inject(watches(), Fault::ErrorEvent { after: 0, status });
            }
            "history is gone" => self.server.compact(),
            "small pages" => {
                faults.inject(lists(), Fault::SmallPages(1));
                listed();
            }
            "tokens of pages expire" => {
                faults.inject(lists(), Fault::SmallPages(1));
                faults.inject(lists().times(3), Fault::ExpireContinue);
                listed();
            }
            "pages are forgotten" => {
                faults.inject(lists(), Fault::SmallPages(1));
                faults.inject(lists(), Fault::ForgetContinue);
                listed();
            }
            "objects are garbled" => {
                faults.inject(lists(), Fault::Garbage { at: 0 });
                faults.inject(watches(), Fault::Garbage { at: 0 });
            }
            "no bookmarks" => _ = faults.inject(watches(), Fault::NoBookmarks),
            "watches outlive their time" => _ = faults.inject(watches(), Fault::NoTimeout),
            "old reads" => _ = faults.inject(lists(), Fault::StaleReads(3)),
            "an undecodable object" => self.set("w0", UNREADABLE).await,
            "the definition is missing" => self.undefine().await,
            "the definition is established late" => {
                self.undefine().await;
                self.server.hold_definitions(true);
                self.server.install([Widget::crd()]).await.unwrap();
            }
            "a backup is restored" if *when == Moment::BeforeSync => {
                // In the middle of the first lists.
                self.change().await;
                self.set("w0", 5).await;
                faults.inject(watches(), Fault::RefuseStreamingLists);
                faults.inject(lists(), Fault::SmallPages(1));
                faults.inject(lists(), Fault::Delay(Duration::from_secs(1)));
                let (server, backup) = (self.server.clone(), self.backup);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(2_500)).await;
                    server.restore(backup).expect("its history is there");
                });
            }
            "a backup is restored" => self.server.restore(self.backup).unwrap(),
            "the token expired" => _ = faults.inject(any(), Fault::status(401)),
            "rights are revoked" => self.revoke().await,
            "the clock jumps" => self.server.jump_clock(jiff_hours(-2)),
            other => panic!("the table names a fault that is not known here: {other}"),
        }
        // Watches that are open do not notice.
        self.server.close_watches();
    }

    /// Lets it end.
    async fn end(&self, fault: &str) {
        self.server.faults().clear();
        match fault {
            "the definition is missing" => self.define().await,
            "the definition is established late" => {
                self.server.hold_definitions(false);
                self.make_widgets().await;
            }
            "an undecodable object" => self.set("w0", 1).await,
            // What such a list left out, nobody can know before the next one.
            "pages are forgotten" => self.list_anew().await,
            "objects are garbled" => {
                self.set("w0", 1).await;
                self.list_anew().await;
            }
            "rights are revoked" => {
                let binding = |manifest: &serde_json::Value| manifest["kind"] == "ClusterRoleBinding";
                let manifests = operator().rbac(&ManifestOptions::new("operators", "widgets:1"));
                self.server
                    .install(manifests.into_iter().filter(binding))
                    .await
                    .unwrap();
            }
            "the clock jumps" => self.server.jump_clock(jiff_hours(2)),
            _ => {}
        }
        self.change().await;
    }

    /// Lets every watch come back too late to go on.
    async fn list_anew(&self) {
        let late = Fault::Delay(Duration::from_secs(2));
        let watches = When::verb(Verb::Watch).agent("operator");
        self.server.faults().inject(watches, late);
        self.server.close_watches();
        self.change().await;
        self.server.compact();
        self.server.faults().clear();
    }

    async fn undefine(&self) {
        let definitions = Api::<CustomResourceDefinition>::all(self.client.clone());
        let name = Widget::crd_name();
        if definitions.get_opt(name).await.unwrap().is_some() {
            definitions.delete(name, &Default::default()).await.unwrap();
        }
        // Its objects go first.
        while definitions.get_opt(name).await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn revoke(&self) {
        let bindings = Api::<ClusterRoleBinding>::all(self.client.clone());
        bindings.delete("widgets", &Default::default()).await.unwrap();
    }
}

fn jiff_hours(hours: i64) -> k8s_openapi::jiff::SignedDuration {
    k8s_openapi::jiff::SignedDuration::from_hours(hours)
}

fn operator() -> Operator {
    Operator::new("widgets")
        .crd::<Widget>()
        .controller(widget::controller())
}

/// A process: it and its endpoint.
struct Process {
    address: SocketAddr,
    task: JoinHandle<Result<(), OperatorError>>,
}

impl Process {
    async fn start(server: &Server, name: &str, election: Option<ElectionOptions>) -> Self {
        let file = std::env::temp_dir().join(format!("faults-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        let account = User::service_account("operators", "widgets");
        let mut options = RunOptions::new()
            .client(server.client_as_named(account, "operator"))
            .address(SocketAddr::from(([127, 0, 0, 1], 0)))
            .address_file(file.clone())
            .origin(Origin::fixed(server.now(), 1));
        if let Some(election) = election {
            options = options.elect(election);
        }
        let task = tokio::spawn(operator().run(options));
        for _ in 0..1000 {
            tokio::task::yield_now().await;
            if let Ok(text) = std::fs::read_to_string(&file) {
                let _ = std::fs::remove_file(&file);
                let address = text.parse().expect("an address");
                return Self { address, task };
            }
        }
        panic!("the endpoint is not bound before all else");
    }

    /// A real request: the clock stands still meanwhile.
    async fn get(&self, path: &'static str) -> (u16, String) {
        let address = self.address;
        let asked = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address)?;
            stream.set_read_timeout(Some(Duration::from_secs(20)))?;
            write!(
                stream,
                "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
            )?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok::<_, std::io::Error>(text)
        });
        let text = asked.await.unwrap().expect("the endpoint answers");
        let code = text[9..12].parse().expect("a code");
        let body = text.split_once("\r\n\r\n").expect("a head").1;
        (code, body.to_owned())
    }

    async fn readiness(&self) -> (Ready, String) {
        let (code, body) = self.get("/readyz").await;
        let ready = match code {
            503 => Ready::No,
            200 if body.starts_with("ready, degraded") => Ready::Degraded,
            200 => Ready::Yes,
            other => panic!("/readyz: {other}: {body}"),
        };
        (ready, body)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One of several processes of an operator: it is started again when it ends.
struct Replica {
    name: String,
    process: Process,
    /// How often it ended, and when last.
    ends: usize,
    ended: Option<tokio::time::Instant>,
}

impl Replica {
    async fn start(server: &Server, name: String) -> Self {
        let process = Process::start(server, &name, Some(Self::election(&name))).await;
        Self {
            name,
            process,
            ends: 0,
            ended: None,
        }
    }

    fn election(name: &str) -> ElectionOptions {
        let seed = name.bytes().map(u64::from).sum();
        ElectionOptions::new()
            .namespace("operators")
            .identity(name)
            .seed(seed)
    }

    /// Starts it again a while after its end, which nothing but the loss of its lease may bring about.
    async fn look_after(&mut self, server: &Server) {
        let now = tokio::time::Instant::now();
        match self.ended {
            None if self.process.task.is_finished() => {
                let end = (&mut self.process.task).await.expect("no panic");
                assert!(matches!(end, Err(OperatorError::LeadershipLost(_))), "{end:?}");
                self.ends += 1;
                self.ended = Some(now);
            }
            Some(ended) if now.duration_since(ended) >= PAUSE => {
                self.process = Process::start(server, &self.name, Some(Self::election(&self.name))).await;
                self.ended = None;
            }
            None | Some(_) => {}
        }
    }
}

/// A world in which a row's fault is to come, or is there already.
async fn world_of(row: &Row) -> World {
    let before = row.when == Moment::BeforeSync;
    let defined = !(before && row.fault.starts_with("the definition is "));
    let world = World::new(defined).await;
    if before {
        world.begin(row).await;
    }
    world
}

/// What is not as the row says when two processes elect a leader; nothing if all is.
async fn play_elected(row: &Row, number: usize) -> Vec<String> {
    let world = world_of(row).await;
    let mut replicas = Vec::new();
    for name in ["a", "b"] {
        replicas.push(Replica::start(&world.server, format!("{name}-{number}")).await);
        if row.when != Moment::BeforeSync {
            // The first one leads.
            tokio::time::sleep(Duration::from_secs(20)).await;
            let replica = &replicas[replicas.len() - 1];
            assert_eq!(
                replica.process.readiness().await.0,
                Ready::Yes,
                "before the fault"
            );
        }
    }
    if row.when != Moment::BeforeSync {
        world.begin(row).await;
    }
    let began = tokio::time::Instant::now();
    while began.elapsed() < LASTS {
        if row.when == Moment::UnderLoad {
            world.change().await;
        }
        tokio::time::sleep(Duration::from_millis(900)).await;
        for replica in &mut replicas {
            replica.look_after(&world.server).await;
        }
    }
    let mut wrong = Vec::new();
    let ends: usize = replicas.iter().map(|replica| replica.ends).sum();
    let leader = if ends == 0 { Leader::Stays } else { Leader::Ends };
    if leader != row.leader {
        wrong.push(format!(
            "with election: {ends} processes ended, and the row says {:?}",
            row.leader
        ));
    }
    // One that never led never ends, and its probes tell what those of a single process would.
    for replica in replicas.iter().filter(|replica| replica.ends == 0) {
        let (ready, why) = replica.process.readiness().await;
        if ready != row.ready {
            wrong.push(format!("with election: readiness is {ready:?}: {why}"));
        }
        if replica.process.get("/livez").await.0 != 200 {
            wrong.push("with election: not live".to_owned());
        }
    }
    world.end(&row.fault).await;
    let ended = tokio::time::Instant::now();
    loop {
        let mut unready = String::new();
        for replica in &mut replicas {
            replica.look_after(&world.server).await;
            match replica.ended {
                Some(_) => unready.push_str("it ended; "),
                None => match replica.process.readiness().await {
                    (Ready::Yes, _) => {}
                    (_, why) => unready.push_str(&why),
                },
            }
        }
        let done = world.done().await;
        if unready.is_empty() && done.is_ok() {
            let took = ended.elapsed();
            println!("| {} | {:?} | elected | {ends} | {took:?}", row.fault, row.when);
            return wrong;
        }
        if ended.elapsed() > row.within + ELECTING {
            wrong.push(format!("with election: not well in time: {unready}{done:?}"));
            return wrong;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// What is not as the row says; nothing if all is.
async fn play(row: &Row, number: usize) -> Vec<String> {
    let world = world_of(row).await;
    let process = Process::start(&world.server, &number.to_string(), None).await;
    if row.when != Moment::BeforeSync {
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(process.readiness().await.0, Ready::Yes, "before the fault");
        world.begin(row).await;
    }
    let began = tokio::time::Instant::now();
    while began.elapsed() < LASTS {
        if row.when == Moment::UnderLoad {
            world.change().await;
        }
        tokio::time::sleep(Duration::from_millis(900)).await;
    }
    let mut wrong = Vec::new();
    let mut check = |what: &str, is: &dyn Debug, should: &dyn Debug, why: &str| {
        let (is, should) = (format!("{is:?}"), format!("{should:?}"));
        if is != should {
            wrong.push(format!("{what} is {is}, not {should}: {why}"));
        }
    };
    check("liveness", &process.get("/livez").await.0, &200, "");
    let (ready, why) = process.readiness().await;
    check("readiness", &ready, &row.ready, &why);
    let metrics = process.get("/metrics").await.1;
    for name in &row.tells {
        let (series, zero) = match name.strip_suffix("=0") {
            Some(series) => (series, true),
            None => (&**name, false),
        };
        let values = metrics.lines().filter(|line| line.starts_with(series));
        let values: Vec<f64> = values
            .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
            .collect();
        let holds = values
            .iter()
            .any(|value| if zero { *value == 0.0 } else { *value > 0.0 });
        check(name, &holds, &true, &format!("{values:?}"));
    }
    world.end(&row.fault).await;
    let ended = tokio::time::Instant::now();
    loop {
        let (ready, why) = process.readiness().await;
        let done = world.done().await;
        if ready == Ready::Yes && done.is_ok() {
            let took = ended.elapsed();
            println!("| {} | {:?} | well again after {took:?}", row.fault, row.when);
            break;
        }
        if ended.elapsed() > row.within {
            wrong.push(format!("not well within {:?}: {why}{done:?}", row.within));
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(!process.task.is_finished(), "it needs no restart");
    wrong
}

/// Plays the rows, and says which do not hold. `FAULT` names those that are wanted.
async fn play_all(play: impl AsyncFn(&Row, usize) -> Vec<String>) {
    let rows = rows();
    assert!(rows.len() > 85, "only {} rows were found", rows.len());
    let wanted = std::env::var("FAULT").unwrap_or_default();
    let mut wrong = Vec::new();
    for (number, row) in rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.fault.contains(&wanted))
    {
        for what in play(row, number).await {
            wrong.push(format!("| {} | {:?}: {what}", row.fault, row.when));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows do not hold:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Each fault, before the first sync, at rest and under load: probes tell the truth, and recovery needs no restart.
#[tokio::test(start_paused = true)]
async fn every_row_of_the_table_of_faults_holds() {
    play_all(play).await;
}

/// With two replicas, a fault that outlasts the lease ends the leader and nothing else, and one that is started again recovers.
#[tokio::test(start_paused = true)]
async fn every_row_of_the_table_of_faults_holds_with_a_leader_and_a_standby() {
    play_all(play_elected).await;
}

#[test]
fn every_fault_is_played_at_every_moment() {
    let rows = rows();
    for row in &rows {
        let moments = rows.iter().filter(|other| other.fault == row.fault);
        assert_eq!(moments.count(), 3, "{}", row.fault);
    }
}

/// Where each fault of the server that tests run on is in the table. A fault that nobody played would be one that nobody knows.
const PLAYED: [(&str, &str); 21] = [
    ("Answer", "refused with 500"),
    ("Delay", "answers late"),
    ("Hang", "hangs"),
    ("Disconnect", "cuts connections"),
    ("LoseAnswer", "loses answers"),
    ("HangAfter", "hangs after writes"),
    ("Cut", "watches end"),
    ("Silent", "watches are silent"),
    ("Truncate", "watches are truncated"),
    ("ErrorEvent", "watches bring errors"),
    ("Garbage", "objects are garbled"),
    ("NoBookmarks", "no bookmarks"),
    ("NoTimeout", "watches outlive their time"),
    ("DelayEvents", "watches lag"),
    ("RefuseStreamingLists", "small pages"),
    ("SmallPages", "small pages"),
    ("ExpireContinue", "tokens of pages expire"),
    ("ForgetContinue", "pages are forgotten"),
    ("StaleReads", "old reads"),
    ("StallBody", "stalls midway"),
    ("CutBody", "cuts answers"),
];

/// `Fault` may grow, so that no match outside of its crate is complete: its source is read.
#[test]
fn every_fault_of_the_server_has_a_row() {
    let source = include_str!("../../controller-apiserver/src/fault/mod.rs");
    let (_, variants) = source.split_once("pub enum Fault {\n").expect("the faults");
    let (variants, _) = variants.split_once("\n}\n").expect("their end");
    let name = |line: &str| {
        let name = line.strip_prefix("    ")?.split(['(', ',', ' ']).next()?;
        name.starts_with(char::is_uppercase).then(|| name.to_owned())
    };
    let variants: Vec<_> = variants.lines().filter_map(name).collect();
    let played = PLAYED.map(|(fault, _)| fault.to_owned());
    assert_eq!(variants, played, "in the order of the enum");
    let rows = rows();
    for (fault, row) in PLAYED {
        assert!(
            rows.iter().any(|known| known.fault == row),
            "{fault}: no row {row}"
        );
    }
}
