//! Serves an API server over TCP until it is interrupted:
//! `cargo run -p controller-apiserver --example serve -- --listen 127.0.0.1:8080`.

use controller_apiserver::Server;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let mut listen = "127.0.0.1:8080".to_owned();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--listen", Some(address)) => listen = address,
            (other, _) => return Err(std::io::Error::other(format!("unknown argument {other}"))),
        }
    }
    let server = Server::builder().wall_clock().service_accounts(true).build();
    let listener = TcpListener::bind(&listen).await?;
    println!("serving on http://{}", listener.local_addr()?);
    let interrupted = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    server.serve(listener, interrupted).await
}
