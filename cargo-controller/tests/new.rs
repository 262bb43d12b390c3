//! Projects that `cargo controller new` makes build, and their tests pass, the first time: also for kinds with odd names.

#![allow(missing_docs, reason = "a test binary has no readers of its API")]
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn new(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-controller"))
        .args(["controller", "new"])
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn clone() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Kinds that broke other scaffolds: plurals, capitals, keywords, one letter.
const KINDS: [&str; 7] = ["Website", "DNS", "Redis", "Policy", "Type", "HTTPRoute", "X"];

#[test]
fn projects_of_all_kinds_build_and_pass_their_tests() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("Cargo.toml"), workspace()).expect("a file");
    fs::copy(clone().join("Cargo.lock"), folder.path().join("Cargo.lock")).expect("the clone has one");
    for kind in KINDS {
        let name = format!("{}-operator", kind.to_lowercase());
        let output = new(
            folder.path(),
            &[
                &name,
                "--kind",
                kind,
                "--group",
                "acme.io",
                "--version",
                "v1beta1",
            ],
        );
        assert!(output.status.success(), "{kind}: {}", text(&output.stderr));
    }
    cargo(folder.path(), &["check", "--workspace", "--tests"]);
    let tested = cargo(folder.path(), &["test", "--package", "website-operator"]);
    assert!(tested.contains("2 passed"), "{tested}");
}

/// A workspace that builds as the clone does, so that what the clone has built is used again.
fn workspace() -> String {
    let clone = fs::read_to_string(clone().join("Cargo.toml")).expect("the clone has one");
    let (_, profiles) = clone.split_once("[profile.dev]").expect("the clone has profiles");
    format!("[workspace]\nresolver = \"3\"\nmembers = [\"*-operator\"]\n\n[profile.dev]{profiles}")
}

fn cargo(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(args)
        .args(["--offline", "--quiet"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", clone().join("target"))
        .env_remove("CARGO_MANIFEST_DIR")
        .output()
        .expect("cargo is there");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "cargo {args:?}: {stdout}{stderr}");
    stdout
}

#[test]
fn nothing_that_is_there_is_touched() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let readme = folder.path().join("site/README.md");
    fs::create_dir(folder.path().join("site")).expect("a folder");
    fs::write(&readme, "mine").expect("a file");
    let output = new(folder.path(), &["site"]);
    assert!(!output.status.success());
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("README.md is there already; nothing was written"),
        "{stderr}"
    );
    assert!(stderr.contains("--path"), "{stderr}");
    let files = fs::read_dir(folder.path().join("site"))
        .expect("it is there")
        .count();
    assert_eq!(
        (files, fs::read_to_string(readme).expect("it is there").as_str()),
        (1, "mine")
    );
}

#[test]
fn what_cannot_be_named_so_is_refused_with_what_could() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (args, advice) in [
        (&["site", "--kind", "my-site"][..], "choose --kind MySite"),
        (&["site", "--kind", "Store"], "choose --kind MyStore"),
        (&["site", "--group", "apps.k8s.io"], "such as example.com"),
        (&["type"], "choose type-operator"),
        (&["site", "--template", "nothing"], "there are: document"),
    ] {
        let output = new(folder.path(), args);
        assert!(!output.status.success(), "{args:?}");
        assert!(
            text(&output.stderr).contains(advice),
            "{args:?}: {}",
            text(&output.stderr)
        );
        assert_eq!(
            fs::read_dir(folder.path()).expect("it is there").count(),
            0,
            "{args:?}"
        );
    }
}
