//! `cargo controller dev`: an operator, run against an API server of its own, and told about.
//!
//! In order: the package is found, its manifests are read, the server starts in this process, the operator is built, its
//! CRDs are installed, it runs as a child, and when it is ready the manifests are applied file by file. From then on edits
//! are taken up: of sources by a new build and a restart, of manifests by applying them.
//!
//! On a terminal a table of all objects stands below the lines; elsewhere there are the lines alone.
//!
//! It leaves nothing behind: the server's memory and the temporary folder end with it, and so does the child, even when
//! this process is killed.

mod endpoint;
mod events;
mod install;
mod manifests;
mod narrate;
mod operator;
mod session;
mod settle;
mod table;
mod told;
mod wire;

use std::time::Duration;

use crate::{
    cli::DevArgs,
    error::Error,
    manifest::Folder,
    project::Project,
    server::{LocalServer, Options},
    signals::Signals,
};

use self::{
    manifests::Manifests,
    narrate::{Line, Mood},
    session::Session,
    told::Told,
};

/// How long Pods take to start. Nothing is run in them; an operator that waits for a Deployment sees one as on a cluster.
const STARTING: Duration = Duration::from_millis(500);

/// Runs until a signal comes, or all is settled.
///
/// # Errors
/// When something is missing before the operator runs; with `--until-settled`, when not all ends well.
pub(crate) async fn run(args: &DevArgs) -> Result<(), Error> {
    let mut signals = Signals::listen().map_err(Error::Signals)?;
    let project = Project::find(&args.path)?;
    let folder = Folder::find(args.manifests.as_deref(), &project.folder)?;
    let scratch = tempfile::Builder::new()
        .prefix("cargo-controller-")
        .tempdir()
        .map_err(Error::Temporary)?;
    let server = LocalServer::start(&Options {
        listen: args.listen,
        tokens: None,
        https: None,
        workloads: Some(STARTING),
    })
    .await?;
    let kubeconfig = scratch.path().join("kubeconfig");
    server.access().write(&kubeconfig)?;
    let told = Told::to_stdout();
    told.say(&Line::new(
        Mood::Plain,
        "server",
        format!(
            "{}, in this process\nfor kubectl: export KUBECONFIG={}",
            server.access().url,
            kubeconfig.display()
        ),
    ));
    let manifests = Manifests::new(folder, server.client());
    let session = Session {
        args,
        project,
        told: told.clone(),
        client: server.client(),
        scratch: scratch.path(),
        kubeconfig: &kubeconfig,
    };
    let result = session.run(manifests, &mut signals).await;
    told.finish();
    result
}
