//! An attribute that does not exist.


#[derive(Debug, thiserror::Error, controller_runtime::ReconcileError)]
#[error("failed")]
#[reconcile_error(path = a)]
struct Failure;

fn main() {
    let _ = Failure;
}
