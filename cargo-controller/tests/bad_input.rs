//! What a user reads who has given something wrong: one clear text, a non-zero end, and nothing else harmed.

#![allow(missing_docs, reason = "a test binary has no readers of its API")]
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Command, Output},
};

/// Runs `cargo controller …` as cargo does when it is installed: with its own name first.
fn controller(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-controller"))
        .arg("controller")
        .args(args)
        .env("NO_COLOR", "1")
        .env_remove("RUST_LOG")
        .output()
        .expect("the binary starts")
}

#[track_caller]
fn fails_with(output: &Output, texts: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it ended well; stderr:\n{stderr}");
    for text in texts {
        assert!(stderr.contains(text), "no {text:?} in:\n{stderr}");
    }
    assert_eq!(
        stderr.matches("error: ").count(),
        1,
        "one text, not several:\n{stderr}"
    );
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of our own is UTF-8")
}

/// A package without dependencies, so that building it needs nothing.
fn package(main: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let toml = "[package]\nname = \"broken\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    fs::create_dir(folder.path().join("src")).expect("a folder");
    fs::write(folder.path().join("Cargo.toml"), toml).expect("a file");
    fs::write(folder.path().join("src/main.rs"), main).expect("a file");
    folder
}

#[test]
fn a_port_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it is bound").to_string();
    let output = controller(&["apiserver", "--listen", &address]);
    fails_with(
        &output,
        &[&format!("cannot listen on {address}"), "--listen 127.0.0.1:0"],
    );
}

#[test]
fn a_path_that_is_not_there() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = folder.path().join("nowhere");
    fails_with(
        &controller(&["dev", text(&missing)]),
        &["nowhere is not there", "PATH is the folder"],
    );
}

#[test]
fn a_path_without_a_package() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fails_with(
        &controller(&["dev", text(folder.path())]),
        &["has no Cargo.toml", "cargo controller dev PATH"],
    );
}

#[test]
fn a_manifests_folder_that_is_not_there() {
    let package = package("fn main() {}");
    let output = controller(&["dev", text(package.path()), "--manifests", "/nowhere/manifests"]);
    fails_with(&output, &["the manifests folder /nowhere/manifests is not there"]);
}

#[test]
fn a_token_file_with_a_mistake_names_the_line_and_no_token() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("tokens.csv");
    fs::write(&file, "abc,root,1\nhush\n").expect("a file");
    let output = controller(&["apiserver", "--listen", "127.0.0.1:0", "--tokens", text(&file)]);
    fails_with(&output, &["tokens.csv", "line 2"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("hush"));
}

#[test]
fn a_name_that_fits_no_certificate_is_told() {
    let output = controller(&[
        "apiserver",
        "--listen",
        "127.0.0.1:0",
        "--tls",
        "--tls-name",
        "b\u{fc}ro",
    ]);
    fails_with(&output, &["certificate", "give host names or IP addresses"]);
}

#[test]
fn a_kubeconfig_of_someone_else_is_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("config");
    fs::write(&file, "apiVersion: v1\nkind: Config\nclusters: []\n").expect("a file");
    let output = controller(&[
        "apiserver",
        "--listen",
        "127.0.0.1:0",
        "--kubeconfig",
        text(&file),
    ]);
    fails_with(
        &output,
        &["was not written by cargo controller", "choose another file"],
    );
    assert!(
        fs::read_to_string(&file)
            .expect("it is there")
            .contains("clusters: []")
    );
}

#[test]
fn an_operator_that_does_not_build() {
    let package = package("fn main() { nothing_of_that_name() }");
    let output = controller(&["dev", text(package.path())]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        stderr.contains("cannot find function `nothing_of_that_name`"),
        "{stderr}"
    );
    assert!(stderr.contains("error: the operator does not build"), "{stderr}");
}

#[test]
fn a_package_without_a_binary() {
    let package = package("");
    fs::rename(
        package.path().join("src/main.rs"),
        package.path().join("src/lib.rs"),
    )
    .expect("it is there");
    fails_with(
        &controller(&["dev", text(package.path())]),
        &["the package has no binary", "src/main.rs"],
    );
}

#[test]
fn a_program_that_is_no_operator() {
    let package = package("fn main() { eprintln!(\"what?\"); std::process::exit(3) }");
    let output = controller(&["dev", text(package.path())]);
    fails_with(&output, &["crds` failed", "what?", "Operator::new"]);
}
