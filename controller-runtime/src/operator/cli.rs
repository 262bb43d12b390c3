//! The operator's command line.

use std::{io::Write as _, net::SocketAddr, path::PathBuf};

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use super::{
    ElectionOptions, ManifestOptions, Operator, OperatorError, RunOptions, Stop, manifests::yaml, signals,
};
use crate::declare::{self, Namespaces};

#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controllers until SIGTERM or Ctrl-C (the default)
    Run(RunArgs),
    /// Print the custom resource definitions as YAML
    Crds,
    /// Print the roles that the operator needs, and no more, as YAML
    Rbac(PlaceArgs),
    /// Print everything that a cluster needs to run the operator, as YAML
    Manifests {
        #[command(flatten)]
        place: PlaceArgs,
        /// The image of the operator
        #[arg(long, value_name = "IMAGE")]
        image: String,
    },
    /// Print the wiring as a Mermaid flowchart
    Graph,
}

#[derive(Debug, Args)]
struct PlaceArgs {
    /// The namespace that the operator runs in
    #[arg(long = "in", value_name = "NAME", default_value = "operators")]
    home: String,
    /// A namespace that it watches; repeat it for several [default: all]
    #[arg(long = "namespace", value_name = "NAME", value_delimiter = ',')]
    namespaces: Vec<String>,
}

impl PlaceArgs {
    fn options(self, image: &str) -> ManifestOptions {
        ManifestOptions::new(self.home, image).namespaces(watched(self.namespaces))
    }
}

fn watched(namespaces: Vec<String>) -> Namespaces {
    if namespaces.is_empty() {
        Namespaces::All
    } else {
        Namespaces::Only(namespaces)
    }
}

#[derive(Debug, Args)]
struct RunArgs {
    /// Where /livez, /readyz and /status are served; port 0 takes a free one
    #[arg(
        long,
        env = "OPERATOR_ADDRESS",
        value_name = "ADDR",
        default_value = "0.0.0.0:8080"
    )]
    address: SocketAddr,
    /// Write the bound address to FILE, once it is bound
    #[arg(long, env = "OPERATOR_ADDRESS_FILE", value_name = "FILE")]
    address_file: Option<PathBuf>,
    /// Watch only this namespace; repeat it for several [default: all]
    #[arg(
        long = "namespace",
        env = "OPERATOR_NAMESPACES",
        value_name = "NAME",
        value_delimiter = ','
    )]
    namespaces: Vec<String>,
    /// Reconcile only while holding a Lease, so that several replicas can run
    #[arg(long, env = "OPERATOR_LEADER_ELECT")]
    leader_elect: bool,
    /// The namespace of the Lease [default: that of the Pod or the kubeconfig]
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAME")]
    lease_namespace: Option<String>,
    /// Who this process is, in the Lease
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    identity: Option<String>,
    /// Log lines as JSON
    #[arg(long, env = "OPERATOR_JSON_LOGS")]
    json_logs: bool,
    /// Stop when standard input ends, for whoever runs this as a child
    #[arg(long, hide = true)]
    stop_with_stdin: bool,
}

impl Operator {
    /// Reads the command line and does what it says. An error is printed, and ends the process with status 1.
    ///
    /// Logs go to standard error; `RUST_LOG` chooses which (default `info`).
    ///
    /// # Errors
    /// None: it has the signature that a `main` needs.
    pub async fn main(self) -> crate::Result<()> {
        if let Err(error) = self.command(std::env::args_os()).await {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
        Ok(())
    }

    async fn command(self, args: impl Iterator<Item = std::ffi::OsString>) -> Result<(), OperatorError> {
        let about = format!("The Kubernetes operator {}", self.name);
        let matches = Cli::command()
            .bin_name(self.name.clone())
            .about(about)
            .get_matches_from(args);
        let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        match cli.command {
            Some(Command::Crds) => print(&self.crds_yaml()?),
            Some(Command::Rbac(place)) => print(&yaml(&self.rbac(&place.options("")))?),
            Some(Command::Manifests { place, image }) => {
                print(&yaml(&self.manifests(&place.options(&image))?)?)
            }
            Some(Command::Graph) => print(&declare::graph(self.declarations())),
            Some(Command::Run(args)) => self.start(args).await,
            None => self.start(cli.run).await,
        }
    }

    async fn start(self, args: RunArgs) -> Result<(), OperatorError> {
        log_to_stderr(args.json_logs);
        let stop = Stop::new();
        signals::listen(&stop).map_err(OperatorError::Signals)?;
        if args.stop_with_stdin {
            signals::end_with_stdin(stop.clone());
        }
        let mut options = RunOptions::new()
            .address(args.address)
            .namespaces(watched(args.namespaces))
            .stop_on(&stop);
        if args.leader_elect {
            let mut election = ElectionOptions::new();
            if let Some(namespace) = args.lease_namespace {
                election = election.namespace(namespace);
            }
            if let Some(identity) = args.identity {
                election = election.identity(identity);
            }
            options = options.elect(election);
        }
        if let Some(file) = args.address_file {
            options = options.address_file(file);
        }
        self.run(options).await
    }
}

fn log_to_stderr(json: bool) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // A program that has set up its own logging before keeps it.
    let _ = if json {
        logs.json().try_init()
    } else {
        logs.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
            .try_init()
    };
}

fn print(text: &str) -> Result<(), OperatorError> {
    match std::io::stdout().write_all(text.as_bytes()) {
        // `documents crds | head` has read enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(OperatorError::Print),
    }
}
