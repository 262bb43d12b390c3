//! When a store can be read: it tells why it cannot, and never waits for ever.

use std::{fmt, time::Duration};

use tokio::sync::watch;

use crate::watch::SourceStatus;

/// A store that is not complete: which of its sources are missing, and why.
#[derive(Clone, Debug, thiserror::Error)]
pub struct NotReady {
    /// The sources that have not listed yet.
    pub missing: Vec<SourceStatus>,
    /// How long was waited; `None` when nothing drives the informer any more.
    pub waited: Option<Duration>,
}

impl NotReady {
    pub(crate) fn dropped(missing: Vec<SourceStatus>) -> Self {
        Self {
            missing,
            waited: None,
        }
    }
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.waited {
            Some(waited) => write!(f, "no complete list after {waited:?}")?,
            None => write!(
                f,
                "what fills the store was dropped before the first list was complete"
            )?,
        }
        for source in &self.missing {
            write!(f, "; {source}")?;
        }
        Ok(())
    }
}

/// Waits for the sources of one store.
#[derive(Clone, Debug)]
pub(crate) struct Readiness {
    sources: Option<watch::Receiver<Vec<SourceStatus>>>,
    limit: Duration,
}

impl Readiness {
    /// Of a store without sources.
    pub(crate) fn fixed() -> Self {
        Self {
            sources: None,
            limit: Duration::ZERO,
        }
    }

    pub(crate) fn of(sources: watch::Receiver<Vec<SourceStatus>>, limit: Duration) -> Self {
        Self {
            sources: Some(sources),
            limit,
        }
    }

    pub(crate) async fn wait(&self) -> Result<(), NotReady> {
        let Some(mut sources) = self.sources.clone() else {
            return Ok(());
        };
        let all_synced = sources.wait_for(|all| all.iter().all(|source| source.synced));
        let waited = match tokio::time::timeout(self.limit, all_synced).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(_dropped)) => None,
            Err(_elapsed) => Some(self.limit),
        };
        let missing = sources
            .borrow()
            .iter()
            .filter(|source| !source.synced)
            .cloned()
            .collect();
        Err(NotReady { missing, waited })
    }
}
