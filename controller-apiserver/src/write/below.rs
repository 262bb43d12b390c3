//! POST below an object: evictions and bindings of Pods, tokens of service accounts.
//!
//! Sources: "API-initiated Eviction" in the Kubernetes documentation, and the `Binding` of the
//! scheduler.

use serde_json::{Value, json};

use super::delete::delete_stored;
use super::options::{DeleteOptions, WriteOptions};
use crate::call::{Answer, Session};
use crate::codec::body::{self, Format};
use crate::object::{is_terminating, meta, meta_str, str_at};
use crate::status::{ApiError, Cause};

impl Session<'_> {
    /// POST on a subresource.
    pub(crate) fn create_below(&mut self) -> Result<Answer, ApiError> {
        let target = &self.call.target;
        match (target.resource.plural.as_str(), target.subresource.as_str()) {
            ("pods", "eviction") => self.evict(),
            ("pods", "binding") => self.bind(),
            ("serviceaccounts", "token") => self.issue_token(),
            (plural, subresource) => Err(ApiError::not_supported(format!(
                "creating {subresource} of {plural}"
            ))),
        }
    }

    fn body_below(&self, kind: &str) -> Result<Value, ApiError> {
        let format = Format::of(self.call.content_type.as_deref())?;
        let body = body::parse(&self.call.body, format)
            .map_err(ApiError::bad_request)?
            .value;
        let given = str_at(&body, "kind");
        if !given.is_empty() && given != kind {
            return Err(ApiError::bad_request(format!(
                "{given} in version \"v1\" cannot be handled as a {kind}"
            )));
        }
        let name = meta_str(&body, "name");
        if !name.is_empty() && name != self.call.target.name {
            return Err(ApiError::bad_request(
                "name in URL does not match name in Eviction object",
            ));
        }
        Ok(body)
    }

    fn evict(&mut self) -> Result<Answer, ApiError> {
        let options = WriteOptions::of(self.call, false)?;
        let eviction = self.body_below("Eviction")?;
        let mut delete = DeleteOptions::from_value(&eviction["deleteOptions"])?;
        delete.dry_run |= options.dry_run;
        let resource = self.resource();
        let target = &self.call.target;
        let Some(existing) = self.existing() else {
            return Err(ApiError::not_found(&resource.named(), &target.name));
        };
        let pod = existing.value();
        let runs = !is_terminating(&pod)
            && !matches!(str_at(&pod, "status.phase"), "Pending" | "Succeeded" | "Failed");
        if runs {
            self.spend_budget(&pod, delete.dry_run)?;
        }
        let key = resource.key(&target.namespace, &target.name);
        delete_stored(self.state, resource, &key, &existing, &delete, &mut self.warnings)?;
        Ok(Answer::value(201, success()))
    }

    /// A Pod that runs goes only if its disruption budget allows it.
    fn spend_budget(&mut self, pod: &Value, dry_run: bool) -> Result<(), ApiError> {
        const COLLECTION: &str = "policy/poddisruptionbudgets";
        let prefix = format!("{}/", self.call.target.namespace);
        let budgets: Vec<(String, Value)> = self
            .state
            .store
            .scan(COLLECTION, &prefix)
            .map(|(key, stored)| (key.to_string(), stored.value()))
            .filter(|(_, budget)| selects(&budget["spec"]["selector"], pod))
            .collect();
        let (key, mut budget) = match <[_; 1]>::try_from(budgets) {
            Ok([one]) => one,
            Err(none) if none.is_empty() => return Ok(()),
            Err(_) => {
                return Err(ApiError::internal(
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                ));
            }
        };
        let name = meta_str(&budget, "name").to_owned();
        let number = |path: &str| {
            crate::object::at(&budget, path)
                .and_then(Value::as_i64)
                .unwrap_or_default()
        };
        if number("status.observedGeneration") < number("metadata.generation") {
            let why = format!("The disruption budget {name} is still being processed by the server.");
            return Err(refused(why).retry_after(10));
        }
        let allowed = number("status.disruptionsAllowed");
        if allowed <= 0 {
            let why = format!(
                "The disruption budget {name} needs {} healthy pods and has {} currently",
                number("status.desiredHealthy"),
                number("status.currentHealthy")
            );
            return Err(refused(why));
        }
        if !dry_run {
            budget["status"]["disruptionsAllowed"] = (allowed - 1).into();
            budget["status"]["disruptedPods"][meta_str(pod, "name")] = self.state.now().into();
            self.state.put_at(COLLECTION, &key, budget, 0);
        }
        Ok(())
    }

    /// Puts a Pod on a node.
    fn bind(&mut self) -> Result<Answer, ApiError> {
        let options = WriteOptions::of(self.call, false)?;
        let binding = self.body_below("Binding")?;
        let resource = self.resource();
        let target = &self.call.target;
        let Some(existing) = self.existing() else {
            return Err(ApiError::not_found(&resource.named(), &target.name));
        };
        let mut pod = existing.value();
        let conflict = |why: &str| {
            Err(ApiError::conflict(
                &resource.named(),
                &format!("{}/binding", target.name),
                why,
            ))
        };
        if is_terminating(&pod) {
            return conflict(&format!(
                "pod {} is being deleted, cannot be assigned to a host",
                target.name
            ));
        }
        let node = str_at(&pod, "spec.nodeName");
        if !node.is_empty() {
            return conflict(&format!(
                "pod {} is already assigned to node {node:?}",
                target.name
            ));
        }
        pod["spec"]["nodeName"] = str_at(&binding, "target.name").into();
        let now = self.state.now();
        let condition = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now});
        let conditions = &mut pod["status"]["conditions"];
        match conditions.as_array_mut() {
            Some(list) => {
                list.retain(|condition| condition["type"] != "PodScheduled");
                list.push(condition);
            }
            None => *conditions = json!([condition]),
        }
        if !options.dry_run {
            let key = resource.key(&target.namespace, &target.name);
            self.state.put(resource, &key, pod);
        }
        Ok(Answer::value(201, success()))
    }
}

fn success() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
}

fn refused(why: String) -> ApiError {
    let mut error = ApiError::new(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
    );
    error.details.get_or_insert_default().causes = vec![Cause::new("DisruptionBudget", "", why)];
    error
}

/// A label selector selects an object; an empty one selects everything, none nothing.
fn selects(selector: &Value, object: &Value) -> bool {
    let label = |key: &str| meta(object).and_then(|meta| meta.get("labels")?.get(key)?.as_str());
    if !selector.is_object() {
        return false;
    }
    let labels = selector["matchLabels"].as_object();
    let by_label = labels
        .into_iter()
        .flatten()
        .all(|(key, value)| label(key) == value.as_str());
    let expressions = selector["matchExpressions"].as_array();
    by_label
        && expressions.into_iter().flatten().all(|expression| {
            let value = label(str_at(expression, "key"));
            let listed = || {
                let values = expression["values"].as_array();
                values.into_iter().flatten().any(|v| v.as_str() == value)
            };
            match str_at(expression, "operator") {
                "In" => value.is_some() && listed(),
                "NotIn" => value.is_none() || !listed(),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}
