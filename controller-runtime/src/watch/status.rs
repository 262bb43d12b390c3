//! How a source is doing: for readiness, metrics, logs and error texts.

use std::{collections::BTreeMap, fmt, sync::Arc};

use kube::Resource;

use crate::clock::Instant;

/// What is listed and watched: one kind, in one namespace or all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// The resource, as in the URL.
    pub plural: String,
    /// The namespace; `None` for cluster-scoped kinds and for all namespaces.
    pub namespace: Option<String>,
}

impl Source {
    /// The source of a kind.
    pub fn new<K: Resource>(dyntype: &K::DynamicType, namespace: Option<&str>) -> Self {
        Self {
            group: K::group(dyntype).into_owned(),
            version: K::version(dyntype).into_owned(),
            kind: K::kind(dyntype).into_owned(),
            plural: K::plural(dyntype).into_owned(),
            namespace: namespace.map(str::to_owned),
        }
    }
}

impl Source {
    /// Group and version, as objects carry them.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        write!(f, " ({} {})", self.kind, self.version)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

/// The two verbs that a source needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Reading the whole set, by pages.
    List,
    /// Following changes; a streaming list is one, too.
    Watch,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::Watch => "watch",
        })
    }
}

/// What a source is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Nothing drives it yet.
    Idle,
    /// The whole set is being read.
    Listing,
    /// A watch is open, or being opened after an ordinary end.
    Watching,
    /// The last request failed, and none has succeeded since.
    Failing,
}

/// Why a source is failing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What was tried.
    pub verb: Verb,
    /// What went wrong, in the server's words where there are any.
    pub message: String,
    /// The HTTP status, where there was one.
    pub code: Option<u16>,
    /// Since when, without a healthy spell between.
    pub since: Instant,
    /// How often since then.
    pub failures: u32,
}

/// The state of one source, true at every moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceStatus {
    /// What is watched.
    pub source: Arc<Source>,
    /// What it is doing.
    pub phase: Phase,
    /// Since when it is doing that.
    pub since: Instant,
    /// A complete list has been read.
    pub synced: bool,
    /// How often a complete list has been read again since then.
    pub relists: u64,
    /// Why it fails; `None` when it does not.
    pub problem: Option<Problem>,
    /// Objects that could not be decoded, by namespace and name; a hundred of them at most. What the store holds of
    /// them is the copy before.
    pub undecodable: Arc<BTreeMap<(Option<String>, String), Undecodable>>,
}

/// An object that could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// Its uid, if that could be read.
    pub uid: Option<String>,
    /// Its resourceVersion, if that could be read.
    pub resource_version: Option<String>,
    /// What is wrong with it, and where in its text.
    pub message: String,
}

impl SourceStatus {
    /// A source that nothing drives yet.
    pub fn idle(source: Source, now: Instant) -> Self {
        Self {
            source: Arc::new(source),
            phase: Phase::Idle,
            since: now,
            synced: false,
            relists: 0,
            problem: None,
            undecodable: Arc::default(),
        }
    }
}

impl fmt::Display for SourceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match (&self.problem, self.phase) {
            (Some(problem), _) => problem.verb,
            (None, Phase::Watching) => Verb::Watch,
            (None, _) => Verb::List,
        };
        write!(f, "{verb} {}", self.source)?;
        match &self.problem {
            Some(problem) => write!(f, ": {} (failures: {})", problem.message, problem.failures),
            None => match self.phase {
                Phase::Idle => f.write_str(": not started"),
                _ if self.synced => f.write_str(": in sync"),
                _ => f.write_str(": in progress"),
            },
        }
    }
}
