//! The board, its judgement and its endpoint.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use super::{readiness::Asker, *};
use crate::{
    declare::{Declaration, Namespaces, RelationDeclaration, RelationKind, Watched},
    runner::{Event, Finished, Observer, Outcome, SourceChange, Started, Subject},
    trigger::Cause,
    watch::Undecodable,
};

fn board() -> Board {
    let mut declaration = Declaration::new("document", Watched::new::<ConfigMap>(&()));
    let secret = RelationDeclaration::new(RelationKind::Watches, Watched::new::<Secret>(&()));
    declaration.relations.push(secret);
    let board = Board::new("documents");
    board.expect(&declaration, &Namespaces::All);
    board
}

fn object(name: &str) -> Subject<'_> {
    Subject {
        kind: "ConfigMap",
        namespace: Some("default"),
        name,
    }
}

fn source(board: &Board, kind: &str, problem: Option<&str>) {
    board.observe(
        "document",
        &Event::Source(SourceChange {
            kind,
            namespace: None,
            problem,
            synced: true,
            relists: 0,
            undecodable: &BTreeMap::new(),
        }),
    );
}

fn reconciled(board: &Board, name: &str, outcome: Outcome<'_>, next_run: Option<Duration>) {
    let started = Started {
        id: 1,
        object: object(name),
        causes: &[Cause::Initial],
        failures: 0,
        waited: Duration::ZERO,
    };
    board.observe("document", &Event::Started(started));
    let finished = Finished {
        id: 1,
        object: object(name),
        outcome,
        took: Duration::from_millis(1),
        next_run,
        failures: 0,
    };
    board.observe("document", &Event::Finished(finished));
}

/// kubewarden/adm-controller#1320: a refused first list kept readiness waiting and said nothing.
#[tokio::test(start_paused = true)]
async fn readiness_names_what_is_not_in_sync_and_turns_green_without_a_restart() {
    let board = board();
    source(&board, "ConfigMap", None);
    source(&board, "Secret", Some("secrets is forbidden"));
    let Readiness::NotReady(lines) = board.readiness() else {
        panic!("{:?}", board.readiness())
    };
    assert_eq!(lines, ["document: Secret: secrets is forbidden"]);
    source(&board, "Secret", None);
    board.observe("document", &Event::Synced);
    assert_eq!(board.readiness(), Readiness::Ready);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_goes_away_after_sync_degrades_and_keeps_green() {
    let board = board();
    board.observe("document", &Event::Synced);
    source(&board, "Secret", Some("connection refused"));
    let readiness = board.readiness();
    assert!(readiness.is_ready());
    assert_eq!(
        readiness.to_string(),
        "ready, degraded\n- document: Secret: connection refused\n"
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_signal_and_the_end_of_a_controller_turn_readiness_red() {
    let stopping = board();
    stopping.observe("document", &Event::Synced);
    stopping.stopping();
    assert_eq!(stopping.readiness().to_string(), "not ready\n- stopping\n");

    let ended = board();
    ended.observe("document", &Event::Synced);
    ended.ended("document", "no context");
    assert_eq!(
        ended.readiness().to_string(),
        "not ready\n- document: ended: no context\n"
    );
}

/// operator-framework/java-operator-sdk#1803: state per name that ever lived.
#[tokio::test(start_paused = true)]
async fn the_status_holds_live_objects_only() {
    let board = board();
    for index in 0..1000 {
        let name = format!("o{index}");
        reconciled(&board, &name, Outcome::Done, None);
        board.observe("document", &Event::Gone(object(&name)));
    }
    // Deleted while it runs: the end of the run must not bring it back.
    let started = Started {
        id: 7,
        object: object("late"),
        causes: &[],
        failures: 0,
        waited: Duration::ZERO,
    };
    board.observe("document", &Event::Started(started));
    board.observe("document", &Event::Gone(object("late")));
    let finished = Finished {
        id: 7,
        object: object("late"),
        outcome: Outcome::Done,
        took: Duration::ZERO,
        next_run: None,
        failures: 0,
    };
    board.observe("document", &Event::Finished(finished));
    reconciled(&board, "alive", Outcome::Done, None);
    let status = board.status();
    let names: Vec<_> = status.controllers[0]
        .objects
        .iter()
        .map(|o| o.object.name.as_str())
        .collect();
    assert_eq!(names, ["alive"]);
}

/// A probe holds the lock that each reconcile takes: what it copies must not grow with the objects, and its judgement is the same.
#[tokio::test(start_paused = true)]
async fn readiness_is_judged_without_a_look_at_the_objects() {
    let board = board();
    let same = |board: &Board| {
        let outline = board.outline();
        let held = outline
            .controllers
            .iter()
            .map(|one| one.objects.len() + one.paused.len());
        assert_eq!(held.sum::<usize>(), 0);
        assert_eq!(
            readiness::judge(&outline, Asker::Here),
            readiness::judge(&board.status(), Asker::Here)
        );
        assert_eq!(board.readiness(), readiness::judge(&outline, Asker::Here));
    };
    same(&board);
    source(&board, "Secret", Some("secrets is forbidden"));
    same(&board);
    board.observe("document", &Event::Synced);
    for index in 0..1000 {
        reconciled(
            &board,
            &format!("o{index}"),
            Outcome::Failed(&std::fmt::Error),
            None,
        );
    }
    board.observe("document", &Event::Paused(object("paused")));
    same(&board);
    assert_eq!(board.status().controllers[0].objects.len(), 1000);
    board.ended("document", "no context");
    same(&board);
    board.stopping();
    same(&board);
}

/// What became of each object is told through a restart of its controller; what went in between is not kept for ever.
#[tokio::test(start_paused = true)]
async fn a_restarted_controller_keeps_what_stays_true() {
    let declaration = Declaration::new("document", Watched::new::<ConfigMap>(&()));
    let board = Board::new("documents");
    board.expect(&declaration, &Namespaces::All);
    let told = |board: &Board| {
        let controller = board.status().controllers.remove(0);
        let paused: Vec<_> = controller
            .paused
            .iter()
            .map(|object| object.name.clone())
            .collect();
        let objects: Vec<_> = controller
            .objects
            .iter()
            .map(|entry| entry.object.name.clone())
            .collect();
        (objects.join(" "), paused.join(" "))
    };
    let pause = |name| board.observe("document", &Event::Paused(object(name)));
    board.observe("document", &Event::Synced);
    reconciled(
        &board,
        "goes",
        Outcome::Failed(&std::fmt::Error),
        Some(Duration::from_secs(5)),
    );
    reconciled(&board, "stays", Outcome::Done, None);
    pause("p-goes");
    pause("p-stays");
    let all = ("goes stays".to_owned(), "p-goes p-stays".to_owned());
    board.ended("document", "no database");
    assert_eq!(told(&board), all);
    board.restarted(&declaration, &Namespaces::All);
    assert_eq!(told(&board), all, "the last results are still the last results");
    let controller = board.status().controllers.remove(0);
    assert_eq!(controller.objects[0].report.next_ms, None, "its queue is gone");
    assert!(!controller.synced && controller.ended.is_none());
    board.observe("document", &Event::Synced);
    reconciled(&board, "stays", Outcome::Done, None);
    pause("p-stays");
    board.observe("document", &Event::Settled { next_due: None });
    assert_eq!(told(&board), ("stays".to_owned(), "p-stays".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn times_are_told_relative_to_the_answer() {
    let board = board();
    let next = Some(Duration::from_secs(5));
    reconciled(&board, "a", Outcome::Failed(&std::fmt::Error), next);
    tokio::time::advance(Duration::from_secs(2)).await;
    let status = serde_json::to_value(board.status()).unwrap();
    let object = &status["controllers"][0]["objects"][0];
    assert_eq!(
        (&object["ago_ms"], &object["next_ms"]),
        (&2000.into(), &3000.into())
    );
    assert_eq!(object["result"], "error");
}

#[tokio::test(start_paused = true)]
async fn a_failing_source_is_told_once_and_so_is_its_recovery() {
    let board = board();
    let mut listener = board.listen();
    for problem in [Some("no"), Some("no"), None, None] {
        source(&board, "Secret", problem);
    }
    drop(board);
    let mut types = Vec::new();
    while let Some(line) = listener.next().await {
        let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
        types.push(line["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(types, ["started", "source_failing", "source_recovered"]);
}

/// Thirty broken objects are told once each; readiness names the first few; each end is told.
#[tokio::test(start_paused = true)]
async fn undecodable_objects_are_told_once_named_in_part_and_taken_back() {
    let board = board();
    board.observe("document", &Event::Synced);
    let mut listener = board.listen();
    let broken = |count: usize| {
        let what = Undecodable {
            uid: Some("u".to_owned()),
            resource_version: None,
            message: "data.a: invalid type: integer, expected a string".to_owned(),
        };
        (0..count)
            .map(|index| ((None, format!("o{index:02}")), what.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    for count in [30, 30, 1, 0] {
        let undecodable = &broken(count);
        let change = SourceChange {
            kind: "Secret",
            namespace: None,
            problem: None,
            synced: true,
            relists: 0,
            undecodable,
        };
        board.observe("document", &Event::Source(change));
        let lines = match board.readiness() {
            Readiness::Degraded(lines) => lines,
            other => {
                assert_eq!((other, count), (Readiness::Ready, 0));
                continue;
            }
        };
        assert_eq!(
            lines[0],
            "document: Secret o00 (uid u) cannot be decoded: data.a: invalid type: integer, expected a string"
        );
        let last = "document: Secret: 25 more cannot be decoded; `/status` names them";
        let expected = if count == 30 { (6, last) } else { (1, &*lines[0]) };
        assert_eq!((lines.len(), &**lines.last().unwrap()), expected);
    }
    drop(board);
    let mut told = BTreeMap::new();
    while let Some(line) = listener.next().await {
        let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
        *told.entry(line["type"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        if line["type"] == "undecodable" {
            assert_eq!(line["object"]["kind"], "Secret");
            assert_eq!((&line["uid"], line["message"].is_string()), (&"u".into(), true));
        }
    }
    assert_eq!((told["undecodable"], told["mended"]), (30, 30));
}

#[cfg(feature = "probes")]
mod endpoint {
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

    use super::*;
    use crate::metrics::Metrics;

    async fn started(board: Board) -> std::net::SocketAddr {
        let server = StatusServer::bind(
            ([127, 0, 0, 1], 0).into(),
            board,
            Metrics::new("operator", "1.0.0"),
        )
        .await
        .unwrap();
        let address = server.address().unwrap();
        tokio::spawn(server.serve());
        address
    }

    async fn ask(address: std::net::SocketAddr, request: &str) -> BufReader<tokio::net::TcpStream> {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        BufReader::new(stream)
    }

    async fn get(address: std::net::SocketAddr, path: &str) -> String {
        let mut answer = String::new();
        ask(address, &format!("GET {path}"))
            .await
            .read_to_string(&mut answer)
            .await
            .unwrap();
        answer
    }

    /// neochaotic/leoflow#1085: no listener, or a green one, while nothing can work.
    #[tokio::test]
    async fn probes_tell_the_truth_before_sync() {
        let address = started(board()).await;
        assert!(get(address, "/livez").await.starts_with("HTTP/1.1 200"));
        let ready = get(address, "/readyz").await;
        assert!(ready.starts_with("HTTP/1.1 503"), "{ready}");
        assert!(ready.contains("document: Secret is not in sync"), "{ready}");
        assert!(get(address, "/nothing").await.starts_with("HTTP/1.1 404"));
    }

    #[tokio::test]
    async fn metrics_are_served_in_their_own_format() {
        let address = started(board()).await;
        let answer = get(address, "/metrics").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(
            answer.contains("content-type: application/openmetrics-text; version=1.0.0"),
            "{answer}"
        );
        assert!(
            answer.contains(r#"controller_runtime_build_info{operator="operator",version="1.0.0""#),
            "{answer}"
        );
        assert!(answer.ends_with("# EOF\n"), "{answer}");
    }

    #[tokio::test]
    async fn events_are_streamed_line_by_line_while_they_happen() {
        let board = board();
        let address = started(board.clone()).await;
        let mut lines = ask(address, "GET /status/events").await.lines();
        let mut wait_for = async |word: &str| {
            loop {
                let line = lines.next_line().await.unwrap().unwrap();
                if line.contains(word) {
                    return line;
                }
            }
        };
        wait_for("\"started\"").await;
        reconciled(&board, "a", Outcome::Done, None);
        let line = wait_for("\"reconciled\"").await;
        assert!(
            line.contains(r#""name":"a""#) && line.contains(r#""result":"ok""#),
            "{line}"
        );
    }

    /// More than all places of the endpoint are asked for by listeners that forget to end.
    #[tokio::test]
    async fn probes_find_room_beside_any_number_of_forgotten_listeners() {
        let board = board();
        let address = started(board).await;
        let mut listeners = Vec::new();
        let mut codes = BTreeMap::new();
        for _ in 0..100 {
            let mut listener = ask(address, "GET /status/events").await;
            let mut line = String::new();
            listener.read_line(&mut line).await.unwrap();
            *codes.entry(line.trim().to_owned()).or_insert(0) += 1;
            listeners.push(listener);
        }
        let probed = tokio::time::timeout(Duration::from_secs(5), get(address, "/livez")).await;
        assert!(probed.expect("a place").starts_with("HTTP/1.1 200"));
        assert_eq!(codes["HTTP/1.1 200 OK"], 8, "{codes:?}");
        assert_eq!(codes["HTTP/1.1 503 Service Unavailable"], 92, "{codes:?}");
        drop(listeners);
    }
}
