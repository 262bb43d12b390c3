//! `cargo controller`: run, try and create Kubernetes operators without a cluster.
//!
//! Every failure is one [`Error`] whose text says what was wrong, where, and what to do; it is printed once, here,
//! and the exit status is 1 (2 for a wrong command line, as clap does it).

mod add;
mod apiserver;
mod cli;
mod dev;
mod disk;
mod error;
mod kubeconfig;
mod manifest;
mod names;
mod new;
mod paint;
mod project;
mod rust;
mod rustfmt;
mod server;
mod signals;
mod terminal;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    cli::{Cli, Command},
    error::Error,
};

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse_from(cli::without_cargo(std::env::args_os()));
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into()),
        )
        .with_writer(std::io::stderr)
        .init();
    match run(cli.command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.render(paint::Palette::for_stderr()));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Apiserver(args) => apiserver::run(&args).await,
        Command::Dev(args) => dev::run(&args).await,
        Command::New(args) => new::run(&args),
        Command::Add(args) => add::run(&args),
    }
}
