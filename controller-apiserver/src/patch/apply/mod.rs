//! Server-side apply, and the ownership of fields under every other write (KEP-555).
//!
//! [`apply`] merges a configuration into a live object and [`track_update`] records what another kind
//! of write changed; both settle `metadata.managedFields`. The rules are those of the library that
//! servers use (structured-merge-diff): a manager owns what it applied or changed; changing a value
//! that another owns is a conflict for an apply, unless forced, and silent for everything else; what a
//! manager no longer applies goes away unless somebody else owns it.
//!
//! Here ends what a field manager does. Dropping of `status` or of everything else, defaults,
//! validation, resourceVersion and uid are the caller's, *after* these calls; so is
//! [`keep_times`], last of all before it looks whether anything changed.

mod atom;
mod compare;
mod error;
mod fieldset;
mod last_applied;
mod managed;
mod merge;
mod reconcile;
mod remove;
mod reset;
pub mod scale;
mod track;
mod update;
mod validate;

use jiff::Timestamp;
use serde_json::{Value, json};

pub use error::{ApplyError, Conflicts};
pub use reset::ResetFields;
pub use track::track_update;

use self::{
    managed::{Key, Managed, Operation},
    update::{Others, Writer},
    validate::{Duplicates, validate},
};
use super::{fields::Set, typed::Schema};

/// Who writes, and through which endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Manager<'a> {
    /// The field manager of the request; [`default_manager`] where none is given.
    pub name: &'a str,
    /// Empty for the object itself, else `status`, `scale` ….
    pub subresource: &'a str,
    /// The group version of the request: `v1`, `apps/v1`.
    pub api_version: &'a str,
}

/// The versions of the kind that is written.
pub trait Versions {
    /// The schema in an `apiVersion`; `None` if there is no such version.
    fn schema(&self, api_version: &str) -> Option<Schema>;

    /// The object in another version. Without conversion only `apiVersion` changes.
    fn convert(&self, object: &Value, api_version: &str) -> Value {
        let mut object = object.clone();
        object["apiVersion"] = json!(api_version);
        object
    }
}

/// The kind that is written.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// `Deployment`.
    pub kind: &'a str,
    /// Its versions.
    pub versions: &'a dyn Versions,
    /// Fields that the endpoint of the request resets.
    pub reset: &'a ResetFields,
    /// Whether objects are built in: a new one then holds what Go always writes.
    pub builtin: bool,
}

impl std::fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl Target<'_> {
    fn writer<'a>(&'a self, manager: &Manager<'a>) -> Result<Writer<'a>, ApplyError> {
        let schema = self.versions.schema(manager.api_version).ok_or_else(|| {
            let gvk = gvk(manager.api_version, self.kind);
            ApplyError::Internal(format!("no corresponding type for {gvk}"))
        })?;
        Ok(Writer {
            target: self,
            api_version: manager.api_version,
            schema,
            reset: self.reset.set(),
        })
    }

    /// The object in which nobody has set anything.
    fn empty(&self, writer: &Writer<'_>) -> Value {
        let mut empty = if self.builtin {
            writer.schema.empty()
        } else {
            json!({})
        };
        empty["apiVersion"] = json!(writer.api_version);
        empty["kind"] = json!(self.kind);
        empty
    }
}

/// Applies a configuration to the live object, or to none.
///
/// The result has the `managedFields` to store. A `null` in it means that a field was emptied.
///
/// # Errors
///
/// [`ApplyError`]; nothing is changed.
pub fn apply(
    target: &Target<'_>,
    live: Option<&Value>,
    applied: &Value,
    manager: &Manager<'_>,
    force: bool,
    now: Timestamp,
) -> Result<Value, ApplyError> {
    let given = gvk(
        applied["apiVersion"].as_str().unwrap_or_default(),
        applied["kind"].as_str().unwrap_or_default(),
    );
    if given != gvk(manager.api_version, target.kind) {
        return Err(ApplyError::BadRequest(format!("invalid object type: {given}")));
    }
    let writer = target.writer(manager)?;
    let (mut live, owners) = match live {
        Some(live) => {
            let owners = Managed::of(live)
                .map_err(|error| ApplyError::Internal(format!("failed to decode managed fields: {error}")))?;
            (live.clone(), owners)
        }
        None => (target.empty(&writer), Managed::default()),
    };
    managed::strip(&mut live);
    let apply = |others| apply_once(&writer, &live, applied, &owners, manager, others, now);
    let mut object = match apply(if force {
        Others::Overruled
    } else {
        Others::Respected
    }) {
        Err(ApplyError::Conflict(conflicts)) if manager.name == last_applied::MANAGER => {
            last_applied::excuse(&writer, &live, conflicts)?;
            apply(Others::Overruled)?
        }
        other => other?,
    };
    if manager.name == last_applied::MANAGER {
        last_applied::renew(&mut object, applied);
    }
    Ok(object)
}

fn apply_once(
    writer: &Writer<'_>,
    live: &Value,
    applied: &Value,
    owners: &Managed,
    manager: &Manager<'_>,
    others: Others,
    now: Timestamp,
) -> Result<Value, ApplyError> {
    let mut owners = owners.clone();
    if owners.0.is_empty() {
        let before = Manager {
            name: "before-first-apply",
            ..*manager
        };
        let empty = writer.target.empty(writer);
        owners = track::updated(writer, &empty, live, &owners, &before, now).map_err(|error| {
            ApplyError::Internal(format!("failed to create manager for existing fields: {error}"))
        })?;
    }
    if !applied["metadata"]["managedFields"].is_null() {
        let text = "metadata.managedFields must be nil";
        return Err(ApplyError::BadRequest(text.to_owned()));
    }
    let typed = |object, duplicates, what: &str| {
        validate(&writer.schema, object, duplicates).map_err(|error| {
            let named = description(object);
            ApplyError::Internal(format!("failed to create typed {what} object ({named}): {error}"))
        })
    };
    typed(applied, Duplicates::Refused, "patch")?;
    typed(live, Duplicates::Allowed, "live")?;
    let key = Key::new(manager, Operation::Apply);
    let (object, mut owners) = writer.apply(live, applied, &owners, &key, others)?;
    strip_system_fields(&mut owners, &key);
    if let (Some(_), Some(entry)) = (&object, owners.0.get_mut(&key)) {
        entry.time = Some(timestamp(now));
    }
    let mut object = object.unwrap_or_else(|| live.clone());
    managed::strip(&mut object);
    owners.store(&mut object);
    Ok(object)
}

/// Puts back the times of entries when nothing but times has changed. To be called when the object is
/// otherwise ready: the write then turns out to be none.
pub fn keep_times(old: &Value, new: &mut Value) {
    let entries = |object: &Value| object["metadata"]["managedFields"].as_array().cloned();
    let (Some(mut before), Some(mut after)) = (entries(old), entries(new)) else {
        return;
    };
    let kept = old["metadata"]["managedFields"].clone();
    for entry in before.iter_mut().chain(&mut after) {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("time");
        }
    }
    if before != after {
        return;
    }
    let changed = std::mem::replace(&mut new["metadata"]["managedFields"], kept);
    if new != old {
        new["metadata"]["managedFields"] = changed;
    }
}

/// The manager of a request that names none: the `User-Agent` up to its first `/`, cut to 128 bytes.
pub fn default_manager(user_agent: &str) -> String {
    let name = user_agent.split('/').next().unwrap_or_default();
    let printable = name.chars().filter(|c| !c.is_control());
    let mut length = 0;
    printable
        .take_while(|c| {
            length += c.len_utf8();
            length <= 128
        })
        .collect()
}

/// Fields that nobody ever owns.
fn system_fields() -> Set {
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let top = [vec!["apiVersion"], vec!["kind"], vec!["metadata"]];
    Set::of(top.into_iter().chain(metadata.map(|name| vec!["metadata", name])))
}

fn strip_system_fields(owners: &mut Managed, key: &Key) {
    if let Some(entry) = owners.0.get_mut(key) {
        entry.fields = entry.fields.difference(&system_fields());
        if entry.fields.is_empty() {
            owners.0.remove(key);
        }
    }
}

fn gvk(api_version: &str, kind: &str) -> String {
    let separator = if api_version.contains('/') { "" } else { "/" };
    format!("{separator}{api_version}, Kind={kind}")
}

/// How servers name an object in errors: `namespace/name; group/version, Kind=kind`.
fn description(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let gvk = gvk(&text(&object["apiVersion"]), &text(&object["kind"]));
    format!(
        "{}/{}; {gvk}",
        text(&metadata["namespace"]),
        text(&metadata["name"])
    )
}

fn timestamp(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests;
