//! Wiring is data: what a controller watches, writes and promises, as a value.
//!
//! A controller says once what it is. Informers, RBAC rules, the access check at start, manifests, the
//! graph and the debug page are all derived from its [`Declaration`], and from nowhere else.
//!
//! Nothing here does I/O. [`Runnable`] is how an operator takes a controller of any type.

mod audit;
mod environment;
pub mod graph;
mod needs;
mod options;
pub mod rbac;
mod relation;
mod watched;

use serde::Serialize;

pub use audit::Audit;
pub use environment::{BoxError, Environment, Namespaces, Runnable};
pub use needs::Need;
pub use options::{BackoffDeclaration, ConfigDeclaration};
pub use relation::{RelationDeclaration, RelationKind};
pub use watched::{Scope, Watched};

/// Everything there is to know about a controller before it runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Declaration {
    /// The controller's name; field manager, finalizer, lease and metrics label derive from it.
    pub name: String,
    /// The kind that is reconciled.
    pub primary: Watched,
    /// Predicates on the primary, as written; an empty list passes every change.
    pub predicates: Vec<String>,
    /// The other kinds whose changes wake a primary.
    pub relations: Vec<RelationDeclaration>,
    /// External triggers, as written.
    pub triggers: Vec<String>,
    /// Debounce, concurrency, timeout and resync.
    pub config: ConfigDeclaration,
    /// How failures are tried again.
    pub backoff: BackoffDeclaration,
    /// The finalizer that guards cleanup, if there is a cleanup.
    pub finalizer: Option<String>,
    /// The `Ready` condition and `observedGeneration` are written for the user.
    pub conditions: bool,
    /// What the reconciler takes besides the object.
    pub uses: Uses,
    /// Rules that the wiring cannot tell.
    pub rules: Vec<Rule>,
}

impl Declaration {
    /// A controller of `primary` that watches nothing else.
    pub fn new(name: impl Into<String>, primary: Watched) -> Self {
        Self {
            name: name.into(),
            primary,
            predicates: Vec::new(),
            relations: Vec::new(),
            triggers: Vec::new(),
            config: ConfigDeclaration::default(),
            backoff: BackoffDeclaration::default(),
            finalizer: None,
            conditions: false,
            uses: Uses::default(),
            rules: Vec::new(),
        }
    }

    /// Every kind that is watched: the primary, then the targets of the relations.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &Watched> {
        let related = self.relations.iter().map(|relation| &relation.target);
        std::iter::once(&self.primary).chain(related)
    }
}

/// The extractors of a reconciler that need rights of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Uses {
    /// It writes owned objects through `Children`.
    pub children: bool,
    /// It publishes events through `Recorder`.
    pub events: bool,
    /// It writes the primary's status through `Status`.
    pub status: bool,
}

/// A rule that the user states: `"group/resource": verbs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The API group; empty for the core group.
    pub group: String,
    /// The plural, with its subresource if there is one: `"pods"`, `"pods/log"`.
    pub resource: String,
    /// The verbs.
    pub verbs: Vec<String>,
}
