//! Serves an API server over TCP until it is interrupted:
//!
//! ```sh
//! cargo run -p controller-apiserver --example serve -- --listen 127.0.0.1:8080
//!     [--tokens FILE] [--tls] [--kubeconfig FILE]
//! ```
//!
//! The kubeconfig logs in by a client certificate under `--tls`, else without credentials.

use std::error::Error;
use std::path::{Path, PathBuf};

use controller_apiserver::Server;
use controller_apiserver::access::{MASTERS, Tokens};
use controller_apiserver::tls::{Authority, Credential, Kubeconfig};
use tokio::net::TcpListener;

#[derive(Default)]
struct Options {
    listen: Option<String>,
    tokens: Option<PathBuf>,
    kubeconfig: Option<PathBuf>,
    tls: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--listen" => options.listen = Some(value()?),
            "--tokens" => options.tokens = Some(value()?.into()),
            "--kubeconfig" => options.kubeconfig = Some(value()?.into()),
            "--tls" => options.tls = true,
            _ => return Err(format!("unknown argument {argument}")),
        }
    }
    Ok(options)
}

fn write_kubeconfig(file: &Path, url: &str, authority: Option<&Authority>) -> Result<(), Box<dyn Error>> {
    let credential = match authority {
        Some(authority) => Credential::Certificate(authority.client("kubernetes-admin", &[MASTERS])?),
        None => Credential::None,
    };
    let kubeconfig = Kubeconfig {
        name: "serve".to_owned(),
        server: url.to_owned(),
        authority: authority.map(Authority::pem),
        credential,
        namespace: "default".to_owned(),
    };
    Ok(kubeconfig.write(file)?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let authority = options.tls.then(Authority::generate).transpose()?;
    let mut builder = Server::builder().wall_clock().service_accounts(true);
    if let Some(file) = &options.tokens {
        builder = builder.tokens(Tokens::read(file)?);
    }
    if let Some(authority) = &authority {
        builder = builder.authority(authority);
    }
    let server = builder.build();
    let listener = TcpListener::bind(options.listen.as_deref().unwrap_or("127.0.0.1:8080")).await?;
    let scheme = if options.tls { "https" } else { "http" };
    let url = format!("{scheme}://{}", listener.local_addr()?);
    if let Some(file) = &options.kubeconfig {
        write_kubeconfig(file, &url, authority.as_ref())?;
    }
    println!("serving on {url}");
    let interrupted = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    let served = match authority {
        Some(authority) => {
            server
                .serve_tls(listener, authority.server(&[])?, interrupted)
                .await
        }
        None => server.serve(listener, interrupted).await,
    };
    Ok(served?)
}
