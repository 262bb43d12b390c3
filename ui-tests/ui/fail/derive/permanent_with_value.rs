//! A flag with a value.


#[derive(Debug, thiserror::Error, controller_runtime::ReconcileError)]
#[error("failed")]
#[permanent = true]
struct Failure;

fn main() {
    let _ = Failure;
}
