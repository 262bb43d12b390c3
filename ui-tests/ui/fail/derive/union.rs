//! A union.


#[derive(controller_runtime::ReconcileError)]
union Failure {
    a: u8,
}

fn main() {}
