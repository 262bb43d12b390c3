//! Who may what: bindings of roles, certificates, admission.

use serde_json::{Value, json};

use super::{
    AGE, DATED, NAME, Printer, Row, integer,
    row::{NONE, UNSET, items},
    text, wide,
};

pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "Role" | "ClusterRole" => &DATED,
        "RoleBinding" | "ClusterRoleBinding" => &BINDING,
        "CertificateSigningRequest" => &SIGNING_REQUEST,
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => &WEBHOOKS,
        "ValidatingAdmissionPolicy" => &VALIDATING_POLICY,
        "MutatingAdmissionPolicy" => &MUTATING_POLICY,
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => &POLICY_BINDING,
        _ => return None,
    })
}

static BINDING: Printer = Printer {
    columns: &[
        NAME,
        text("Role"),
        AGE,
        wide("Users"),
        wide("Groups"),
        wide("ServiceAccounts"),
    ],
    cells: |row| {
        let subjects = row.list("subjects");
        let part = |subject: &Value, field: &str| subject[field].as_str().unwrap_or_default().to_owned();
        let of = |kind: &str| {
            let named = subjects
                .iter()
                .filter(|subject| subject["kind"] == kind)
                .map(|subject| match kind {
                    "ServiceAccount" => format!("{}/{}", part(subject, "namespace"), part(subject, "name")),
                    _ => part(subject, "name"),
                });
            json!(named.collect::<Vec<_>>().join(", "))
        };
        let role = format!("{}/{}", row.str("roleRef.kind"), row.str("roleRef.name"));
        vec![
            row.name(),
            json!(role),
            row.age(),
            of("User"),
            of("Group"),
            of("ServiceAccount"),
        ]
    },
};

static SIGNING_REQUEST: Printer = Printer {
    columns: &[
        NAME,
        AGE,
        text("SignerName"),
        text("Requestor"),
        text("RequestedDuration"),
        text("Condition"),
    ],
    cells: |row| {
        let duration = match row.at("spec.expirationSeconds").as_i64() {
            Some(seconds) => crate::table::age::human(seconds),
            None => NONE.to_owned(),
        };
        vec![
            row.name(),
            row.age(),
            row.text_or("spec.signerName", NONE),
            row.text("spec.username"),
            json!(duration),
            json!(decision(row)),
        ]
    },
};

fn decision(row: &Row<'_>) -> String {
    let conditions = items(row.at("status.conditions"));
    let has = |kind: &str| conditions.iter().any(|condition| condition["type"] == kind);
    let mut said = match (has("Approved"), has("Denied")) {
        (true, false) => "Approved",
        (_, true) => "Denied",
        _ => "Pending",
    }
    .to_owned();
    if has("Failed") {
        said.push_str(",Failed");
    }
    if !row.str("status.certificate").is_empty() {
        said.push_str(",Issued");
    }
    said
}

static WEBHOOKS: Printer = Printer {
    columns: &[NAME, integer("Webhooks"), AGE],
    cells: |row| vec![row.name(), json!(row.count("webhooks")), row.age()],
};

fn policy(row: &Row<'_>, rules: &str) -> Vec<Value> {
    let kind = match row.at("spec.paramKind") {
        Value::Null => UNSET.to_owned(),
        _ => format!(
            "{}/{}",
            row.str("spec.paramKind.apiVersion"),
            row.str("spec.paramKind.kind")
        ),
    };
    vec![row.name(), json!(row.count(rules)), json!(kind), row.age()]
}

static VALIDATING_POLICY: Printer = Printer {
    columns: &[NAME, integer("Validations"), text("ParamKind"), AGE],
    cells: |row| policy(row, "spec.validations"),
};

static MUTATING_POLICY: Printer = Printer {
    columns: &[NAME, integer("Mutations"), text("ParamKind"), AGE],
    cells: |row| policy(row, "spec.mutations"),
};

static POLICY_BINDING: Printer = Printer {
    columns: &[NAME, text("PolicyName"), text("ParamRef"), AGE],
    cells: |row| {
        let reference = row.at("spec.paramRef");
        let parameter = match (row.str("spec.paramRef.name"), row.str("spec.paramRef.namespace")) {
            _ if reference.is_null() => UNSET.to_owned(),
            ("", _) => "*".to_owned(),
            (name, "") => format!("*/{name}"),
            (name, namespace) => format!("{namespace}/{name}"),
        };
        vec![
            row.name(),
            row.text("spec.policyName"),
            json!(parameter),
            row.age(),
        ]
    },
};
