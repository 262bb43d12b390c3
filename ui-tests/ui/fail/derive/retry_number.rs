//! A wait without a unit.


#[derive(Debug, thiserror::Error, controller_runtime::ReconcileError)]
enum Failure {
    #[error("failed")]
    #[retry_after = 5]
    Failed,
}

fn main() {
    let _ = Failure::Failed;
}
