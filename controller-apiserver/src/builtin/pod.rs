//! The quality of service of Pods.

use serde_json::Value;

/// The lists of containers in a spec.
pub(super) const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The quality of service of a Pod.
///
/// Source: documentation, "Pod Quality of Service Classes".
pub(super) fn quality(pod: &Value) -> &'static str {
    let spec = &pod["spec"];
    let containers: Vec<&Value> = ["initContainers", "containers"]
        .iter()
        .filter_map(|list| spec[*list].as_array())
        .flatten()
        .collect();
    let amount = |container: &Value, kind: &str, resource: &str| -> Option<String> {
        let text = container["resources"][kind][resource].as_str()?;
        (!text.trim_start_matches(['0', '.']).is_empty()).then(|| text.to_owned())
    };
    let computing = ["cpu", "memory"];
    let asks = |container: &&Value| {
        computing.iter().any(|resource| {
            amount(container, "requests", resource).is_some()
                || amount(container, "limits", resource).is_some()
        })
    };
    let fixed = |container: &&Value| {
        computing.iter().all(|resource| {
            let limit = amount(container, "limits", resource);
            limit.is_some() && limit == amount(container, "requests", resource)
        })
    };
    if !containers.iter().any(asks) {
        "BestEffort"
    } else if containers.iter().all(fixed) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
