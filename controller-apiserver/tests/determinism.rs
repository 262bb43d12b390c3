//! One seed, one journal: byte for byte, in two processes.

use std::process::Command;
use std::time::Duration;

use controller_apiserver::{Fault, Server, Verb, When};
use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::runtime::watcher;
use serde_json::json;

/// Tells the second process that it is one.
const CHILD: &str = "CONTROLLER_APISERVER_JOURNAL";

/// A day's work: several clients at once, watches, owners, namespaces, faults, time.
#[expect(clippy::unwrap_used, reason = "a test")]
async fn play(seed: u64) -> String {
    let server = Server::builder().seed(seed).service_accounts(true).build();
    server
        .faults()
        .inject(When::verb(Verb::Patch).name("m-3").times(2), Fault::status(503));
    let watches: Vec<_> = (0..3)
        .map(|n| {
            let api = Api::<ConfigMap>::all(server.client_named(format!("watcher-{n}")));
            tokio::spawn(
                watcher(api, watcher::Config::default()).try_for_each(|_| std::future::ready(Ok(()))),
            )
        })
        .collect();
    let writers: Vec<_> = (0..4)
        .map(|n| {
            let client = server.client_named(format!("writer-{n}"));
            tokio::spawn(async move {
                let api = Api::<ConfigMap>::namespaced(client, "default");
                for round in 0..5 {
                    let map = json!({"metadata": {"generateName": format!("w{n}-")}, "data": {"r": round.to_string()}});
                    let made = api
                        .create(&PostParams::default(), &serde_json::from_value(map).unwrap())
                        .await
                        .unwrap();
                    let patch = json!({"data": {"r": "changed"}});
                    let name = made.metadata.name.unwrap();
                    let _ = api
                        .patch(&name, &PatchParams::default(), &Patch::Merge(patch))
                        .await;
                    tokio::time::sleep(Duration::from_secs(n + 1)).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let client = server.client_named("owner");
    let namespaces = Api::<Namespace>::all(client.clone());
    let namespace = json!({"metadata": {"name": "x"}});
    namespaces
        .create(
            &PostParams::default(),
            &serde_json::from_value(namespace).unwrap(),
        )
        .await
        .unwrap();
    let maps = Api::<ConfigMap>::namespaced(client, "x");
    for n in 0..6 {
        let mut map = json!({"metadata": {"name": format!("m-{n}")}});
        if n > 0 {
            let owner = maps.get("m-0").await.unwrap();
            map["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "v1", "kind": "ConfigMap", "name": "m-0", "uid": owner.metadata.uid,
            }]);
        }
        maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap())
            .await
            .unwrap();
        let _ = maps
            .patch(&format!("m-{n}"), &PatchParams::apply("owner").force(), &Patch::Apply(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m-{n}")}, "data": {"n": "1"},
            })))
            .await;
    }
    let foreground = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Foreground),
        ..DeleteParams::default()
    };
    maps.delete("m-0", &foreground).await.unwrap();
    server.advance(Duration::from_secs(3600)).await.unwrap();
    namespaces.delete("x", &DeleteParams::default()).await.unwrap();
    server.settle().await.unwrap();
    let left = Api::<ConfigMap>::all(server.client())
        .list(&ListParams::default())
        .await
        .unwrap();
    for watch in watches {
        watch.abort();
    }
    let objects = serde_json::to_string(&left).unwrap();
    format!("{}{objects}\n", server.journal().to_ndjson())
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_journal_in_two_processes() {
    let here = play(7).await;
    if std::env::var_os(CHILD).is_some() {
        println!("{here}");
        return;
    }
    let there = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "the_same_seed_gives_the_same_journal_in_two_processes",
            "--nocapture",
        ])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let there = String::from_utf8(there.stdout).unwrap();
    assert!(here.lines().count() > 60, "the journal has content: {here}");
    let line_of = |line: &str| there.lines().any(|other| other.ends_with(line));
    for line in here.lines() {
        assert!(line_of(line), "only here: {line}");
    }
    assert!(there.contains(&here), "the order is another");
}

#[tokio::test(start_paused = true)]
async fn another_seed_gives_other_names() {
    assert_ne!(play(7).await, play(8).await);
}
