//! The board, its judgement and its endpoint.

use super::*;

fn source(kind: &str) -> SourceId {
    SourceId {
        kind: kind.to_owned(),
        namespace: None,
    }
}

fn object(name: &str) -> ObjectId {
    ObjectId {
        kind: "Document".to_owned(),
        namespace: Some("default".to_owned()),
        name: name.to_owned(),
    }
}

fn failing(message: &str) -> SourceState {
    SourceState::Failing {
        verb: "list".to_owned(),
        message: message.to_owned(),
    }
}

fn run(result: RunResult) -> RunReport {
    RunReport {
        result,
        error: None,
        failures: 0,
        duration_ms: 1,
        next_ms: None,
        causes: vec!["first list".to_owned()],
    }
}

fn board() -> Board {
    let board = Board::new("documents");
    board.expect("document", "Document", [source("Document"), source("Secret")]);
    board
}

/// kubewarden/adm-controller#1320: a refused first list kept readiness waiting and said nothing.
#[tokio::test(start_paused = true)]
async fn readiness_names_what_is_not_in_sync_and_turns_green_without_a_restart() {
    let board = board();
    board.source("document", &source("Document"), SourceState::Watching);
    board.source("document", &source("Secret"), failing("secrets is forbidden"));
    let Readiness::NotReady(lines) = board.readiness() else {
        panic!("{:?}", board.readiness())
    };
    assert_eq!(lines, ["document: cannot list Secret: secrets is forbidden"]);
    board.source("document", &source("Secret"), SourceState::Watching);
    board.synced("document");
    assert_eq!(board.readiness(), Readiness::Ready);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_goes_away_after_sync_degrades_and_keeps_green() {
    let board = board();
    board.synced("document");
    board.source("document", &source("Secret"), failing("connection refused"));
    let readiness = board.readiness();
    assert!(readiness.is_ready());
    assert_eq!(
        readiness.to_string(),
        "ready, degraded\n- document: cannot list Secret: connection refused\n"
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_signal_and_the_end_of_a_controller_turn_readiness_red() {
    let stopping = board();
    stopping.synced("document");
    stopping.stopping();
    assert_eq!(stopping.readiness().to_string(), "not ready\n- stopping\n");

    let ended = board();
    ended.synced("document");
    ended.ended("document", Some("no context"));
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
        let object = object(&format!("o{index}"));
        board.reconciled("document", object.clone(), run(RunResult::Ok));
        board.forget("document", &object);
    }
    board.reconciled("document", object("alive"), run(RunResult::Permanent));
    let status = board.status();
    let names: Vec<_> = status.controllers[0]
        .objects
        .iter()
        .map(|o| o.object.name.as_str())
        .collect();
    assert_eq!(names, ["alive"]);
}

#[tokio::test(start_paused = true)]
async fn times_are_told_relative_to_the_answer() {
    let board = board();
    let report = RunReport {
        next_ms: Some(5_000),
        ..run(RunResult::Error)
    };
    board.reconciled("document", object("a"), report);
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
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
    for state in [
        failing("no"),
        failing("no"),
        SourceState::Watching,
        SourceState::Watching,
    ] {
        board.source("document", &source("Secret"), state);
    }
    drop(board);
    let mut types = Vec::new();
    while let Some(line) = listener.next().await {
        let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
        types.push(line["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(types, ["started", "source_failing", "source_recovered"]);
}

#[cfg(feature = "probes")]
mod endpoint {
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

    use super::*;

    async fn started(board: Board) -> std::net::SocketAddr {
        let server = StatusServer::bind(([127, 0, 0, 1], 0).into(), board)
            .await
            .unwrap();
        let address = server.address().unwrap();
        tokio::spawn(server.serve());
        address
    }

    async fn ask(address: std::net::SocketAddr, request: &str) -> BufReader<tokio::net::TcpStream> {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
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
        board.reconciled("document", object("a"), run(RunResult::Ok));
        let line = wait_for("\"reconciled\"").await;
        assert!(
            line.contains(r#""name":"a""#) && line.contains(r#""result":"ok""#),
            "{line}"
        );
    }
}
