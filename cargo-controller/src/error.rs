//! Everything that can end a command, with the text its user reads.

use std::{fmt::Write as _, io, net::SocketAddr, path::PathBuf};

use crate::paint::Palette;

/// Why a command ended. The text says what was wrong and where; [`Error::help`] what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    TakenBack {
        path: PathBuf,
        source: io::Error,
        /// What could not be taken back.
        left: Vec<PathBuf>,
    },
    #[error("{} is there, and was not written by cargo controller", .0.display())]
    ForeignKubeconfig(PathBuf),
    #[error(transparent)]
    Tokens(#[from] controller_apiserver::access::TokenFileError),
    #[error(transparent)]
    Tls(#[from] controller_apiserver::tls::TlsError),
    #[error("{} names no user", .0.display())]
    NoUsers(PathBuf),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("the API server ended: {0}")]
    Server(io::Error),
    #[error("{} is not there", .0.display())]
    NoPath(PathBuf),
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    #[error("{} has no Cargo.toml", .0.display())]
    NoCargoToml(PathBuf),
    #[error("the manifests folder {} is not there, or is not a folder", .0.display())]
    NoManifests(PathBuf),
    #[error("cannot start {program}: {source}")]
    Spawn { program: String, source: io::Error },
    #[error("the operator does not build")]
    Build,
    #[error("the package has no binary{}", named(.0.as_deref()))]
    NoBinary(Option<String>),
    #[error("the package has several binaries: {}", .0.join(", "))]
    ManyBinaries(Vec<String>),
    #[error("`{program} crds` failed ({status}){}", said(.stderr))]
    Crds {
        program: String,
        status: String,
        stderr: String,
    },
    #[error("`crds` printed what the server does not take: {0}")]
    BadCrd(String),
    #[error("the operator ended before it was ready ({status}){}", said(.stderr))]
    OperatorEnded { status: String, stderr: String },
    #[error("the operator did not say within {seconds} s where its status can be read")]
    NoStatus { seconds: u64 },
    #[error("not settled:\n{}", .0.join("\n"))]
    NotSettled(Vec<String>),
    #[error("there is no template {asked:?}; there are: {}", .known.join(", "))]
    NoTemplate { asked: String, known: Vec<&'static str> },
    #[error("{0}")]
    Name(String),
    #[error("{0}")]
    Add(String),
    #[error("no answer: {0}")]
    Answers(io::Error),
    #[error("{} is there already; nothing was written", .0.display())]
    InTheWay(PathBuf),
    #[error("cannot wait for signals: {0}")]
    Signals(io::Error),
    #[error("no temporary folder: {0}")]
    Temporary(io::Error),
    #[error("no client for the API server: {0}")]
    Client(String),
}

impl Error {
    /// What the user can do about it.
    pub(crate) fn help(&self) -> Option<String> {
        Some(match self {
            Self::ForeignKubeconfig(_) => "choose another file: yours is left as it was".to_owned(),
            Self::TakenBack { left, .. } if left.is_empty() => {
                "nothing has changed: what was written before was taken back".to_owned()
            }
            Self::TakenBack { left, .. } => {
                let left: Vec<_> = left.iter().map(|path| path.display().to_string()).collect();
                format!("what was written before was taken back, except for {}", left.join(", "))
            }
            Self::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                "another program has this port: choose another with --listen, or a free one with --listen 127.0.0.1:0"
                    .to_owned()
            }
            Self::NoPath(_) | Self::NotAFolder(_) => {
                "PATH is the folder of the operator's Cargo.toml".to_owned()
            }
            Self::NoCargoToml(_) => "give the folder of the operator's package: cargo controller dev PATH".to_owned(),
            Self::NoManifests(_) => "leave --manifests away, or name a folder of YAML files".to_owned(),
            Self::Build => "the compiler's messages stand above".to_owned(),
            Self::NoBinary(None) => {
                "an operator is a package with a src/main.rs; of a workspace, give a member's folder".to_owned()
            }
            Self::ManyBinaries(_) => "choose one with --bin NAME".to_owned(),
            Self::Crds { .. } => {
                "an operator's main ends in `Operator::new(…)….main().await`, which knows the command `crds`".to_owned()
            }
            Self::InTheWay(_) => "choose another folder with --path".to_owned(),
            Self::NoStatus { .. } => {
                "dev reads it from operators whose main ends in `Operator::new(…)….main().await`".to_owned()
            }
            _ => return None,
        })
    }

    /// The whole text for a terminal or a log.
    pub(crate) fn render(&self, palette: Palette) -> String {
        let mut text = format!("{} {self}", palette.bad("error:"));
        if let Some(help) = self.help() {
            let _ = write!(text, "\n {} {help}", palette.dim("help:"));
        }
        text
    }
}

fn named(name: Option<&str>) -> String {
    name.map(|name| format!(" named {name}")).unwrap_or_default()
}

fn said(stderr: &str) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() {
        String::new()
    } else {
        format!(":\n{stderr}")
    }
}
