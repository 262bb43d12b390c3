//! Permanent, and tried again.


#[derive(Debug, thiserror::Error, controller_runtime::ReconcileError)]
enum Failure {
    #[error("failed")]
    #[permanent]
    #[retry_after = "5s"]
    Failed,
}

fn main() {
    let _ = Failure::Failed;
}
