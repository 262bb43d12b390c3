//! The operator's command line.

use std::{io::Write as _, net::SocketAddr, path::PathBuf};

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use super::{
    ElectionOptions, ManifestOptions, Operator, OperatorError, OwnPod, RateLimit, RunOptions, Stop,
    WhenEnded, manifests::yaml, signals, telemetry::Telemetry,
};
use crate::{
    Backoff,
    declare::{Namespaces, graph},
};

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
        /// How many Pods run it; one of them reconciles, the others stand by
        #[arg(long, value_name = "N", default_value_t = 1)]
        replicas: u16,
        /// An environment variable that the operator's own code reads, which is no secret; repeat it for several
        #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
        env: Vec<(String, String)>,
    },
    /// Print a picture of the wiring: what wakes which controller
    Graph {
        /// Mermaid text, which many Markdown viewers draw, or an SVG image
        #[arg(long, value_enum, default_value_t = Format::Mermaid)]
        format: Format,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Mermaid,
    Svg,
}

#[derive(Debug, Args)]
struct PlaceArgs {
    /// The namespace that the operator runs in
    #[arg(long, value_name = "NAME", default_value = "operators")]
    namespace: String,
    /// A namespace that it watches; repeat it for several [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    watch_namespace: Vec<String>,
    /// Who reads /metrics has to show a token, and the right to
    #[arg(long)]
    protect_metrics: bool,
}

impl PlaceArgs {
    fn options(self, image: &str) -> ManifestOptions {
        let options = ManifestOptions::new(self.namespace, image).namespaces(watched(self.watch_namespace));
        if self.protect_metrics {
            options.protect_metrics()
        } else {
            options
        }
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it is written NAME=VALUE".to_owned()),
    }
}

fn watched(mut namespaces: Vec<String>) -> Namespaces {
    // A variable that is there and empty names none.
    namespaces.retain(|name| !name.is_empty());
    if namespaces.is_empty() {
        Namespaces::All
    } else {
        Namespaces::Only(namespaces)
    }
}

#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
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
        long,
        env = "OPERATOR_WATCH_NAMESPACES",
        value_name = "NAME",
        value_delimiter = ','
    )]
    watch_namespace: Vec<String>,
    /// How many reconciles run at once in all controllers together [default: what each controller may]
    #[arg(long, env = "OPERATOR_MAX_CONCURRENT_RECONCILES", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    max_concurrent_reconciles: Option<u16>,
    /// Start a controller that has ended again, instead of ending with an error
    #[arg(long, env = "OPERATOR_RESTART_CONTROLLERS")]
    restart_controllers: bool,
    /// How many requests a second are sent to the API server on average [default: no limit]
    #[arg(long, env = "OPERATOR_KUBE_API_QPS", value_name = "RATE")]
    kube_api_qps: Option<f64>,
    /// How many requests are sent at once after a quiet spell [default: those of a second]
    #[arg(
        long,
        env = "OPERATOR_KUBE_API_BURST",
        value_name = "N",
        requires = "kube_api_qps"
    )]
    kube_api_burst: Option<u32>,
    /// Who reads /metrics has to show a token, and the right to
    #[arg(long, env = "OPERATOR_PROTECT_METRICS")]
    protect_metrics: bool,
    /// Reconcile only while holding a Lease, so that several replicas can run
    #[arg(long, env = "OPERATOR_LEADER_ELECT")]
    leader_elect: bool,
    /// The namespace of the Lease [default: that of the Pod or the kubeconfig]
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAME")]
    lease_namespace: Option<String>,
    /// Who this process is, in the Lease
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    identity: Option<String>,
    #[command(flatten)]
    pod: PodArgs,
    /// Log lines as JSON
    #[arg(long, env = "OPERATOR_JSON_LOGS")]
    json_logs: bool,
    /// Stop when standard input ends, for whoever runs this as a child
    #[arg(long, hide = true)]
    stop_with_stdin: bool,
}

/// What the downward API tells a Pod of itself.
#[derive(Debug, Args)]
struct PodArgs {
    #[arg(
        id = "pod-namespace",
        long = "pod-namespace",
        hide = true,
        env = "POD_NAMESPACE"
    )]
    namespace: Option<String>,
    #[arg(id = "pod-name", long = "pod-name", hide = true, env = "POD_NAME")]
    name: Option<String>,
    #[arg(id = "pod-uid", long = "pod-uid", hide = true, env = "POD_UID")]
    uid: Option<String>,
}

impl PodArgs {
    fn pod(self) -> Option<OwnPod> {
        let pod = OwnPod::new(self.namespace?, self.name?);
        Some(match self.uid {
            Some(uid) => pod.uid(uid),
            None => pod,
        })
    }
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

    pub(super) async fn command(
        self,
        args: impl Iterator<Item = std::ffi::OsString>,
    ) -> Result<(), OperatorError> {
        let about = format!("The Kubernetes operator {}", self.name);
        let matches = Cli::command()
            .bin_name(self.name.clone())
            .about(about)
            .get_matches_from(args);
        let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        if let Some(Command::Crds | Command::Manifests { .. }) = cli.command {
            for warning in &self.crd_warnings {
                eprintln!("warning: {warning}");
            }
        }
        match cli.command {
            Some(Command::Crds) => print(&self.crds_yaml()?),
            Some(Command::Rbac(place)) => print(&yaml(&self.rbac(&place.options("")))?),
            Some(Command::Manifests {
                place,
                image,
                replicas,
                env,
            }) => {
                let options = place.options(&image).replicas(replicas);
                let options = env
                    .into_iter()
                    .fold(options, |options, (name, value)| options.env(name, value));
                print(&yaml(&self.manifests(&options)?)?)
            }
            Some(Command::Graph { format }) => print(&match format {
                Format::Mermaid => graph::mermaid(self.declarations()),
                Format::Svg => graph::svg(self.declarations()),
            }),
            Some(Command::Run(args)) => self.start(args).await,
            None => self.start(cli.run).await,
        }
    }

    async fn start(self, args: RunArgs) -> Result<(), OperatorError> {
        let telemetry = Telemetry::start(&self.name, &self.version, args.json_logs)?;
        let stop = Stop::new();
        signals::listen(&stop).map_err(OperatorError::Signals)?;
        if args.stop_with_stdin {
            signals::end_with_stdin(stop.clone());
        }
        let result = self.run(args.options(&stop)?).await;
        telemetry.end(&stop).await;
        result
    }
}

impl RunArgs {
    fn options(self, stop: &Stop) -> Result<RunOptions, OperatorError> {
        let limit = self.rate_limit()?;
        let mut options = RunOptions::new()
            .address(self.address)
            .namespaces(watched(self.watch_namespace))
            .stop_on(stop);
        if self.leader_elect {
            let mut election = ElectionOptions::new();
            if let Some(namespace) = self.lease_namespace {
                election = election.namespace(namespace);
            }
            if let Some(identity) = self.identity {
                election = election.identity(identity);
            }
            options = options.elect(election);
        }
        if let Some(file) = self.address_file {
            options = options.address_file(file);
        }
        if let Some(limit) = self.max_concurrent_reconciles {
            options = options.max_concurrent_reconciles(limit);
        }
        if self.restart_controllers {
            options = options.when_ended(WhenEnded::Restart(Backoff::default()));
        }
        if let Some(limit) = limit {
            options = options.rate_limit(limit);
        }
        if self.protect_metrics {
            options = options.protect_metrics();
        }
        if let Some(pod) = self.pod.pod() {
            options = options.pod(pod);
        }
        Ok(options)
    }

    fn rate_limit(&self) -> Result<Option<RateLimit>, OperatorError> {
        let Some(per_second) = self.kube_api_qps else {
            return Ok(None);
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast of floats saturates, and what is below zero is refused by `new`"
        )]
        let burst = self.kube_api_burst.unwrap_or(per_second.ceil() as u32);
        Ok(Some(RateLimit::new(per_second, burst)?))
    }
}

fn print(text: &str) -> Result<(), OperatorError> {
    match std::io::stdout().write_all(text.as_bytes()) {
        // `documents crds | head` has read enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(OperatorError::Print),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_a_name_and_whatever_value() {
        assert_eq!(variable("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert_eq!(variable("A="), Ok(("A".to_owned(), String::new())));
        assert!(variable("A").is_err() && variable("=b").is_err());
    }

    #[test]
    fn a_variable_that_is_empty_names_no_namespace() {
        for (given, wanted) in [
            (&[][..], Namespaces::All),
            (&[""], Namespaces::All),
            (
                &["a", "", "b"],
                Namespaces::Only(vec!["a".to_owned(), "b".to_owned()]),
            ),
        ] {
            let given = given.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(watched(given), wanted);
        }
    }
}
