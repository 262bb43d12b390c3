//! The numbers of a controller, as they were declared.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// Debounce, concurrency, timeout and resync of one controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ConfigDeclaration {
    /// How long a key waits for more triggers before it runs.
    #[serde(serialize_with = "text")]
    pub debounce: Duration,
    /// How many keys run at once; 0 is no limit.
    pub concurrency: u16,
    /// How long one reconcile may take; `None` is no limit.
    #[serde(serialize_with = "optional_text")]
    pub timeout: Option<Duration>,
    /// How often a key runs without any change; `None` is never.
    #[serde(serialize_with = "optional_text")]
    pub resync: Option<Duration>,
    /// After so many runs in a row that look like a circle a key is tested; 0 is never.
    pub hot_loop_cycles: u32,
    /// How long a key that runs in circles waits at most.
    #[serde(serialize_with = "text")]
    pub hot_loop_max: Duration,
}

impl Default for ConfigDeclaration {
    fn default() -> Self {
        Self {
            debounce: Duration::ZERO,
            concurrency: 16,
            timeout: None,
            resync: None,
            hot_loop_cycles: 20,
            hot_loop_max: Duration::from_secs(300),
        }
    }
}

/// How the failures of one key are tried again.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BackoffDeclaration {
    /// The wait after the first failure.
    #[serde(serialize_with = "text")]
    pub initial: Duration,
    /// The longest wait.
    #[serde(serialize_with = "text")]
    pub max: Duration,
    /// By what each wait is longer than the one before.
    pub factor: f64,
    /// Which part of a wait is random, 0 to 1.
    pub jitter: f64,
}

impl Default for BackoffDeclaration {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            max: Duration::from_secs(300),
            factor: 2.0,
            jitter: 0.1,
        }
    }
}

fn text<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{duration:?}"))
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn optional_text<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => text(duration, serializer),
        None => serializer.serialize_none(),
    }
}
