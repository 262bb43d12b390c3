//! The rights that requests used, as the RBAC authorizer asks for them.
//!
//! A test compares them with the roles that an operator prints: what was used and is not granted will fail on a cluster, what is
//! granted and was never used is too much.

use std::{collections::BTreeSet, fmt};

use serde::Serialize;

use crate::access::{Attributes, Target};
use crate::journal::{Entry, Journal};

/// One right: a verb on a resource, in one namespace or for the whole cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[non_exhaustive]
pub struct Right {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource with its subresource, as RBAC writes it: `pods/status`.
    pub resource: String,
    /// The verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// The namespace; empty for cluster-scoped objects and for all namespaces.
    pub namespace: String,
}

impl Right {
    /// The right that the authorizer is asked for; none for a path that is no resource.
    pub(crate) fn of(attributes: &Attributes) -> Option<Self> {
        let Target::Resource(target) = &attributes.target else {
            return None;
        };
        Some(Self {
            group: target.group.clone(),
            resource: path(&target.resource, &target.subresource),
            verb: attributes.verb.clone(),
            namespace: target.namespace.clone(),
        })
    }
}

/// `pods/status`, as RBAC writes it.
fn path(resource: &str, subresource: &str) -> String {
    match subresource {
        "" => resource.to_owned(),
        subresource => format!("{resource}/{subresource}"),
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.namespace.is_empty() {
            write!(f, " in {}", self.namespace)?;
        }
        Ok(())
    }
}

impl Journal {
    /// The rights that these requests used, each once.
    ///
    /// What the server asked for beside the verb is here too: `create` for a patch that made its object, and what the admission
    /// `OwnerReferencesPermissionEnforcement` wants, where it is on. What every authenticated user may do (discovery, reviews of
    /// one's own rights) is left out. A right that was refused counts as well: it was needed.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use controller_apiserver::Server;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    ///
    /// let server = Server::new();
    /// let maps = Api::<ConfigMap>::namespaced(server.client(), "default");
    /// maps.list(&Default::default()).await.unwrap();
    /// let used: Vec<_> = server.journal().rights().iter().map(ToString::to_string).collect();
    /// assert_eq!(used, ["list configmaps in default"]);
    /// # }
    /// ```
    pub fn rights(&self) -> BTreeSet<Right> {
        self.entries().iter().flat_map(rights).collect()
    }
}

fn rights(entry: &Entry) -> Vec<Right> {
    let of_everyone = entry.group == "authorization.k8s.io" && entry.resource.starts_with("selfsubject");
    if entry.resource.is_empty() || of_everyone {
        return Vec::new();
    }
    let own = Right {
        group: entry.group.clone(),
        resource: path(&entry.resource, &entry.subresource),
        verb: entry.verb.to_owned(),
        namespace: entry.namespace.clone(),
    };
    std::iter::once(own).chain(entry.also.iter().cloned()).collect()
}
