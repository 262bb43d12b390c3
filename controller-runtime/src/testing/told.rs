//! Questions to a cluster: what was asked, reconciled and told.

use std::{fmt, panic::Location, time::Duration};

use k8s_openapi::api::events::v1 as events;
use kube::{Api, ResourceExt, api::ListParams};

use super::{Cluster, Journal, fail};
use crate::{
    declare::Audit,
    manager::{Happening, ObjectId, RunReport},
};

/// One reconcile that has ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reconcile {
    /// Since the cluster began.
    pub at: Duration,
    /// Whose.
    pub controller: String,
    /// Of which object.
    pub object: ObjectId,
    /// How it ended, why it ran, and when it runs next.
    pub report: RunReport,
}

/// An Event, as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Not all is as it should be.
    pub warning: bool,
    /// What it is about: `Document default/welcome`.
    pub about: String,
    /// One CamelCase word.
    pub reason: String,
    /// A sentence.
    pub note: String,
    /// How often it was told.
    pub count: i32,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.warning { "Warning" } else { "Normal" };
        write!(f, "{kind} {} {}: {}", self.about, self.reason, self.note)?;
        if self.count > 1 {
            write!(f, " ({} times)", self.count)?;
        }
        Ok(())
    }
}

impl Event {
    fn read(event: events::Event) -> Self {
        let about = event.regarding.unwrap_or_default();
        let object = ObjectId {
            kind: about.kind.unwrap_or_default(),
            namespace: about.namespace,
            name: about.name.unwrap_or_default(),
        };
        Self {
            warning: event.type_.as_deref() == Some("Warning"),
            about: object.to_string(),
            reason: event.reason.unwrap_or_default(),
            note: event.note.unwrap_or_default(),
            count: event.series.map_or(1, |series| series.count),
        }
    }
}

impl Cluster {
    /// What the operators asked of the server, oldest first; without reviews of their own rights.
    ///
    /// What everyone asked, the test included, tells [`Server::journal`](controller_apiserver::Server::journal).
    pub fn requests(&self) -> Journal {
        let users: Vec<_> = self
            .operators()
            .accounts
            .iter()
            .map(|one| one.user.clone())
            .collect();
        self.inner
            .server
            .journal()
            .filter(|entry| users.contains(&entry.user) && !entry.resource.starts_with("selfsubject"))
    }

    /// Every reconcile that has ended, oldest first.
    pub fn reconciles(&self) -> Vec<Reconcile> {
        let lines = self.inner.record.lines().into_iter();
        let reconciles = lines.filter_map(|line| match line.happening {
            Happening::Reconciled {
                controller,
                object,
                report,
            } => Some(Reconcile {
                at: line.at,
                controller,
                object,
                report,
            }),
            _ => None,
        });
        reconciles.collect()
    }

    /// Every Event there is, oldest first.
    ///
    /// # Panics
    ///
    /// When the server does not list them.
    #[track_caller]
    pub fn events(&self) -> impl Future<Output = Vec<Event>> {
        let caller = Location::caller();
        async move {
            let events = self.stored_events(self.client()).await;
            let events =
                events.unwrap_or_else(|error| fail(&format!("Events cannot be listed: {error}"), caller));
            events.into_iter().map(|(_, event)| event).collect()
        }
    }

    /// Each with its version, oldest first.
    pub(super) async fn stored_events(&self, client: kube::Client) -> kube::Result<Vec<(u64, Event)>> {
        let api = Api::<events::Event>::all(client);
        let mut events = api.list(&ListParams::default()).await?.items;
        events.sort_by_key(|event| (event.event_time.clone().map(|time| time.0), event.name_any()));
        let version = |event: &events::Event| event.resource_version()?.parse().ok();
        Ok(events
            .into_iter()
            .map(|event| (version(&event).unwrap_or_default(), Event::read(event)))
            .collect())
    }

    /// Compares the rights that the operator has used with those its roles grant: `cluster.audit("a day").assert_rbac_exact()`.
    ///
    /// Roles are exact for a scenario that uses every right once. Without an election the lease stays unused
    /// ([`Audit::lease_unused_ok`]), and with streaming lists so does `list`, which older servers need: begin with
    /// `cluster.fault(When::any(), Fault::RefuseStreamingLists)`.
    ///
    /// # Panics
    ///
    /// When no operator was started, or more than one.
    #[track_caller]
    pub fn audit(&self, scenario: &str) -> Audit {
        let caller = Location::caller();
        let mut accounts = self.operators().accounts.clone();
        accounts.dedup_by(|one, other| one.operator == other.operator);
        let account = match accounts.as_slice() {
            [account] => account,
            [] => fail("no operator was started: whose roles?", caller),
            _ => fail(
                "several operators were started: compare the roles of one in a test of its own",
                caller,
            ),
        };
        let used = self.inner.server.journal().user(&account.user).rights();
        account.roles.audit(scenario, used)
    }
}
