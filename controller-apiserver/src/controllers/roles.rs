//! Aggregated cluster roles get the rules of those their selectors match.
//!
//! Source: "Aggregated `ClusterRole`s" in the Kubernetes documentation on RBAC.

use crate::access::{RBAC_GROUP, aggregated, rule_value};
use crate::state::State;

/// Whether a collection is that of the cluster roles.
pub(super) fn is_collection(collection: &str) -> bool {
    collection.strip_prefix(RBAC_GROUP) == Some("/clusterroles")
}

/// Writes every aggregated role that differs from what it should be. Each write is noted, so that
/// roles that aggregate aggregated ones follow.
pub(super) fn sync(state: &mut State) {
    let collection = format!("{RBAC_GROUP}/clusterroles");
    let stored = state.store.scan(&collection, "");
    let roles: Vec<_> = stored
        .map(|(key, role)| (key.clone(), role.value(), role.stamp))
        .collect();
    for (key, role, stamp) in &roles {
        if let Some(rules) = aggregated(role, roles.iter().map(|(_, other, _)| other)) {
            let mut role = role.clone();
            role["rules"] = rules.iter().map(rule_value).collect();
            state.put_at(&collection, key, role, *stamp);
        }
    }
}
