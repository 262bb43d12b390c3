//! Tables as a whole; cells are tested where they are made.

use serde_json::json;

use super::*;
use crate::{codec::accept::Form, registry::Registry};

fn asked(include: IncludeObject, version: FormVersion) -> Accept {
    Accept {
        form: Form::Table,
        include,
        version,
        ..Accept::default()
    }
}

#[test]
fn a_row_carries_what_was_asked_for() {
    let now = "2026-01-01T00:01:00Z".parse().unwrap();
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1", "b": "2"},
        "metadata": {"name": "x", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}});
    let columns = Columns::builtin("", "ConfigMap");
    for (include, row_object) in [
        (IncludeObject::None, Value::Null),
        (IncludeObject::Object, object.clone()),
        (
            IncludeObject::Metadata,
            json!({"apiVersion": "meta.k8s.io/v1beta1", "kind": "PartialObjectMetadata", "metadata": object["metadata"]}),
        ),
    ] {
        let table = columns.of_object(&object, asked(include, FormVersion::V1Beta1), now);
        assert_eq!(table["apiVersion"], "meta.k8s.io/v1beta1");
        assert_eq!(table["metadata"], json!({"resourceVersion": "7"}));
        assert_eq!(
            table["rows"],
            json!([{"cells": ["x", 2, "60s"], "object": row_object}])
        );
    }
}

#[test]
fn every_built_in_kind_prints_a_cell_for_each_column_of_any_object() {
    let now = Timestamp::UNIX_EPOCH;
    for resource in Registry::new().all() {
        let columns = resource.columns();
        let width = columns.definitions().as_array().unwrap().len();
        let whole = crate::patch::typed::builtin(&resource.group, &resource.version, &resource.kind)
            .map(|schema| schema.empty())
            .unwrap_or_default();
        for object in [
            json!({}),
            whole,
            json!({"spec": [], "status": 1, "metadata": "none"}),
        ] {
            let cells = columns.cells(&object, now);
            assert_eq!(
                cells.as_array().unwrap().len(),
                width,
                "{}: {object}",
                resource.kind
            );
        }
    }
}

#[test]
fn an_ended_pod_says_so() {
    let pod = json!({"status": {"phase": "Succeeded"}});
    let row = Columns::builtin("", "Pod").row(&pod, Accept::default(), Timestamp::UNIX_EPOCH);
    assert_eq!(row["conditions"][0]["reason"], "Succeeded");
}
