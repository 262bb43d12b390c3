//! What the sources of one controller tell, by kind and namespace.
//!
//! Several can share both: a kind of two groups, or one kind under two selectors. They are told as one, by the worst of them, so
//! that none that is well hides one that fails.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::SourceChange;
use crate::watch::SourceStatus;

type Place = (String, Option<String>);

/// The last state of each source. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Sources(Arc<Mutex<BTreeMap<Place, Vec<SourceStatus>>>>);

impl Sources {
    /// Takes note of a source; `tell` hears of all that share its kind and namespace. It is called under the lock, so that
    /// what it hears last is what was last.
    pub(super) fn note(&self, status: &SourceStatus, tell: impl FnOnce(&SourceChange<'_>)) {
        let place = (status.source.kind.clone(), status.source.namespace.clone());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let here = all.entry(place).or_default();
        // Two inputs may share an informer, and then they share its sources.
        match here
            .iter_mut()
            .find(|known| Arc::ptr_eq(&known.source, &status.source))
        {
            Some(known) => known.clone_from(status),
            None => here.push(status.clone()),
        }
        let problem = problem(here);
        let undecodable = match here.as_slice() {
            [only] => Arc::clone(&only.undecodable),
            several => {
                let each = several.iter().flat_map(|status| status.undecodable.iter());
                Arc::new(each.map(|(name, what)| (name.clone(), what.clone())).collect())
            }
        };
        tell(&SourceChange {
            kind: &status.source.kind,
            namespace: status.source.namespace.as_deref(),
            problem: problem.as_deref(),
            synced: here.iter().all(|status| status.synced),
            relists: here.iter().map(|status| status.relists).sum(),
            undecodable: &undecodable,
        });
    }
}

/// What is wrong with any of them.
fn problem(all: &[SourceStatus]) -> Option<String> {
    let mut problems = Vec::new();
    for status in all {
        if let Some(problem) = &status.problem {
            problems.push(format!("{} {}: {}", problem.verb, status.source, problem.message));
        }
    }
    // Two selectors of one kind are refused with the same words.
    problems.sort();
    problems.dedup();
    (!problems.is_empty()).then(|| problems.join("; "))
}
