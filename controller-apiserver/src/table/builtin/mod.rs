//! The columns of built-in kinds.
//!
//! Source: what servers of Kubernetes 1.36 print. A kind that is not listed has a name and an age.

mod access;
mod batch;
mod cluster;
mod network;
mod pod;
mod row;
mod storage;
mod workloads;

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::row::Row;
use super::Column;

/// How a kind is printed: a cell for each column.
#[derive(Debug)]
pub(super) struct Printer {
    columns: &'static [Column],
    cells: fn(&Row<'_>) -> Vec<Value>,
}

impl Printer {
    pub(super) fn columns(&self) -> &[Column] {
        self.columns
    }

    pub(super) fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let cells = (self.cells)(&Row { object, now });
        debug_assert_eq!(cells.len(), self.columns.len(), "one cell for each column");
        cells
    }

    /// What clients should know of a row: that its Pod has ended.
    pub(super) fn conditions(&self, object: &Value) -> Option<Value> {
        if !std::ptr::eq(self, &raw const pod::POD) {
            return None;
        }
        let phase = object["status"]["phase"].as_str()?;
        let message = match phase {
            "Succeeded" => "The pod has completed successfully.",
            "Failed" => "The pod failed.",
            _ => return None,
        };
        Some(json!([{"type": "Completed", "status": "True", "reason": phase, "message": message}]))
    }
}

const fn column(name: &'static str, kind: &'static str, format: &'static str, priority: i64) -> Column {
    Column {
        name: Cow::Borrowed(name),
        kind: Cow::Borrowed(kind),
        format: Cow::Borrowed(format),
        priority,
        description: Cow::Borrowed(""),
    }
}

const fn text(name: &'static str) -> Column {
    column(name, "string", "", 0)
}

const fn integer(name: &'static str) -> Column {
    column(name, "integer", "", 0)
}

/// Only for wide output.
const fn wide(name: &'static str) -> Column {
    column(name, "string", "", 1)
}

const NAME: Column = column("Name", "string", "name", 0);
const AGE: Column = text("Age");

static OTHER: Printer = Printer {
    columns: &[NAME, AGE],
    cells: |row| vec![row.name(), row.age()],
};

/// Of kinds for which servers have no columns of their own.
static DATED: Printer = Printer {
    columns: &[NAME, column("Created At", "date", "", 0)],
    cells: |row| vec![row.name(), row.object["metadata"]["creationTimestamp"].clone()],
};

/// The printer of a kind.
pub(super) fn printer(group: &str, kind: &str) -> &'static Printer {
    let printer = match group {
        "" => core(kind),
        "apps" | "autoscaling" | "policy" => workloads::printer(kind),
        "batch" => batch::printer(kind),
        "networking.k8s.io" | "discovery.k8s.io" => network::printer(kind),
        "storage.k8s.io" => storage::printer(kind),
        "rbac.authorization.k8s.io" | "admissionregistration.k8s.io" | "certificates.k8s.io" => {
            access::printer(kind)
        }
        "apiextensions.k8s.io" => Some(&DATED),
        _ => cluster::printer(kind),
    };
    printer.unwrap_or(&OTHER)
}

fn core(kind: &str) -> Option<&'static Printer> {
    match kind {
        "Pod" => Some(&pod::POD),
        "LimitRange" => Some(&DATED),
        _ => cluster::printer(kind)
            .or_else(|| workloads::printer(kind))
            .or_else(|| network::printer(kind))
            .or_else(|| storage::printer(kind)),
    }
}
