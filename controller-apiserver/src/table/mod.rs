//! Server-side printing: objects as rows of a `Table`, and as their metadata alone.
//!
//! Format: `meta.k8s.io/v1` `Table` (API conventions, "Receiving resources as Tables"; KEP-515). Which
//! columns a built-in kind has is Kubernetes' choice; those of custom resources are in their
//! definition. Columns of priority 1 are for wide output; they are always sent.

mod age;
mod builtin;
mod custom;
mod jsonpath;

use std::{borrow::Cow, sync::Arc};

use jiff::Timestamp;
use serde_json::{Value, json};

use self::{builtin::Printer, custom::CustomColumns};
use crate::codec::accept::{Accept, FormVersion};

/// What the field `name` of `ObjectMeta` is, in the words of every Kubernetes server.
const NAME_DESCRIPTION: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
/// What the field `creationTimestamp` of `ObjectMeta` is.
const AGE_DESCRIPTION: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The head of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    name: Cow<'static, str>,
    kind: Cow<'static, str>,
    format: Cow<'static, str>,
    priority: i64,
    description: Cow<'static, str>,
}

impl Column {
    fn name() -> Self {
        Self {
            name: "Name".into(),
            kind: "string".into(),
            format: "name".into(),
            priority: 0,
            description: NAME_DESCRIPTION.into(),
        }
    }

    fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "priority": self.priority,
            "description": self.description,
        })
    }
}

/// How the objects of a kind are printed.
#[derive(Clone, Debug)]
pub(crate) struct Columns(Of);

#[derive(Clone, Debug)]
enum Of {
    Builtin(&'static Printer),
    Custom(Arc<CustomColumns>),
}

/// What of the object a row carries (`includeObject`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    /// `PartialObjectMetadata`.
    #[default]
    Metadata,
    /// Nothing.
    None,
    /// All of it.
    Object,
}

impl IncludeObject {
    /// The parameter of a request; `None` for a word that is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "None" => Some(Self::None),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

impl Columns {
    /// Of a built-in kind.
    pub(crate) fn builtin(group: &str, kind: &str) -> Self {
        Self(Of::Builtin(builtin::printer(group, kind)))
    }

    /// Of a custom resource, from the `additionalPrinterColumns` of its version.
    pub(crate) fn custom(columns: Option<&Vec<Value>>) -> Self {
        let columns = columns.map(Vec::as_slice).unwrap_or_default();
        Self(Of::Custom(Arc::new(CustomColumns::new(columns))))
    }

    /// The table of one object, which must have `apiVersion` and `kind`.
    pub(crate) fn of_object(&self, object: &Value, accept: Accept, now: Timestamp) -> Value {
        let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
        self.of_list(std::slice::from_ref(object), metadata, accept, now)
    }

    /// The table of a list with this metadata.
    pub(crate) fn of_list(
        &self,
        objects: &[Value],
        metadata: Value,
        accept: Accept,
        now: Timestamp,
    ) -> Value {
        let rows: Vec<Value> = objects
            .iter()
            .map(|object| self.row(object, accept, now))
            .collect();
        let mut table = json!({"kind": "Table", "apiVersion": accept.version.api_version()});
        table["metadata"] = metadata;
        table["columnDefinitions"] = self.definitions();
        table["rows"] = rows.into();
        table
    }

    fn definitions(&self) -> Value {
        match &self.0 {
            Of::Builtin(printer) => printer.columns().iter().map(Column::definition).collect(),
            Of::Custom(custom) => std::iter::once(&Column::name())
                .chain(custom.columns())
                .map(Column::definition)
                .collect(),
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Value {
        match &self.0 {
            Of::Builtin(printer) => printer.cells(object, now).into(),
            Of::Custom(custom) => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                let mut cells = vec![json!(name)];
                cells.extend(custom.cells(object, now));
                cells.into()
            }
        }
    }

    fn row(&self, object: &Value, accept: Accept, now: Timestamp) -> Value {
        let mut row = json!({"cells": self.cells(object, now)});
        row["object"] = match accept.include {
            IncludeObject::Metadata => partial(object, accept.version),
            IncludeObject::None => Value::Null,
            IncludeObject::Object => object.clone(),
        };
        if let Of::Builtin(printer) = &self.0
            && let Some(conditions) = printer.conditions(object)
        {
            row["conditions"] = conditions;
        }
        row
    }
}

/// The metadata of an object alone (KEP-2334, `PartialObjectMetadata`).
pub(crate) fn partial(object: &Value, version: FormVersion) -> Value {
    json!({
        "apiVersion": version.api_version(),
        "kind": "PartialObjectMetadata",
        "metadata": object["metadata"],
    })
}

#[cfg(test)]
mod tests;
