//! What cannot be converted here is refused when it is defined, and not converted wrongly later.

use serde_json::{Value, json};

use crate::Cluster;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition(conversion: &Value) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": schema});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gears.x.io"},
        "spec": {
            "group": "x.io", "scope": "Namespaced",
            "names": {"plural": "gears", "singular": "gear", "kind": "Gear", "listKind": "GearList"},
            "versions": [version("v1", true), version("v1beta1", false)], "conversion": conversion,
        },
    })
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_needs_a_conversion_webhook_is_refused() {
    let cluster = Cluster::new().await;
    let client = json!({"url": "https://example.com/convert"});
    let webhook = definition(&json!({"strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}));
    let refused = |(code, answer): (u16, Value)| {
        assert_eq!(code, 422, "{answer}");
        let causes = answer["details"]["causes"].as_array().unwrap();
        assert_eq!(causes.len(), 1, "{answer}");
        assert_eq!(causes[0]["field"], "spec.conversion.strategy");
    };
    refused(
        cluster
            .send("POST", DEFINITIONS, "application/json", &webhook)
            .await,
    );
    let none = definition(&json!({"strategy": "None"}));
    cluster.post(DEFINITIONS, none).await;
    cluster.settle().await;
    let mut changed = webhook;
    let item = format!("{DEFINITIONS}/gears.x.io");
    changed["metadata"]["resourceVersion"] =
        cluster.get(&item).await.1["metadata"]["resourceVersion"].clone();
    refused(cluster.put(&item, changed).await);
}
