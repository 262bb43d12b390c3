//! Projects that `cargo controller new` makes build, pass their tests and run, the first time: each template, and also for kinds with
//! odd names; and what `cargo controller add` adds to them builds.

#![allow(missing_docs, reason = "a test binary has no readers of its API")]
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

#[path = "new/added.rs"]
mod added;
#[path = "new/places.rs"]
mod places;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

fn controller(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-controller"))
        .arg("controller")
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("CARGO_TARGET_DIR", clone().join("target"))
        .env("CARGO_NET_OFFLINE", "true")
        .stdin(Stdio::null())
        .output()
        .expect("it starts")
}

/// Its standard output, when it ends well.
#[track_caller]
fn done(folder: &Path, args: &[&str]) -> String {
    let output = controller(folder, args);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{args:?}: {stdout}{stderr}");
    stdout
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn clone() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A workspace that builds as the clone does, so that what the clone has built is used again.
fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let manifest = fs::read_to_string(clone().join("Cargo.toml")).expect("the clone has one");
    let (_, profiles) = manifest
        .split_once("[profile.dev]")
        .expect("the clone has profiles");
    let manifest =
        format!("[workspace]\nresolver = \"3\"\nmembers = [\"*-operator\"]\n\n[profile.dev]{profiles}");
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("a file");
    fs::copy(clone().join("Cargo.lock"), folder.path().join("Cargo.lock")).expect("the clone has one");
    folder
}

#[track_caller]
fn cargo(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(args)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", clone().join("target"))
        .env("CARGO_NET_OFFLINE", "true");
    // What cargo told this test of its own package would make build scripts run again.
    for (name, _) in std::env::vars() {
        if name == "OUT_DIR" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    let output = command.output().expect("cargo is there");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "cargo {args:?}: {stdout}{stderr}");
    stdout
}

/// What `--list` shows, by its first word.
fn templates() -> BTreeMap<String, String> {
    let listed = done(&clone(), &["new", "--list"]);
    let lines = listed.lines().filter_map(|line| line.split_once(' '));
    lines
        .map(|(name, about)| (name.to_owned(), about.trim().to_owned()))
        .collect()
}

/// The whole way of each template, with kinds that broke other scaffolds (kubernetes-sigs/kubebuilder#3784).
#[test]
fn every_template_builds_and_passes_its_tests() {
    let folder = workspace();
    // The document template is run below; its kind is the one that broke most scaffolds.
    let mut kinds = ["FunctionBuild", "HTTPRoute", "Policy", "X", "Redis", "Match"]
        .into_iter()
        .cycle();
    let mut packages = Vec::new();
    for template in templates().keys() {
        let name = format!("{template}-operator");
        let mut args = vec!["new", &name, "--template", template];
        if brings_a_kind(template) {
            let kind = match template.as_str() {
                "document" => "DNS",
                _ => kinds.next().expect("it never ends"),
            };
            args.extend(["--kind", kind, "--group", "acme.io", "--version", "v1beta1"]);
        }
        done(folder.path(), &args);
        packages.extend(["--package".to_owned(), name]);
    }
    let packages: Vec<_> = packages.iter().map(String::as_str).collect();
    let tested = cargo(folder.path(), &[&["test", "--quiet"], &*packages].concat());
    let passed = tested
        .lines()
        .filter(|line| line.starts_with("test result: ok. ") && !line.contains(" 0 passed"));
    assert_eq!(passed.count(), packages.len() / 2, "{tested}");

    // The document template, as a DNS, runs, with a second controller of the kind, too; and its plural is the same wherever it stands.
    done(
        folder.path(),
        &["add", "controller", "DNS", "--path", "document-operator"],
    );
    let told = done(folder.path(), &["dev", "document-operator", "--until-settled"]);
    assert!(
        told.contains("dnses.acme.io") && told.contains("ok       DNS default/welcome"),
        "{told}"
    );
    let printed = |command: &str| {
        let binary = clone().join("target/debug/document-operator");
        let output = Command::new(binary).arg(command).output().expect("it was built");
        text(&output.stdout)
    };
    let crds = printed("crds");
    for line in [
        "  name: dnses.acme.io",
        "    kind: DNS",
        "    plural: dnses",
        "    singular: dns",
    ] {
        assert!(crds.lines().any(|found| found == line), "no {line:?} in {crds}");
    }
    let roles = printed("rbac");
    assert!(
        roles.contains("- dnses\n") && roles.contains("- acme.io\n"),
        "{roles}"
    );
}

fn brings_a_kind(template: &str) -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder");
    controller(
        folder.path(),
        &["new", "probe", "--template", template, "--kind", "Probe"],
    )
    .status
    .success()
}

#[test]
fn every_example_is_listed_with_a_line() {
    let templates = templates();
    for example in fs::read_dir(clone().join("examples"))
        .expect("the clone has them")
        .flatten()
    {
        if example.path().join("Cargo.toml").is_file() {
            let name = text(example.file_name().as_encoded_bytes());
            assert!(
                templates.get(&name).is_some_and(|about| !about.is_empty()),
                "{name}"
            );
        }
    }
}

/// kubernetes-sigs/kubebuilder#1993, #3784 and #153, operator-framework/operator-sdk#2620: plurals, capitals, keywords, one letter. All
/// lints hold, and the layout is rustfmt's. So too for what is added later.
#[test]
fn odd_kinds_and_what_is_added_to_them_are_clean() {
    let folder = workspace();
    for kind in [
        "FunctionBuild",
        "Redis",
        "Ingress",
        "Metadata",
        "Policy",
        "Type",
        "Match",
        "X",
        "URL",
        "Doc",
        "Crate",
        "Super",
    ] {
        let name = format!("{}-operator", kind.to_lowercase());
        done(folder.path(), &["new", &name, "--kind", kind]);
    }
    let told = done(folder.path(), &["new", "fish-operator", "--plural", "fish"]);
    assert!(told.contains("(plural fish)"), "{told}");

    for addition in [
        &["crd", "DNSZone"][..],
        &["controller", "DNSZone"],
        &["crd", "Type", "--cluster", "--plural", "kinds"],
        &["controller", "Type"],
        &[
            "controller",
            "Deployment",
            "--type",
            "k8s_openapi::api::apps::v1::Deployment",
        ],
    ] {
        let told = done(
            folder.path(),
            &[&["add"], addition, &["--path", "fish-operator"]].concat(),
        );
        assert!(told.contains("src/main.rs: `mod "), "{told}");
    }
    cargo(folder.path(), &["fmt", "--all", "--check"]);
    cargo(
        folder.path(),
        &[
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
    );
}

#[test]
fn nothing_that_is_there_is_touched() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let readme = folder.path().join("site/README.md");
    fs::create_dir(folder.path().join("site")).expect("a folder");
    fs::write(&readme, "mine").expect("a file");
    let output = controller(folder.path(), &["new", "site"]);
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
fn a_workspace_gets_a_member_and_is_told_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let manifest = folder.path().join("Cargo.toml");
    fs::write(&manifest, "[workspace]\nmembers = [\n    \"other\", # ours\n]\n").expect("a file");
    let told = done(folder.path(), &["new", "site", "--path", "ops/site"]);
    assert!(told.contains("Cargo.toml: a member more"), "{told}");
    assert_eq!(
        fs::read_to_string(&manifest).expect("it is there"),
        "[workspace]\nmembers = [\n    \"other\", # ours\n    \"ops/site\",\n]\n"
    );
    assert!(folder.path().join(".github/workflows/site.yml").is_file());
    let member = fs::read_to_string(folder.path().join("ops/site/Cargo.toml")).expect("it is there");
    assert!(
        !member.contains("[profile"),
        "profiles are the workspace's: {member}"
    );
    assert!(
        !folder.path().join("ops/site/Cargo.lock").exists(),
        "the workspace has its own"
    );
}

#[test]
fn a_package_of_its_own_is_whole() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    done(
        folder.path(),
        &["new", "site", "--source", "https://example.com/controllers.git"],
    );
    let read = |name: &str| fs::read_to_string(folder.path().join("site").join(name)).expect(name);
    let manifest = read("Cargo.toml");
    assert!(
        manifest.contains("controller-runtime = { git = \"https://example.com/controllers.git\" }"),
        "{manifest}"
    );
    let home = clone().canonicalize().expect("it is there").display().to_string();
    for file in [
        "Dockerfile",
        "Dockerfile.dockerignore",
        "e2e.sh",
        ".gitignore",
        ".github/workflows/ci.yml",
        "README.md",
        "Cargo.lock",
        "src/main.rs",
    ] {
        assert!(
            !read(file).contains(&home),
            "{file} names a folder of this machine"
        );
    }
}

/// The lock file that comes along holds the versions that were tested, and nothing has to be fetched.
#[test]
fn a_package_of_its_own_needs_no_network() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    done(folder.path(), &["new", "site"]);
    let site = folder.path().join("site");
    let locked = |folder: &Path| fs::read_to_string(folder.join("Cargo.lock")).expect("it is there");
    assert_eq!(locked(&site), locked(&clone()));
    cargo(&site, &["tree", "--quiet"]);
}

#[test]
fn what_cannot_be_named_so_is_refused_with_what_could() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (args, advice) in [
        (&["site", "--kind", "my-site"][..], "choose --kind MySite"),
        (&["site", "--kind", "Store"], "choose --kind MyStore"),
        (&["site", "--kind", "Secret"], "choose --kind MySecret"),
        (&["site", "--group", "apps.k8s.io"], "such as example.com"),
        (&["type"], "choose type-operator"),
        (&["kube"], "choose kube-operator"),
        (&["site", "--plural", "My Sites"], "--plural"),
        (&["site", "--template", "nothing"], "document"),
        (&["site", "--source", "nowhere"], "no clone"),
        (&[], "new NAME"),
    ] {
        let output = controller(folder.path(), &[&["new"], args].concat());
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

/// In a terminal of its own, which `script` makes, for a name and for what was not given. Without a terminal nobody is asked: above.
#[cfg(target_os = "linux")]
#[test]
fn a_person_at_a_terminal_is_asked() {
    use std::io::Write;

    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = env!("CARGO_BIN_EXE_cargo-controller");
    let session = format!("{program} controller new; echo status $?");
    let mut terminal = Command::new("script")
        .args(["--quiet", "--command", &session, "/dev/null"])
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("util-linux is there");
    let mut keys = terminal.stdin.take().expect("it is piped");
    keys.write_all(b"\nsite-operator\n\n\nacme.io\n")
        .expect("it is open");
    let output = terminal.wait_with_output().expect("it is ours");
    let shown = text(&output.stdout);
    for part in [
        "Name of the package: ",
        ") [document]: ",
        "Kind [Site]: ",
        "API group [example.com]: ",
        "for Sites in acme.io/v1",
        "status 0",
    ] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    let types = fs::read_to_string(folder.path().join("site-operator/src/types.rs"));
    let types = types.expect("it was made");
    assert!(types.contains("group = \"acme.io\""), "{types}");
}

#[test]
fn what_cannot_be_added_is_refused_and_what_is_not_clear_is_printed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    done(folder.path(), &["new", "site"]);
    let site = folder.path().join("site");
    let main = site.join("src/main.rs");
    for (args, advice) in [
        (&["crd", "Site"][..], "Site of example.com is there already, in "),
        (&["crd", "Option"], "choose MyOption"),
        (&["controller", "Page"], "cargo controller add crd Page"),
    ] {
        let before = fs::read_to_string(&main).expect("it is there");
        let output = controller(&site, &[&["add"], args].concat());
        assert!(!output.status.success(), "{args:?}");
        assert!(
            text(&output.stderr).contains(advice),
            "{args:?}: {}",
            text(&output.stderr)
        );
        assert_eq!(
            fs::read_to_string(&main).expect("it is there"),
            before,
            "{args:?}"
        );
    }
    fs::write(&main, "fn main() { site::run() }\n").expect("it is ours");
    let told = done(&site, &["add", "crd", "Page"]);
    assert!(
        told.contains("  mod page;") && told.contains("      .crd::<page::Page>()"),
        "{told}"
    );
    assert_eq!(
        fs::read_to_string(&main).expect("it is there"),
        "fn main() { site::run() }\n"
    );
    let again = controller(&site, &["add", "crd", "Page"]);
    assert!(
        text(&again.stderr).contains("is there already"),
        "{}",
        text(&again.stderr)
    );
}
