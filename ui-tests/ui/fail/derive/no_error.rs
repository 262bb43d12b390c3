//! A type that is no error.


#[derive(Debug, controller_runtime::ReconcileError)]
struct Failure;

fn main() {
    let _ = Failure;
}
