//! One seed, one journal: byte for byte, with faults, failures and Events in it, in two processes.

use std::{process::Command, time::Duration};

use controller_runtime::{
    operator::{ElectionOptions, RunOptions},
    testing::{Cluster, Fault, Settings, Verb, When, run},
};
use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event};
use serde_json::json;

use crate::{Page, PageSpec, operator};

/// Tells the second process that it is one.
const CHILD: &str = "CONTROLLER_TEST_JOURNAL";

/// Two replicas, pages that fail and are mended, a server in trouble.
async fn play(cluster: &Cluster) -> String {
    let elect = || RunOptions::new().elect(ElectionOptions::new());
    cluster.start_with(operator(), elect()).await;
    cluster.start_with(operator(), elect()).await;
    cluster.fault(When::verb(Verb::Watch).times(4), Fault::status(503));
    cluster.fault(
        When::verb(Verb::Patch).resource("configmaps").skip(3).times(9),
        Fault::status(500),
    );
    for (index, text) in ["one", "", "three", "four"].into_iter().enumerate() {
        let page = PageSpec {
            text: text.to_owned(),
        };
        cluster.apply(Page::new(&format!("page-{index}"), page)).await;
    }
    cluster.advance(Duration::from_secs(120)).await;
    cluster
        .patch::<Page>("page-1", json!({"spec": {"text": "two"}}))
        .await;
    cluster.server().close_watches();
    cluster.advance(Duration::from_secs(240)).await;
    cluster.patch::<ConfigMap>("page-2", json!({"data": null})).await;
    cluster.advance(Duration::from_secs(240)).await;
    let mut text = cluster.server().journal().to_ndjson();
    for event in cluster.list::<Event>().await {
        text.push_str(&serde_json::to_string(&event).unwrap());
    }
    for page in cluster.list::<Page>().await {
        text.push_str(&serde_json::to_string(&page).unwrap());
    }
    text
}

fn journal(seed: u64) -> String {
    let mut journal = String::new();
    run(Settings::new().seed(seed), async |cluster| {
        journal = play(&cluster).await;
        Ok(())
    });
    journal
}

#[test]
fn the_same_seed_gives_the_same_journal_in_two_processes() {
    let here = journal(7);
    if std::env::var_os(CHILD).is_some() {
        println!("{here}");
        return;
    }
    let there = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "journal::the_same_seed_gives_the_same_journal_in_two_processes",
            "--nocapture",
        ])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let there = String::from_utf8(there.stdout).unwrap();
    assert!(here.contains("\"fault\":\"answer\""), "faults met it");
    for line in here.lines() {
        assert!(there.contains(line), "only here: {line}");
    }
    assert!(there.contains(&here), "the order is another");
}

#[test]
fn another_seed_gives_another_journal() {
    assert_ne!(journal(7), journal(8));
}
