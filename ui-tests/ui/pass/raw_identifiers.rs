//! Names that are keywords.

use std::sync::Arc;

use controller_runtime::{Action, controller, declare::Runnable};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller(
    as = r#Final,
    error = enum r#Failure {
        #[error("{type}")]
        r#Move { r#type: String },
    },
)]
async fn r#type(r#ref: Arc<ConfigMap>) -> Result<Action, Failure> {
    let _ = r#ref;
    Err(Failure::Move {
        r#type: "x".to_owned(),
    })
}

#[controller]
async fn r#match(_: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    assert_eq!(Final::controller().declaration().name, "configmap-controller");
    let _ = r#match::controller();
    let _ = r#type;
    assert_eq!(
        Failure::Move {
            r#type: "y".to_owned()
        }
        .to_string(),
        "y"
    );
}
