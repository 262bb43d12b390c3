//! Reviews: questions to the API server about someone's rights.

use kube::{
    Client,
    api::{PostParams, Request},
};
use serde_json::{Value, json};

use crate::patience::patiently;

/// The status that the server gives to a review of this kind.
///
/// As JSON: which fields of the types are options differs between versions of `k8s-openapi`, and theirs is chosen by the user.
///
/// # Errors
/// When the server gives no answer, or none in time.
pub(super) async fn review(
    client: &Client,
    group: &str,
    kind: &str,
    spec: Value,
) -> Result<Value, kube::Error> {
    let review = json!({"apiVersion": format!("{group}/v1"), "kind": kind, "spec": spec});
    let path = format!("/apis/{group}/v1/{}s", kind.to_lowercase());
    let request = Request::new(path).create(&PostParams::default(), review.to_string().into_bytes());
    let request = request.map_err(kube::Error::BuildRequest)?;
    let mut answer: Value = patiently(client.request(request)).await?;
    Ok(answer["status"].take())
}
