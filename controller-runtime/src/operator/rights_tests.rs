//! Rights that come and go while an operator runs.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use controller_apiserver::{Server, access::User};
use k8s_openapi::api::{core::v1::ConfigMap, events::v1, rbac::v1::ClusterRole};
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::{Declaration, ElectionOptions, Operator, OperatorError, OwnPod, RunOptions, Stop, tests::Fake};
use crate::{
    declare::{BoxError, Environment, Rule, Watched},
    logs::Logs,
    manager::{Board, Happening, Readiness},
    runner::Event,
};

const GROUP: &str = "rbac.authorization.k8s.io";

fn rules(verbs: &[&str]) -> Value {
    json!([
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews"], "verbs": ["create"]},
    ])
}

async fn server(verbs: &[&str]) -> Server {
    let server = Server::new();
    let version = format!("{GROUP}/v1");
    let role = json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": "worker"}, "rules": rules(verbs)});
    let binding = json!({"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": "worker"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "worker"},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": "worker"}]});
    server.install([role, binding]).await.expect("a role");
    server
}

async fn grant(server: &Server, verbs: &[&str]) {
    put(server, &rules(verbs)).await;
}

async fn put(server: &Server, rules: &Value) {
    let roles = Api::<ClusterRole>::all(server.client());
    let patch = Patch::Merge(json!({"rules": rules}));
    roles
        .patch("worker", &PatchParams::default(), &patch)
        .await
        .expect("a role");
}

/// Writes a ConfigMap each second, whatever is answered.
async fn writes(environment: Environment) -> Result<(), BoxError> {
    environment.observer.observe("writer", &Event::Synced);
    let maps = Api::<ConfigMap>::namespaced(environment.client.clone(), "default");
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    let mut stop = environment.shutdown.clone();
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
            _ = ticks.tick() => {}
        }
        let map = serde_json::from_value(json!({"metadata": {"generateName": "made-"}}))?;
        let _ = maps.create(&PostParams::default(), &map).await;
    }
}

/// A standby whose rights do not suffice for the lease looks like any other: nobody leads, and nothing is wrong.
#[tokio::test(start_paused = true)]
async fn what_is_missing_for_the_election_is_named() {
    let logs = Logs::capture();
    let server = server(&["list", "watch"]).await;
    let declaration = Declaration::new("writer", Watched::new::<ConfigMap>(&()));
    let (board, stop) = (Board::new("writer"), Stop::new());
    let client = server.client_as(User::new("worker", ["system:authenticated"]));
    let options = RunOptions::new()
        .client(client)
        .stop_on(&stop)
        .elect(ElectionOptions::new());
    let run = tokio::spawn({
        let operator = Operator::new("writer").controller(Fake::of(declaration, waits));
        let board = board.clone();
        async move { operator.run_on(&board, options).await }
    });
    tokio::time::sleep(Duration::from_secs(60)).await;
    let readiness = board.readiness().to_string();
    for verb in ["create", "get", "update"] {
        let line =
            format!("leader election: missing \"{verb}\" leases.coordination.k8s.io in namespace default");
        assert!(readiness.contains(&line), "{readiness}");
        assert_eq!(logs.text().matches(&line).count(), 1, "{}", logs.text());
    }
    assert_eq!(
        logs.text().matches("request for the lease failed").count(),
        1,
        "{}",
        logs.text()
    );
    // As the printed role has it: by name, but for the creation.
    let lease = |verbs: &[&str], names: &[&str]| json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs, "resourceNames": names});
    let mut all = rules(&["list", "watch"]);
    let added = [lease(&["create"], &[]), lease(&["get", "update"], &["writer"])];
    all.as_array_mut().expect("rules").extend(added);
    put(&server, &all).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(board.readiness(), Readiness::Ready);
    assert_eq!(board.status().leadership.as_deref(), Some("leading"));

    // Taken again, while it leads: the process ends, and its log says why.
    put(&server, &rules(&["list", "watch"])).await;
    let end = run.await.expect("no panic");
    assert!(matches!(end, Err(OperatorError::LeadershipLost(_))), "{end:?}");
    let line = "a right is missing: grant it, `rbac` prints the roles right=leader election: missing \"update\" leases";
    assert_eq!(logs.text().matches(line).count(), 2, "{}", logs.text());
}

async fn waits(environment: Environment) -> Result<(), BoxError> {
    environment.observer.observe("writer", &Event::Synced);
    environment.shutdown.await;
    Ok(())
}

/// Who looks at the Pod sees it; an operator whose controllers publish no Events has no right to, and does not try.
#[tokio::test(start_paused = true)]
async fn events_of_the_pod_name_what_is_missing() {
    for (events, pod) in [(true, true), (true, false), (false, true)] {
        let server = server(&["list"]).await;
        let grant = async |verbs: &[&str]| {
            let mut all = rules(verbs);
            let added = json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]});
            all.as_array_mut().expect("rules").push(added);
            put(&server, &all).await;
        };
        grant(&["list"]).await;
        let mut declaration = Declaration::new("writer", Watched::new::<ConfigMap>(&()));
        declaration.uses.events = events;
        let stop = Stop::new();
        let client = server.client_as(User::new("worker", ["system:authenticated"]));
        // A standby, for nobody gives it the lease.
        let mut options = RunOptions::new()
            .client(client)
            .stop_on(&stop)
            .elect(ElectionOptions::new());
        if pod {
            options = options.pod(OwnPod::new("default", "writer-0").uid("7"));
        }
        let operator = Operator::new("writer").controller(Fake::of(declaration, waits));
        let run = tokio::spawn(operator.run(options));
        tokio::time::sleep(Duration::from_secs(60)).await;
        let found = Api::<v1::Event>::namespaced(server.client(), "default");
        let found = async || {
            let list = found.list(&ListParams::default()).await.expect("Events");
            let told = list.items.into_iter().map(|event| {
                let regarding = event.regarding.expect("about the Pod");
                assert_eq!(
                    (regarding.kind.as_deref(), regarding.name.as_deref()),
                    (Some("Pod"), Some("writer-0"))
                );
                assert_eq!(regarding.uid.as_deref(), Some("7"));
                [event.type_, event.reason, event.note]
                    .map(Option::unwrap_or_default)
                    .join(" ")
            });
            told.collect::<Vec<_>>()
        };
        let told = found().await;
        if events && pod {
            let [told] = &told[..] else { panic!("{told:?}") };
            assert!(told.starts_with("Warning MissingRights "), "{told}");
            assert!(
                told.contains("reconciles ConfigMap: missing \"watch\" configmaps"),
                "{told}"
            );
            assert!(told.contains("leader election: missing \"get\" leases"), "{told}");
        } else {
            assert!(told.is_empty(), "{told:?}");
            assert!(server.journal().user("worker").resource("events").is_empty());
        }
        stop.now();
        run.await.expect("no panic").expect("a good end");
    }
}

/// Of three rights one is granted; all are, later; then the right to write is taken while the operator runs.
#[tokio::test(start_paused = true)]
async fn each_right_that_is_missing_is_named_once_whenever_it_goes() {
    let logs = Logs::capture();
    let server = server(&["list"]).await;
    let mut declaration = Declaration::new("writer", Watched::new::<ConfigMap>(&()));
    declaration.rules.push(Rule {
        group: String::new(),
        resource: "configmaps".to_owned(),
        verbs: vec!["create".to_owned()],
    });
    let (board, stop) = (Board::new("writer"), Stop::new());
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&told);
    board.hear(move |happening| {
        if let Happening::MissingRights { missing } = happening {
            noted.lock().expect("not poisoned").push(missing.clone());
        }
    });
    let client = server.client_as(User::new("worker", ["system:authenticated"]));
    let options = RunOptions::new().client(client).stop_on(&stop);
    let run = tokio::spawn({
        let operator = Operator::new("writer").controller(Fake::of(declaration, writes));
        let board = board.clone();
        async move { operator.run_on(&board, options).await }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(
        board
            .readiness()
            .to_string()
            .contains("missing \"watch\" configmaps"),
        "{}",
        board.readiness()
    );
    tokio::time::sleep(Duration::from_secs(300)).await;
    grant(&server, &["list", "watch", "create"]).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let reviews = |server: &Server| {
        server
            .journal()
            .user("worker")
            .resource("selfsubjectaccessreviews")
            .len()
    };
    let before = reviews(&server);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(reviews(&server), before, "what is there is not asked about");

    grant(&server, &["list", "watch"]).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(
        board
            .readiness()
            .to_string()
            .contains("missing \"create\" configmaps"),
        "{}",
        board.readiness()
    );
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let asked = reviews(&server) - before;
    assert!(asked <= 3600 / 150, "{asked} reviews for 3600 refusals");
    stop.now();
    run.await.expect("no panic").expect("a good end");

    let missing = |verb: &str| {
        let reason = if verb == "create" {
            "stated by rbac(…)"
        } else {
            "reconciles ConfigMap"
        };
        format!("{reason}: missing \"{verb}\" configmaps")
    };
    let told = told.lock().expect("not poisoned").clone();
    assert_eq!(told.first(), Some(&vec![missing("watch"), missing("create")]));
    assert!(told.contains(&Vec::new()), "{told:?}");
    assert_eq!(told.last(), Some(&vec![missing("create")]));
    let logs = logs.text();
    let count = |text: &str, verb: &str| {
        logs.lines()
            .filter(|line| line.contains(text) && line.contains(&missing(verb)))
            .count()
    };
    for (verb, said) in [("list", 0), ("watch", 1), ("create", 2)] {
        assert_eq!(count("a right is missing", verb), said, "{verb}: {logs}");
    }
    for (verb, said) in [("list", 0), ("watch", 1), ("create", 1)] {
        assert_eq!(count("is granted", verb), said, "{verb}: {logs}");
    }
}
