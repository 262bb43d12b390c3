//! Kubernetes Events, as they are written on the server of this session.

use std::time::Duration;

use futures::TryStreamExt;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, WatchEvent, WatchParams},
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::narrate::{Line, Mood};

/// How many may wait to be told.
const WAITING: usize = 64;

/// A line for each Event that is new, or counted again. Ends when the receiver is dropped.
pub(crate) fn events(client: Client) -> mpsc::Receiver<Line> {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("events.k8s.io", "v1", "Event"));
        let events: Api<DynamicObject> = Api::all_with(client, &kind);
        while !sender.is_closed() {
            // The server is in this process: what fails here is its end, or its history was dropped.
            let _ = follow(&events, &sender).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    receiver
}

async fn follow(events: &Api<DynamicObject>, sender: &mpsc::Sender<Line>) -> Result<(), kube::Error> {
    let list = events.list(&ListParams::default().limit(1)).await?;
    let version = list.metadata.resource_version.unwrap_or_default();
    let mut changes = std::pin::pin!(events.watch(&WatchParams::default(), &version).await?);
    while let Some(change) = changes.try_next().await? {
        let (WatchEvent::Added(event) | WatchEvent::Modified(event)) = change else {
            continue;
        };
        if sender.send(line(&event.data)).await.is_err() {
            break;
        }
    }
    Ok(())
}

fn line(event: &Value) -> Line {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = &event["regarding"];
    let name = match about["namespace"].as_str() {
        Some(namespace) => format!("{namespace}/{}", text(&about["name"])),
        None => text(&about["name"]),
    };
    let mood = if event["type"] == "Warning" {
        Mood::Warn
    } else {
        Mood::Plain
    };
    let count = match event["series"]["count"].as_u64() {
        Some(count) if count > 1 => format!("  ({count} times)"),
        _ => String::new(),
    };
    let reason = text(&event["reason"]);
    let note = text(&event["note"]);
    Line::new(
        mood,
        "event",
        format!("{} {name}: {reason}: {note}{count}", text(&about["kind"])),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_reads_like_a_sentence() {
        let event = serde_json::json!({
            "type": "Warning", "reason": "NoSecret", "note": "secret \"late\" is not there",
            "regarding": { "kind": "Document", "namespace": "default", "name": "early" },
            "series": { "count": 3 },
        });
        let line = line(&event);
        assert_eq!(
            line.text,
            "Document default/early: NoSecret: secret \"late\" is not there  (3 times)"
        );
        assert_eq!(line.mood, Mood::Warn);
    }
}
