//! What an operator prints, in the hands of kubectl: taken as it is, and nothing changes the second time.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use controller_apiserver::{
    Server,
    tls::{Credential, Kubeconfig},
};
use controller_runtime::{declare::Namespaces, operator::ManifestOptions};
use serde_json::json;
use tokio::net::TcpListener;

/// Where `.ci/clients` puts it, or on the PATH.
fn kubectl() -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/clients/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::iter::once(installed).chain(std::env::split_paths(&path));
    folders.find_map(|folder| Some(folder.join("kubectl")).filter(|file| file.is_file()))
}

/// The revision when the server's own controllers have nothing to do any more.
async fn at_rest(server: &Server) -> u64 {
    loop {
        let revision = server.revision();
        tokio::time::sleep(Duration::from_millis(300)).await;
        if server.revision() == revision {
            return revision;
        }
    }
}

#[tokio::test]
async fn kubectl_applies_the_manifests_twice_without_change() {
    let Some(kubectl) = kubectl() else {
        // Not by a macro: the test harness would swallow it.
        let _ = writeln!(std::io::stderr(), "skipped: kubectl is not installed");
        return;
    };
    let folder = std::env::temp_dir().join(format!("manifests-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let server = Server::builder().wall_clock().build();
    for namespace in ["a", "b"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        server.install([namespace]).await.unwrap();
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let kubeconfig = Kubeconfig {
        name: "test".to_owned(),
        server: format!("http://{}", listener.local_addr().unwrap()),
        authority: None,
        credential: Credential::Token("anyone".to_owned()),
        namespace: "default".to_owned(),
    };
    kubeconfig.write(&folder.join("kubeconfig")).unwrap();
    let _serving = tokio::spawn({
        let server = server.clone();
        async move { server.serve(listener, std::future::pending()).await }
    });
    let plain = ManifestOptions::new("operators", "staff:1");
    let only = Namespaces::Only(vec!["a".to_owned(), "b".to_owned()]);
    let all = plain.clone().namespaces(only).replicas(2).protect_metrics();
    for (options, again) in [(&plain, false), (&plain, true), (&all, false), (&all, true)] {
        let manifests = crate::rbac::operator().manifests(options).unwrap();
        let count = manifests.len();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": manifests});
        let file = folder.join("manifests.json");
        std::fs::write(&file, list.to_string()).unwrap();
        let before = at_rest(&server).await;
        let mut apply = Command::new(&kubectl);
        apply
            .env("KUBECONFIG", folder.join("kubeconfig"))
            .env("HOME", &folder)
            .arg("apply")
            .arg("-f")
            .arg(&file);
        let output = tokio::task::spawn_blocking(move || apply.output())
            .await
            .unwrap()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{text}{errors}");
        assert_eq!(text.lines().count(), count, "{text}");
        let configured = |line: &&str| line.ends_with(" configured");
        let changed: Vec<_> = text.lines().filter(configured).collect();
        if again {
            // Of a budget kubectl sends the selector each time, for it is replaced as a whole; the server finds it as it was.
            assert!(
                changed
                    .iter()
                    .all(|line| line.starts_with("poddisruptionbudget.policy/")),
                "{text}"
            );
            assert_eq!(at_rest(&server).await, before, "something was written: {text}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}
