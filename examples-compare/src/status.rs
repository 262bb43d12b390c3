//! A status as Kubernetes wants it: a condition keeps the time of its last transition, and what is there is not written again.

use std::fmt::Debug;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{json, to_value};

/// Puts a condition in the place of the one of its type.
#[expect(clippy::disallowed_methods, reason = "kube has no other clock for it")]
pub(crate) fn set_condition(
    conditions: &mut Vec<Condition>,
    type_: &str,
    holds: bool,
    reason: &str,
    message: &str,
    generation: Option<i64>,
) {
    let status = if holds { "True" } else { "False" };
    let mut known = conditions.iter();
    let same = known.find(|known| known.type_ == type_ && known.status == status);
    let since = same.map(|same| same.last_transition_time.clone());
    conditions.retain(|known| known.type_ != type_);
    conditions.push(Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: generation,
        last_transition_time: since.unwrap_or_else(|| Time(Timestamp::now())),
    });
}

/// Writes a status, unless it is the one before.
pub(crate) async fn write_status<K, S>(
    api: &Api<K>,
    name: &str,
    before: Option<&S>,
    after: &S,
) -> kube::Result<()>
where
    K: Clone + Debug + DeserializeOwned,
    S: Serialize,
{
    let before = to_value(before).map_err(kube::Error::SerdeError)?;
    let after = to_value(after).map_err(kube::Error::SerdeError)?;
    if before != after {
        let patch = Patch::Merge(json!({ "status": after }));
        api.patch_status(name, &PatchParams::default(), &patch).await?;
    }
    Ok(())
}
