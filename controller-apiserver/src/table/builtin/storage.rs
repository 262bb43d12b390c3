//! Volumes and claims.

use serde_json::{Value, json};

use super::{
    AGE, NAME, Printer, Row, column, integer,
    row::{UNSET, joined},
    text, wide,
};

pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "PersistentVolume" => &VOLUME,
        "PersistentVolumeClaim" => &CLAIM,
        "StorageClass" => &CLASS,
        "VolumeAttributesClass" => &ATTRIBUTES_CLASS,
        "VolumeAttachment" => &ATTACHMENT,
        "CSINode" => &CSI_NODE,
        "CSIDriver" => &CSI_DRIVER,
        "CSIStorageCapacity" => &CSI_CAPACITY,
        _ => return None,
    })
}

/// Access modes by their letters, in one order, each once.
fn modes(row: &Row<'_>, path: &str) -> String {
    let given = row.list(path);
    [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ]
    .iter()
    .filter(|(mode, _)| given.iter().any(|given| given == mode))
    .map(|(_, letters)| *letters)
    .collect::<Vec<_>>()
    .join(",")
}

/// The class of a volume or claim: the old annotation before the field.
fn class(row: &Row<'_>) -> String {
    let annotation = &row.at("metadata.annotations")["volume.beta.kubernetes.io/storage-class"];
    annotation
        .as_str()
        .unwrap_or_else(|| row.str("spec.storageClassName"))
        .to_owned()
}

static VOLUME: Printer = Printer {
    columns: &[
        NAME,
        text("Capacity"),
        text("Access Modes"),
        text("Reclaim Policy"),
        text("Status"),
        text("Claim"),
        text("StorageClass"),
        text("VolumeAttributesClass"),
        text("Reason"),
        AGE,
        wide("VolumeMode"),
    ],
    cells: |row| {
        let claim = match row.at("spec.claimRef") {
            Value::Null => String::new(),
            _ => format!(
                "{}/{}",
                row.str("spec.claimRef.namespace"),
                row.str("spec.claimRef.name")
            ),
        };
        let phase = match row.at("metadata.deletionTimestamp") {
            Value::Null => row.str("status.phase"),
            _ => "Terminating",
        };
        vec![
            row.name(),
            row.text("spec.capacity.storage"),
            json!(modes(row, "spec.accessModes")),
            row.text("spec.persistentVolumeReclaimPolicy"),
            json!(phase),
            json!(claim),
            json!(class(row)),
            row.text_or("spec.volumeAttributesClassName", UNSET),
            row.text("status.reason"),
            row.age(),
            row.text_or("spec.volumeMode", UNSET),
        ]
    },
};

static CLAIM: Printer = Printer {
    columns: &[
        NAME,
        text("Status"),
        text("Volume"),
        text("Capacity"),
        text("Access Modes"),
        text("StorageClass"),
        text("VolumeAttributesClass"),
        AGE,
        wide("VolumeMode"),
    ],
    cells: |row| {
        let phase = match row.at("metadata.deletionTimestamp") {
            Value::Null => row.str("status.phase"),
            _ => "Terminating",
        };
        let bound = !row.str("spec.volumeName").is_empty();
        let capacity = if bound {
            row.str("status.capacity.storage")
        } else {
            ""
        };
        let modes = if bound {
            modes(row, "status.accessModes")
        } else {
            String::new()
        };
        vec![
            row.name(),
            json!(phase),
            row.text("spec.volumeName"),
            json!(capacity),
            json!(modes),
            json!(class(row)),
            row.text_or("spec.volumeAttributesClassName", UNSET),
            row.age(),
            row.text_or("spec.volumeMode", UNSET),
        ]
    },
};

static CLASS: Printer = Printer {
    columns: &[
        NAME,
        text("Provisioner"),
        text("ReclaimPolicy"),
        text("VolumeBindingMode"),
        column("AllowVolumeExpansion", "boolean", "", 0),
        AGE,
    ],
    cells: |row| {
        const DEFAULT: [&str; 2] = [
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ];
        let annotations = row.at("metadata.annotations");
        let default = DEFAULT.iter().any(|key| annotations[*key] == "true");
        let name = format!(
            "{}{}",
            row.str("metadata.name"),
            if default { " (default)" } else { "" }
        );
        vec![
            json!(name),
            row.text("provisioner"),
            row.text_or("reclaimPolicy", "Delete"),
            row.text_or("volumeBindingMode", "Immediate"),
            json!(row.is("allowVolumeExpansion")),
            row.age(),
        ]
    },
};

static ATTRIBUTES_CLASS: Printer = Printer {
    columns: &[NAME, text("DriverName"), AGE],
    cells: |row| vec![row.name(), row.text("driverName"), row.age()],
};

static ATTACHMENT: Printer = Printer {
    columns: &[
        NAME,
        column("Attacher", "string", "name", 0),
        text("PV"),
        text("Node"),
        column("Attached", "boolean", "", 0),
        AGE,
    ],
    cells: |row| {
        vec![
            row.name(),
            row.text("spec.attacher"),
            row.text("spec.source.persistentVolumeName"),
            row.text("spec.nodeName"),
            json!(row.is("status.attached")),
            row.age(),
        ]
    },
};

static CSI_NODE: Printer = Printer {
    columns: &[NAME, integer("Drivers"), AGE],
    cells: |row| vec![row.name(), json!(row.count("spec.drivers")), row.age()],
};

static CSI_DRIVER: Printer = Printer {
    columns: &[
        NAME,
        column("AttachRequired", "boolean", "", 0),
        column("PodInfoOnMount", "boolean", "", 0),
        column("StorageCapacity", "boolean", "", 0),
        text("TokenRequests"),
        column("RequiresRepublish", "boolean", "", 0),
        text("Modes"),
        AGE,
    ],
    cells: |row| {
        let lifecycle = row
            .list("spec.volumeLifecycleModes")
            .iter()
            .filter_map(Value::as_str);
        let audiences = row
            .list("spec.tokenRequests")
            .iter()
            .filter_map(|request| request["audience"].as_str());
        let audiences: Vec<_> = audiences.collect();
        let audiences = if audiences.is_empty() {
            UNSET.to_owned()
        } else {
            audiences.join(",")
        };
        vec![
            row.name(),
            json!(row.at("spec.attachRequired").as_bool().unwrap_or(true)),
            json!(row.is("spec.podInfoOnMount")),
            json!(row.is("spec.storageCapacity")),
            json!(audiences),
            json!(row.is("spec.requiresRepublish")),
            json!(joined(lifecycle)),
            row.age(),
        ]
    },
};

static CSI_CAPACITY: Printer = Printer {
    columns: &[NAME, text("StorageClassName"), text("Capacity"), AGE],
    cells: |row| {
        let capacity = row.text("capacity");
        vec![row.name(), row.text("storageClassName"), capacity, row.age()]
    },
};
