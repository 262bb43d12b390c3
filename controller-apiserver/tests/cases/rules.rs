//! Rules in CEL.

use serde_json::json;

use super::Cluster;

/// A rule without end for what it is given: the object is refused, and the other rules are let be.
#[tokio::test(start_paused = true)]
async fn a_rule_that_costs_too_much_is_told_in_the_words_of_the_server() {
    let cluster = Cluster::new().await;
    let list = json!({"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [
        {"rule": "self.all(a, self.all(b, self.all(c, a == b)))", "message": "all are one"},
        {"rule": "self.size() > 9000", "message": "there are many"},
    ]});
    let schema = json!({"type": "object", "properties": {"l": list}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "costs.x.io"},
        "spec": {"group": "x.io", "scope": "Namespaced", "names": {"plural": "costs", "kind": "Cost"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]},
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    cluster.post(definitions, definition).await;
    cluster.settle().await;
    for (length, told) in [
        (9, "there are many"),
        (
            1000,
            "\"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to \
             call cost exceeds limit for rule: all are one",
        ),
    ] {
        let object =
            json!({"apiVersion": "x.io/v1", "kind": "Cost", "metadata": {"name": "a"}, "l": vec![1; length]});
        let path = "/apis/x.io/v1/namespaces/default/costs";
        let (code, refusal) = cluster.send("POST", path, "application/json", &object).await;
        let causes = refusal["details"]["causes"].as_array().unwrap();
        assert_eq!((code, causes.len()), (422, 1), "{refusal}");
        assert_eq!(causes[0]["field"], "l");
        assert_eq!(causes[0]["message"], format!("Invalid value: {told}"));
    }
}
