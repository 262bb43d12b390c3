//! Volumes, claims and their classes.

use serde_json::{Value, json};

use super::{at, object, set, set_all};

pub(super) fn apply(kind: &str, value: &mut Value) {
    match kind {
        "PersistentVolume" => {
            pending(value);
            if let Some(spec) = object(value, "spec") {
                set_all(
                    spec,
                    json!({"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}),
                );
                if let Some(path) = at(spec, &["hostPath"]) {
                    set(path, "type", "");
                }
            }
        }
        "PersistentVolumeClaim" => {
            pending(value);
            if let Some(spec) = object(value, "spec") {
                set(spec, "volumeMode", "Filesystem");
            }
        }
        "StorageClass" => set_all(
            value,
            json!({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
        ),
        "CSIDriver" => {
            if let Some(spec) = object(value, "spec") {
                set_all(
                    spec,
                    json!({
                        "attachRequired": true,
                        "fsGroupPolicy": "ReadWriteOnceWithFSType",
                        "podInfoOnMount": false,
                        "requiresRepublish": false,
                        "seLinuxMount": false,
                        "storageCapacity": false,
                        "volumeLifecycleModes": ["Persistent"],
                    }),
                );
            }
        }
        _ => {}
    }
}

fn pending(value: &mut Value) {
    if let Some(status) = object(value, "status") {
        set(status, "phase", "Pending");
    }
}
