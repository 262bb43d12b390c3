//! The operator's CRDs: printed by its `crds` command, applied, and waited for.

use std::{path::Path, process::Stdio, time::Duration};

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind},
};
use tokio::process::Command;

use crate::{
    error::Error,
    manifest::{self, Applier, Manifest},
};

/// How long a CRD may take until the server serves its kind.
const ESTABLISH: Duration = Duration::from_secs(10);

/// Applies what `binary crds` prints, and gives the names of the CRDs.
///
/// # Errors
/// When the command fails, or the server does not take what it prints.
pub(crate) async fn install(binary: &Path, client: &Client) -> Result<Vec<String>, Error> {
    let yaml = printed(binary).await?;
    let (crds, problems) = manifest::read("crds", &yaml);
    if let Some(problem) = problems.first() {
        return Err(Error::BadCrd(problem.to_string()));
    }
    let mut applier = Applier::new(client.clone());
    for crd in &crds {
        applier
            .apply(crd)
            .await
            .map_err(|problem| Error::BadCrd(problem.to_string()))?;
    }
    for crd in &crds {
        established(client, crd).await?;
    }
    Ok(crds.into_iter().map(|crd| crd.name).collect())
}

async fn printed(binary: &Path) -> Result<String, Error> {
    let program = binary.display().to_string();
    let output = Command::new(binary)
        .arg("crds")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|source| Error::Spawn {
            program: program.clone(),
            source,
        })?;
    if !output.status.success() {
        return Err(Error::Crds {
            program,
            status: output.status.to_string(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    String::from_utf8(output.stdout).map_err(|error| Error::BadCrd(error.to_string()))
}

async fn established(client: &Client, crd: &Manifest) -> Result<(), Error> {
    let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
    let wait = async {
        loop {
            if api.get(&crd.name).await.is_ok_and(|crd| is_established(&crd)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(ESTABLISH, wait)
        .await
        .map_err(|_| Error::BadCrd(format!("{} was not established within {ESTABLISH:?}", crd.name)))
}

fn is_established(crd: &DynamicObject) -> bool {
    crd.data["status"]["conditions"]
        .as_array()
        .is_some_and(|conditions| {
            conditions
                .iter()
                .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
        })
}
