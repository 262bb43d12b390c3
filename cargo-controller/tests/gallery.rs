//! Every operator of the gallery as its reader meets it: it settles under `cargo controller dev`, and what it prints for a cluster is a
//! file to be read.

#![allow(missing_docs, reason = "a test binary has no readers of its API")]
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

#[cfg(target_os = "linux")]
#[path = "gallery/e2e.rs"]
mod e2e;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use kube::{Api, Client, Config, api::DynamicObject, core::GroupVersionKind, discovery::ApiResource};
use tokio::io::{AsyncBufReadExt, BufReader};

/// How long one operator may take that has been built.
const LIMIT: Duration = Duration::from_secs(120);

/// The names of all, which have been built when it answers: together, so that what they share is built once.
fn gallery() -> &'static [String] {
    static BUILT: OnceLock<Vec<String>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let entries = fs::read_dir(folder("")).expect("they are there").flatten();
        let crates = entries.filter(|entry| entry.path().join("Cargo.toml").is_file());
        let mut names: Vec<_> = crates
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--manifest-path"]);
        cargo.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml"));
        // What cargo told this test of its own package would make build scripts run again.
        for (name, _) in std::env::vars() {
            if name == "OUT_DIR" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                cargo.env_remove(name);
            }
        }
        // As the tests were built, so that what they stand on is there.
        cargo.arg("--workspace");
        cargo.args(names.iter().flat_map(|name| ["--bin", name]));
        assert!(cargo.status().expect("cargo is there").success());
        names
    })
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(name)
}

fn dev(name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-controller"));
    command
        .args(["controller", "dev"])
        .arg(folder(name))
        .env("NO_COLOR", "1")
        .env_remove("RUST_LOG");
    command
}

/// Every object of its manifests is reconciled, or has failed for good: those that are there to show how that looks.
#[test]
fn each_settles() {
    let reconciled = |name: &str| match name {
        "document" => "8 objects reconciled, 1 failed for good",
        "database" | "namespace-quota" => "2 objects reconciled, 1 failed for good",
        "website" | "secret-sync" => "  2 objects reconciled\n",
        "gateway-lite" => "  9 objects reconciled\n",
        // Each has left what it selects.
        "label-janitor" => "ok       ConfigMap default/torn",
        other => panic!("how many objects {other} reconciles has to stand here"),
    };
    let settle = |name: &str| {
        let output = dev(name).arg("--until-settled").output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let settled = told.contains(reconciled(name)) && output.status.success();
        (!settled).then(|| format!("{name}: {told}"))
    };
    let wrong: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = gallery()
            .iter()
            .map(|name| scope.spawn(|| settle(name)))
            .collect();
        running
            .into_iter()
            .filter_map(|one| one.join().expect("it told"))
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Deployments have Pods here as on a cluster, so that an operator which waits for them comes to an end.
#[tokio::test]
async fn the_servers_of_a_website_start() {
    gallery();
    let mut dev = tokio::process::Command::from(dev("website"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(dev.stdout.take().expect("it is piped")).lines();
    let mut next = async || {
        let line = tokio::time::timeout(LIMIT, lines.next_line()).await;
        line.expect("it is in time")
            .expect("it is UTF-8")
            .expect("it goes on")
    };
    let first = next().await;
    let (_, url) = first.split_once("http://").expect("it tells where the server is");
    let (address, _) = url.split_once(',').expect("it goes on");
    let uri = format!("http://{address}").parse().expect("it is an address");
    let client = Client::try_from(Config::new(uri)).expect("no more is needed");
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Website"));
    let websites = Api::<DynamicObject>::namespaced_with(client, "default", &kind);
    loop {
        if next().await.contains("ok       Website default/shop") {
            let shop = websites.get("shop").await.expect("it is there");
            if shop.data["status"]["ready"] == "3/3" {
                break;
            }
        }
    }
    dev.kill().await.expect("it runs");
}

/// What a user applies. To write it anew after a change on purpose: `UPDATE_GOLDEN=1`, then read the difference.
#[test]
fn the_manifests_are_these_bytes() {
    let binaries = Path::new(env!("CARGO_BIN_EXE_cargo-controller"))
        .parent()
        .expect("it is in a folder");
    let mut wrong = Vec::new();
    for name in gallery() {
        let image = format!("registry.example.com/{name}:1");
        let output = Command::new(binaries.join(name))
            .args(["manifests", "--image", &image])
            .output()
            .expect("it was built");
        assert!(output.status.success(), "{name}: {output:?}");
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.yaml"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &output.stdout).expect("the folder is there");
        }
        if fs::read(&golden).unwrap_or_default() != output.stdout {
            wrong.push(format!("{name}: {}", String::from_utf8_lossy(&output.stdout)));
        }
    }
    assert!(
        wrong.is_empty(),
        "not what is in tests/golden: {}",
        wrong.join("\n")
    );
}
