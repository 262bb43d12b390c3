//! The controllers inside: definitions are established and finalized, dependents collected,
//! namespaces emptied, cluster roles aggregated; and, where it is turned on, workloads simulated.
//!
//! They are driven by commits, and only the simulated layer by time as well: every commit notes what has to be looked at, and the
//! server's own task works that off a moment later, in order, under the same lock as requests.

mod account;
pub(crate) mod definition;
mod garbage;
mod namespace;
mod roles;
mod work;
pub(crate) mod workloads;

pub(crate) use work::Work;

use crate::clock::instant;
use crate::state::State;
use work::Item;

/// Which of the controllers that are not always there run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Enabled {
    /// A ServiceAccount `default` and a ConfigMap `kube-root-ca.crt` in every namespace.
    pub(crate) accounts: bool,
}

/// Works off everything that was noted, and what follows from it.
pub(crate) fn run(state: &mut State, enabled: Enabled) {
    for (collection, key) in state.simulation.begin(instant()) {
        state.work.push(Item::Object { collection, key });
    }
    while let Some(item) = state.work.next() {
        match item {
            Item::Object { collection, key } => {
                garbage::attempt(state, &collection, &key);
                if state.simulation.is_on() {
                    workloads::attempt(state, &collection, &key);
                }
            }
            Item::Namespace(name) => {
                namespace::sync(state, &name);
                if enabled.accounts {
                    account::sync(state, &name);
                }
            }
            Item::Definition(name) => definition::finalize(state, &name),
            Item::ClusterRoles => roles::sync(state),
        }
    }
}
