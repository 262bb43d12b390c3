//! `cargo controller apiserver`: the server alone, until SIGTERM.

use crate::{
    cli::ApiserverArgs,
    error::Error,
    server::{LocalServer, Options},
    signals::Signals,
};

/// Serves until a signal comes.
///
/// # Errors
/// When the port is taken, or one of the files cannot be used.
pub(crate) async fn run(args: &ApiserverArgs) -> Result<(), Error> {
    let mut signals = Signals::listen().map_err(Error::Signals)?;
    let options = Options {
        listen: args.listen,
        tokens: args.tokens.as_deref(),
        https: args.tls.then_some(&args.tls_name),
        workloads: None,
    };
    let server = LocalServer::start(&options).await?;
    let access = server.access();
    if let Some(path) = &args.kubeconfig {
        access.write(path)?;
        if args.tokens.is_some() && !args.tls {
            eprintln!("warning: kubectl sends no token over plain HTTP, and is nobody here: add --tls");
        }
        println!("serving on {}, as in {}", access.url, path.display());
    } else {
        println!("serving on {}", access.url);
    }
    signals.next().await;
    Ok(())
}
