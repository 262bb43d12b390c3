//! What was asked of the server, in order.
//!
//! An entry is written when its answer's headers are known, under the same lock as the commit: the
//! order of entries is the order of commits. Times are the server's. Two runs with one seed write the
//! same journal, byte for byte.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use crate::call::Verb;
use crate::rights::Right;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Entry {
    /// Rises by one with each entry, from 1.
    pub sequence: u64,
    /// The server's time.
    pub time: Timestamp,
    /// Who asked.
    pub user: String,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// What was done: `get`, `list`, `watch`, `create`, …
    pub verb: &'static str,
    /// The API group; empty for the core group.
    pub group: String,
    /// The version of the group.
    pub version: String,
    /// The resource: `configmaps`.
    pub resource: String,
    /// The subresource, or empty.
    pub subresource: String,
    /// The namespace, or empty.
    pub namespace: String,
    /// The object's name, or empty.
    pub name: String,
    /// The query, decoded.
    pub query: String,
    /// The HTTP code of the answer; 0 if there was none (the connection was cut, or hangs).
    pub code: u16,
    /// The reason of a refusal, or empty.
    pub reason: String,
    /// The server's revision after the request.
    pub revision: u64,
    /// The fault that was injected, or empty.
    pub fault: String,
    /// What the authorizer was asked beside the verb: `create` for a patch to a name that is not there, the rights that owner
    /// references want.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Right>,
}

impl Entry {
    /// The request changed something. A review is created, too, but nothing is kept of it.
    pub fn is_write(&self) -> bool {
        let review = matches!(&*self.group, "authorization.k8s.io" | "authentication.k8s.io");
        !review && !matches!(self.verb, "get" | "list" | "watch") && (200..300).contains(&self.code)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = [
            &self.group,
            &self.resource,
            &self.subresource,
            &self.namespace,
            &self.name,
        ];
        let place: Vec<&str> = place
            .iter()
            .map(|part| part.as_str())
            .filter(|part| !part.is_empty())
            .collect();
        write!(
            f,
            "#{} {} {} {} -> {}",
            self.sequence,
            self.time,
            self.verb,
            place.join("/"),
            self.code
        )
    }
}

/// How many entries are kept; the oldest go first.
const KEPT: usize = 100_000;

#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: std::collections::VecDeque<Entry>,
    sequence: u64,
}

impl Log {
    pub(crate) fn push(&mut self, mut entry: Entry) {
        self.sequence += 1;
        entry.sequence = self.sequence;
        if self.entries.len() == KEPT {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(crate) fn all(&self) -> Vec<Entry> {
        self.entries.iter().cloned().collect()
    }
}

/// A copy of the journal at one moment, and questions to it.
#[derive(Clone, Debug)]
pub struct Journal(pub(crate) Vec<Entry>);

impl Journal {
    /// All entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Only what came after an entry.
    #[must_use]
    pub fn after(&self, sequence: u64) -> Self {
        self.filter(|entry| entry.sequence > sequence)
    }

    /// Only requests of this kind.
    #[must_use]
    pub fn verb(&self, verb: Verb) -> Self {
        self.filter(|entry| entry.verb == verb.as_str())
    }

    /// Only requests for this resource (`configmaps`), of any group.
    #[must_use]
    pub fn resource(&self, resource: &str) -> Self {
        self.filter(|entry| entry.resource == resource)
    }

    /// Only requests for objects of this name.
    #[must_use]
    pub fn name(&self, name: &str) -> Self {
        self.filter(|entry| entry.name == name)
    }

    /// Only requests of this user.
    #[must_use]
    pub fn user(&self, name: &str) -> Self {
        self.filter(|entry| entry.user == name)
    }

    /// Only writes that succeeded.
    #[must_use]
    pub fn writes(&self) -> Self {
        self.filter(Entry::is_write)
    }

    /// Only what a question answers with yes.
    #[must_use]
    pub fn filter(&self, keep: impl Fn(&Entry) -> bool) -> Self {
        Self(self.0.iter().filter(|entry| keep(entry)).cloned().collect())
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One line of JSON per entry.
    pub fn to_ndjson(&self) -> String {
        let mut text = String::new();
        for entry in &self.0 {
            text.push_str(&serde_json::to_string(entry).unwrap_or_default());
            text.push('\n');
        }
        text
    }
}

impl fmt::Display for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.0 {
            writeln!(f, "{entry}")?;
        }
        Ok(())
    }
}
