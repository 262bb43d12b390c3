//! The rights that requests used, as the RBAC authorizer asks for them.
//!
//! A test compares them with the roles that an operator prints: what was used and is not granted will fail on a cluster, what is
//! granted and was never used is too much.

use std::{collections::BTreeSet, fmt};

use crate::journal::{Entry, Journal};

/// One right: a verb on a resource, in one namespace or for the whole cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// A patch that made its object used two: the server asks for `create` as well. What every authenticated user may do (discovery,
    /// reviews of one's own rights) is left out.
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
    let resource = match entry.subresource.as_str() {
        "" => entry.resource.clone(),
        subresource => format!("{}/{subresource}", entry.resource),
    };
    let right = |verb: &str| Right {
        group: entry.group.clone(),
        resource: resource.clone(),
        verb: verb.to_owned(),
        namespace: entry.namespace.clone(),
    };
    let mut used = vec![right(entry.verb)];
    if entry.verb == "patch" && entry.code == 201 {
        used.push(right("create"));
    }
    used
}
