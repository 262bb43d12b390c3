//! What a platform team hands to its teams: everything behind one name.

pub use controller_runtime as runtime;
pub use k8s_openapi;
pub use kube;
pub use schemars;
pub use serde;
pub use serde_json;
