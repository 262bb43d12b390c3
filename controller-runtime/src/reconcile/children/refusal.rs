//! Children that are not written, and why.

/// Why a child is not written. No request was made.
///
/// It comes as a [`kube::Error::Service`], so that one `#[from] kube::Error` holds everything that `Children` can say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The attribute does not say that this kind is owned.
    #[error("{kind} is not declared: add `owns({kind})` to `#[controller(…)]`")]
    NotDeclared {
        /// The kind of the child.
        kind: String,
    },
    /// The owner is not stored yet.
    #[error("the owner has neither name nor uid: only a stored object can own others")]
    OwnerUnknown,
    /// The child has no name.
    #[error("a {kind} without a name: a child is found again by its name, give it one")]
    NoName {
        /// The kind of the child.
        kind: String,
    },
    /// The owner lives in a namespace, and the child in none.
    #[error(
        "{kind} {name} has no namespace, but its owner has: Kubernetes does not allow that, and would delete it"
    )]
    ClusterScoped {
        /// The kind of the child.
        kind: String,
        /// Its name.
        name: String,
    },
    /// Owner and child live in different namespaces.
    #[error(
        "{kind} {name} is in namespace {namespace}, its owner is not: Kubernetes does not allow that, and would delete it"
    )]
    OtherNamespace {
        /// The kind of the child.
        kind: String,
        /// Its name.
        name: String,
        /// Its namespace.
        namespace: String,
    },
    /// The object exists, and belongs to another, or to nobody.
    #[error("{kind} {name} exists and belongs to {}", owner.as_deref().unwrap_or("nobody: say `children.adopt()` to take it over"))]
    NotOurs {
        /// The kind of the child.
        kind: String,
        /// Its name.
        name: String,
        /// Kind and name of its controller, if it has one.
        owner: Option<String>,
    },
    /// The child cannot be written as JSON.
    #[error("{kind} {name} cannot be serialized: {reason}")]
    Unserializable {
        /// The kind of the child.
        kind: String,
        /// Its name.
        name: String,
        /// What serde says.
        reason: String,
    },
}

impl From<Refusal> for kube::Error {
    fn from(refusal: Refusal) -> Self {
        Self::Service(Box::new(refusal))
    }
}
