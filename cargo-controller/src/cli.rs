//! The command line, and nothing else.

use std::{ffi::OsString, net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand};

/// Run, try and create Kubernetes operators, without a cluster.
#[derive(Debug, Parser)]
#[command(name = "cargo controller", bin_name = "cargo controller", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve an in-memory Kubernetes API until SIGTERM or Ctrl-C
    Apiserver(ApiserverArgs),
    /// Build an operator, run it against an API server of its own, and tell what happens
    Dev(DevArgs),
    /// Make a new operator from a template
    New(NewArgs),
    /// Add a kind, or a controller of one, to an operator
    Add(AddArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ApiserverArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Write a kubeconfig for this server to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Users: lines `token,user,uid,"group1,group2"`; without this, everyone is an administrator
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    /// Serve https, by a certificate made for localhost; the kubeconfig trusts it
    #[arg(long)]
    pub(crate) tls: bool,
    /// Another host name or address for the certificate; may be given several times
    #[arg(long, value_name = "HOST", requires = "tls")]
    pub(crate) tls_name: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DevArgs {
    /// Folder of the operator's Cargo.toml
    #[arg(value_name = "PATH", default_value = ".")]
    pub(crate) path: PathBuf,
    /// Objects to apply once the operator is ready [default: PATH/manifests, if it is there]
    #[arg(long, value_name = "DIR")]
    pub(crate) manifests: Option<PathBuf>,
    /// The binary to run, when the package has several
    #[arg(long, value_name = "NAME")]
    pub(crate) bin: Option<String>,
    /// Where the API server listens; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// End when all is quiet: 0 if every object was reconciled or has failed for good, 1 with the reasons otherwise
    #[arg(long)]
    pub(crate) until_settled: bool,
    /// How long `--until-settled` waits, in seconds, from the start of the operator
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds, requires = "until_settled")]
    pub(crate) timeout: Duration,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NewArgs {
    /// Name of the package [at a terminal: asked for, with the rest]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Which template; --list shows all [default: document]
    #[arg(long, value_name = "TEMPLATE")]
    pub(crate) template: Option<String>,
    /// The kind to reconcile, such as `Website` [default: from NAME]
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Its API group: a domain that is yours [default: example.com]
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// Its version [default: v1]
    #[arg(long = "version", value_name = "VERSION")]
    pub(crate) api_version: Option<String>,
    /// Its plural, where English does not say [default: from KIND]
    #[arg(long, value_name = "PLURAL")]
    pub(crate) plural: Option<String>,
    /// Where to put it; in a workspace it becomes a member [default: NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// Where it takes controller-runtime from: a clone, or the address of a git repository [default: the clone that
    /// this program was built in]
    #[arg(long, value_name = "DIR|URL")]
    pub(crate) source: Option<String>,
    /// List the templates
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    #[command(subcommand)]
    pub(crate) what: Addition,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Addition {
    /// A kind of your own: its type, a sample, and its place in the operator
    Crd(AddCrdArgs),
    /// A controller of a kind: its function, and its place in the operator
    Controller(AddControllerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AddCrdArgs {
    /// The kind, such as `Website`
    #[arg(value_name = "KIND")]
    pub(crate) kind: String,
    /// Its API group [default: that of the project's other kinds, or example.com]
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// Its version [default: v1]
    #[arg(long = "version", value_name = "VERSION")]
    pub(crate) api_version: Option<String>,
    /// Its plural, where English does not say [default: from KIND]
    #[arg(long, value_name = "PLURAL")]
    pub(crate) plural: Option<String>,
    /// It has no namespace
    #[arg(long)]
    pub(crate) cluster: bool,
    /// Folder of the operator's Cargo.toml
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct AddControllerArgs {
    /// The kind to reconcile: one of the project, or with --type the one that it ends in
    #[arg(value_name = "KIND")]
    pub(crate) kind: String,
    /// The path of its Rust type, such as `k8s_openapi::api::apps::v1::Deployment`
    #[arg(long = "type", value_name = "PATH")]
    pub(crate) rust_type: Option<String>,
    /// Folder of the operator's Cargo.toml
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) path: PathBuf,
}

fn seconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.trim_end_matches('s').parse().map(Duration::from_secs)
}

/// Drops the subcommand's own name, which cargo passes first when it finds us as `cargo-controller` in the PATH; the
/// alias of a clone passes nothing.
pub(crate) fn without_cargo(args: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    args.enumerate()
        .filter(|(index, arg)| !(*index == 1 && arg == "controller"))
        .map(|(_, arg)| arg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Cli {
        Cli::try_parse_from(without_cargo(args.iter().map(OsString::from))).unwrap()
    }

    #[test]
    fn both_ways_cargo_calls_us_are_understood() {
        for args in [
            &["cargo-controller", "dev", "x"][..],
            &["cargo-controller", "controller", "dev", "x"],
        ] {
            let Command::Dev(dev) = parse(args).command else {
                panic!("not dev")
            };
            assert_eq!(dev.path, PathBuf::from("x"));
        }
    }

    #[test]
    fn a_folder_named_controller_is_still_a_folder() {
        let Command::Dev(dev) = parse(&["cargo-controller", "dev", "controller"]).command else {
            panic!("not dev")
        };
        assert_eq!(dev.path, PathBuf::from("controller"));
    }

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
