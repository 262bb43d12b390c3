//! The settings of a server.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Inner, Server};
use crate::access::{Authenticator, Guard, RBAC_GROUP, Signer, Tokens, default_objects, resource_of};
use crate::clock::{Clock, instant};
use crate::controllers::workloads::Simulation;
use crate::controllers::{self, Enabled};
use crate::object::{meta_mut, meta_str};
use crate::state::State;
use crate::storage::Limits;
use crate::tls::Authority;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct ServerBuilder {
    epoch: Option<Timestamp>,
    seed: u64,
    limits: Limits,
    enabled: Enabled,
    latency: Duration,
    tokens: Tokens,
    signing_key: Option<[u8; 32]>,
    owner_references: bool,
    workloads: Option<Duration>,
    ca: String,
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self {
            epoch: None,
            seed: 0,
            limits: Limits::default(),
            enabled: Enabled::default(),
            latency: Duration::from_millis(50),
            tokens: Tokens::default(),
            signing_key: None,
            owner_references: false,
            workloads: None,
            ca: String::new(),
        }
    }
}

impl ServerBuilder {
    /// Where the server's time begins; it then runs with tokio's clock.
    #[must_use]
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// For servers that people talk to: the server's time begins with the present, and the key that
    /// signs tokens is one that nobody can guess.
    #[must_use]
    pub fn wall_clock(mut self) -> Self {
        self.signing_key = self.signing_key.or_else(|| Authority::random_key().ok());
        self.epoch(Clock::wall_epoch())
    }

    /// What uids and generated names are drawn from.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How many events of the past are kept.
    #[must_use]
    pub fn history(mut self, events: usize) -> Self {
        self.limits.events = events;
        self
    }

    /// Every namespace gets a ServiceAccount `default` and a ConfigMap `kube-root-ca.crt`, as on a
    /// cluster. Without it, as without a controller manager, there are none.
    #[must_use]
    pub fn service_accounts(mut self, on: bool) -> Self {
        self.enabled.accounts = on;
        self
    }

    /// How long garbage collection and its like wait before they look at a change. `settle` does
    /// not wait for it.
    #[must_use]
    pub fn controller_latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Requests over a socket are those of the users of these tokens, of a service account, or of
    /// `system:anonymous`. Without tokens they are the administrator's.
    #[must_use]
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// The key that signs the tokens of service accounts. Without it, it follows from the seed, or,
    /// under a [wall clock](Self::wall_clock), from chance.
    #[must_use]
    pub fn signing_key(mut self, key: [u8; 32]) -> Self {
        self.signing_key = Some(key);
        self
    }

    /// The admission `OwnerReferencesPermissionEnforcement`, as some clusters have it: setting
    /// `blockOwnerDeletion` needs the right to update the owner's `finalizers`.
    #[must_use]
    pub fn enforce_owner_references(mut self, on: bool) -> Self {
        self.owner_references = on;
        self
    }

    /// Deployments, `ReplicaSet`s, `StatefulSet`s, `DaemonSet`s and Jobs get Pods, as on a cluster, and
    /// Pods are ready (those of Jobs succeed) after this time, unless
    /// [told otherwise](super::Workloads::pods_become). Nothing is run. Without it, workloads stay as
    /// written.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    ///
    /// use controller_apiserver::{PodFate, Server};
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube::{Api, api::PostParams};
    ///
    /// let server = Server::builder().workloads(Duration::from_secs(1)).build();
    /// server.workloads().pods_become([("app", "bad")], PodFate::NeverReady);
    /// let api = Api::<Deployment>::namespaced(server.client(), "default");
    /// for name in ["good", "bad"] {
    ///     let deployment = serde_json::from_value(serde_json::json!({
    ///         "metadata": {"name": name},
    ///         "spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": {
    ///             "metadata": {"labels": {"app": name}},
    ///             "spec": {"containers": [{"name": "c", "image": "i"}]},
    ///         }},
    ///     }))?;
    ///     api.create(&PostParams::default(), &deployment).await?;
    /// }
    /// server.advance(Duration::from_secs(2)).await?;
    /// let ready = async |name| api.get(name).await.map(|found| found.status.unwrap_or_default().ready_replicas);
    /// assert_eq!(ready("good").await?, Some(2));
    /// assert_eq!(ready("bad").await?, None);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn workloads(mut self, ready_after: Duration) -> Self {
        self.workloads = Some(ready_after);
        self
    }

    /// The certificate authority of an https server, for pods that would talk to it.
    #[must_use]
    pub fn authority(mut self, authority: &Authority) -> Self {
        self.ca = authority.pem();
        self
    }

    /// The server, with the namespaces, roles and bindings every cluster has.
    pub fn build(self) -> Server {
        let clock = Clock::starting_at(self.epoch.unwrap_or_else(Clock::fixed_epoch));
        let key = self.signing_key.unwrap_or_else(|| key_of(self.seed));
        let authenticator = Authenticator {
            tokens: self.tokens,
            signer: Signer::new(&key),
            anonymous: true,
        };
        let guard = Guard {
            owner_references: self.owner_references,
            ..Guard::new(authenticator)
        };
        let mut state = State::new(clock, self.seed, self.limits, guard);
        state.simulation = Simulation::new(self.workloads, instant());
        state.work.workloads = self.workloads.is_some();
        state.accounts = self.enabled.accounts;
        state.ca = self.ca;
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            add_namespace(&mut state, name);
        }
        for object in default_objects() {
            add_policy(&mut state, object);
        }
        controllers::run(&mut state, self.enabled);
        state.store.compact();
        Server {
            inner: Arc::new(Inner {
                state: Mutex::new(state),
                journal: Mutex::default(),
                watches: super::Watches::default(),
                flights: super::Flights::default(),
                faults: crate::fault::Faults::seeded(self.seed),
                documents: crate::openapi::Documents::default(),
                probes: super::Probes::default(),
                enabled: self.enabled,
                latency: self.latency,
                work: Arc::new(Notify::new()),
                controllers_run: AtomicBool::new(false),
            }),
        }
    }
}

fn add_namespace(state: &mut State, name: &str) {
    let mut namespace = json!({
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    });
    let metadata = meta_mut(&mut namespace);
    metadata.insert("name".into(), name.into());
    metadata.insert("labels".into(), json!({"kubernetes.io/metadata.name": name}));
    add(state, "namespaces", name, namespace);
}

fn add_policy(state: &mut State, object: Value) {
    let Some(resource) = resource_of(&object) else {
        return;
    };
    let (namespace, name) = (meta_str(&object, "namespace"), meta_str(&object, "name"));
    let key = if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    };
    add(state, &format!("{RBAC_GROUP}/{resource}"), &key, object);
}

fn add(state: &mut State, collection: &str, key: &str, mut object: Value) {
    let uid = state.ids.uid();
    let now = state.now();
    let metadata = meta_mut(&mut object);
    metadata.insert("uid".into(), uid.into());
    metadata.insert("creationTimestamp".into(), Value::from(now));
    state.put_at(collection, key, object, 0);
}

/// The signing key of a server in a test: another for each seed, and known to whoever knows it.
fn key_of(seed: u64) -> [u8; 32] {
    let mut key = [0; 32];
    fastrand::Rng::with_seed(seed).fill(&mut key);
    key
}
