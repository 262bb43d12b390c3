//! What is watched, and how patiently.

use std::time::Duration;

use kube::runtime::watcher;

use crate::Backoff;

/// How the whole set is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StreamingLists {
    /// As a streaming list (KEP-3157) where the server can, else by pages.
    #[default]
    Auto,
    /// Always by pages.
    Off,
}

/// What of an object is dropped before it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pruning {
    /// `metadata.managedFields`: often half of an object, and no controller reads them.
    #[default]
    ManagedFields,
    /// `metadata.managedFields`, but for the entries of this field manager.
    OtherManagers(String),
    /// Nothing.
    Nothing,
}

/// What is watched, and how patiently.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Label selector, as the API server takes it.
    pub labels: Option<String>,
    /// Field selector, as the API server takes it.
    pub fields: Option<String>,
    /// Objects per page; `None` reads all at once.
    pub page_size: Option<u32>,
    /// How the whole set is read.
    pub streaming_lists: StreamingLists,
    /// What is dropped before an object is kept.
    pub pruning: Pruning,
    /// After how long the server is to end a watch, in seconds.
    pub watch_seconds: u32,
    /// How much longer than that a watch may be silent before it is given up.
    pub idle_margin: Duration,
    /// How long to wait for the headers of a response, and for each further piece of a list.
    pub answer_limit: Duration,
    /// How long `wait_until_ready` waits.
    pub ready_limit: Duration,
    /// How long each source waits after a failure.
    pub backoff: Backoff,
    /// Watches that live for this long without a failure make the failures before them forgotten.
    pub healthy_after: Duration,
    /// Gives the same delays again, for tests.
    pub seed: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            labels: None,
            fields: None,
            page_size: Some(500),
            streaming_lists: StreamingLists::default(),
            pruning: Pruning::default(),
            watch_seconds: 290,
            idle_margin: Duration::from_secs(15),
            answer_limit: Duration::from_secs(30),
            ready_limit: Duration::from_secs(120),
            backoff: Backoff::default()
                .initial(Duration::from_millis(800))
                .max(Duration::from_secs(30))
                .jitter(0.5),
            healthy_after: Duration::from_secs(120),
            seed: None,
        }
    }
}

impl Config {
    /// Watches only objects with these labels.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// Watches only objects with these fields.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.fields = Some(selector.into());
        self
    }

    /// Reads lists in pages of this size.
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.page_size = Some(objects);
        self
    }

    /// Chooses how the whole set is read.
    #[must_use]
    pub fn streaming_lists(mut self, choice: StreamingLists) -> Self {
        self.streaming_lists = choice;
        self
    }

    /// Chooses what is dropped before an object is kept.
    #[must_use]
    pub fn pruning(mut self, pruning: Pruning) -> Self {
        self.pruning = pruning;
        self
    }

    /// How long `wait_until_ready` waits.
    #[must_use]
    pub fn ready_limit(mut self, limit: Duration) -> Self {
        self.ready_limit = limit;
        self
    }
}

/// Selectors, timeout and page size are taken over.
///
/// The list semantic is not: a list that may be older than what was seen before could bring deleted
/// objects back. The strategy is not either: a streaming list is tried first, and given up where it fails.
impl From<watcher::Config> for Config {
    fn from(config: watcher::Config) -> Self {
        let default = Self::default();
        Self {
            labels: config.label_selector,
            fields: config.field_selector,
            page_size: config.page_size,
            watch_seconds: config.timeout.unwrap_or(default.watch_seconds),
            ..default
        }
    }
}
