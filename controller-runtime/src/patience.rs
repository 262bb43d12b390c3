//! How long the API server may take to answer what is asked beside the work: a question that hangs must not hold up others for ever.

use std::time::Duration;

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Gives up after [`PATIENCE`].
///
/// # Errors
/// That of the request, or that its answer came too late.
pub(crate) async fn patiently<T>(answer: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(kube::Error::Service(
            format!("no answer within {} s", PATIENCE.as_secs()).into(),
        )),
    }
}
