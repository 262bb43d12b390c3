//! Where `cargo controller new` puts a project, what it refuses there, and what it leaves when the disk says no; nothing here is built.

use std::{fs, path::Path, process::Command};

use super::{cargo, clone, controller, done, text};

/// A workspace with these members.
fn workspace(members: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n");
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("a file");
    folder
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is there").flatten();
    let mut names: Vec<_> = entries
        .map(|entry| text(entry.file_name().as_encoded_bytes()))
        .collect();
    names.sort();
    names
}

/// Two packages of one name, and no member of the workspace builds.
#[test]
fn a_name_that_another_member_has_is_refused() {
    let folder = workspace("\"ops/*\", \"app\"");
    for (way, manifest) in [
        ("ops/first", "[package]\nname = \"site\"\n"),
        (
            "app",
            "[package]\nname = \"app\"\n[dependencies]\nutil = { path = \"../libs/util\" }\n",
        ),
        ("libs/util", "[package]\nname = \"util\"\n"),
    ] {
        fs::create_dir_all(folder.path().join(way)).expect("a folder");
        fs::write(folder.path().join(way).join("Cargo.toml"), manifest).expect("a file");
    }
    let before = entries(folder.path());
    for (name, place) in [("site", "ops/first"), ("app", "app"), ("util", "libs/util")] {
        let output = controller(folder.path(), &["new", name, "--path", "ops/second"]);
        let stderr = text(&output.stderr);
        assert!(!output.status.success(), "{name}");
        assert!(
            stderr.contains(place) && stderr.contains(&format!("such as my-{name}")),
            "{stderr}"
        );
        assert_eq!(
            (entries(folder.path()), folder.path().join("ops/second").exists()),
            (before.clone(), false)
        );
    }
}

/// A lock file cannot hold two of one name and version.
#[test]
fn a_name_of_a_crate_that_comes_along_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["controller-macros", "controller-apiserver", "controller-runtime"] {
        let output = controller(folder.path(), &["new", name]);
        let stderr = text(&output.stderr);
        assert!(!output.status.success(), "{name}");
        assert!(stderr.contains(&format!("choose {name}-operator")), "{stderr}");
        assert!(entries(folder.path()).is_empty());
    }
}

/// Runs it where no file may be longer than so many KiB, as on a disk that is full.
#[cfg(unix)]
fn on_a_small_disk(folder: &Path, kib: usize, args: &str) -> std::process::Output {
    let program = env!("CARGO_BIN_EXE_cargo-controller");
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec '{program}' controller {args}");
    let mut bash = Command::new("bash");
    bash.args(["-c", &script])
        .current_dir(folder)
        .env("NO_COLOR", "1");
    bash.output().expect("bash is there")
}

#[cfg(unix)]
#[test]
fn what_was_written_before_the_disk_was_full_is_taken_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir_all(folder.path().join("ops/site")).expect("a folder");
    fs::write(folder.path().join("ops/site/mine"), "mine").expect("a file");
    let output = on_a_small_disk(folder.path(), 16, "new site --path ops/site");
    let stderr = text(&output.stderr);
    assert!(!output.status.success());
    assert!(
        stderr.contains("Cargo.lock") && stderr.contains("taken back"),
        "{stderr}"
    );
    assert_eq!(entries(&folder.path().join("ops/site")), ["mine"]);

    let output = on_a_small_disk(folder.path(), 16, "new site --path new/site");
    assert!(!output.status.success());
    assert_eq!(entries(folder.path()), ["ops"], "new folders are taken back, too");
}

#[cfg(unix)]
#[test]
fn a_workspace_that_cannot_be_written_stays_as_it_was() {
    let folder = workspace("\"other\"");
    let manifest = folder.path().join("Cargo.toml");
    let mut long = fs::read_to_string(&manifest).expect("it is there");
    long.push_str(&"# long\n".repeat(4096));
    fs::write(&manifest, &long).expect("it is ours");
    let output = on_a_small_disk(folder.path(), 16, "new site");
    let stderr = text(&output.stderr);
    assert!(!output.status.success());
    assert!(
        stderr.contains("Cargo.toml") && stderr.contains("taken back"),
        "{stderr}"
    );
    assert_eq!(entries(folder.path()), ["Cargo.toml"]);
    assert!(fs::read_to_string(&manifest).expect("it is there") == long);
}

#[cfg(unix)]
#[test]
fn an_addition_that_cannot_be_written_whole_is_taken_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    done(folder.path(), &["new", "site", "--path", "."]);
    let main = folder.path().join("src/main.rs");
    let mut long = fs::read_to_string(&main).expect("it is there");
    long.push_str(&"// long\n".repeat(4096));
    fs::write(&main, &long).expect("it is ours");
    let output = on_a_small_disk(folder.path(), 16, "add crd Page");
    let stderr = text(&output.stderr);
    assert!(!output.status.success());
    assert!(
        stderr.contains("main.rs") && stderr.contains("taken back"),
        "{stderr}"
    );
    assert!(!folder.path().join("src/page.rs").exists());
    assert!(!folder.path().join("manifests/page.yaml").exists());
    assert!(fs::read_to_string(&main).expect("it is there") == long);
}

/// Nobody can write there, root included.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let output = controller(Path::new("/proc"), &["new", "site"]);
    let stderr = text(&output.stderr);
    assert!(!output.status.success());
    assert!(stderr.contains("cannot write /proc/site"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn a_link_in_the_way_is_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("site")).expect("a folder");
    std::os::unix::fs::symlink("../nowhere", folder.path().join("site/README.md")).expect("a link");
    let output = controller(folder.path(), &["new", "site"]);
    assert!(
        text(&output.stderr).contains("README.md is there already"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(entries(&folder.path().join("site")), ["README.md"]);

    // The folder itself: a link to one that is there is followed, one to nowhere is not.
    std::os::unix::fs::symlink("nowhere", folder.path().join("lost")).expect("a link");
    let output = controller(folder.path(), &["new", "lost"]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("lost"), "{}", text(&output.stderr));
    assert_eq!(entries(folder.path()), ["lost", "site"]);
}

#[test]
fn a_folder_with_a_space_in_its_name_is_as_good_as_another() {
    let folder = workspace("");
    let told = done(folder.path(), &["new", "site", "--path", "my ops/site"]);
    assert!(told.contains("cargo controller dev 'my ops/site'"), "{told}");
    let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).expect("it is there");
    assert!(manifest.contains("members = [\"my ops/site\"]"), "{manifest}");
    fs::copy(clone().join("Cargo.lock"), folder.path().join("Cargo.lock")).expect("the clone has one");
    let tree = cargo(folder.path(), &["tree", "--quiet", "--depth", "1"]);
    assert!(tree.contains("site v0.1.0"), "{tree}");
    done(folder.path(), &["add", "crd", "Page", "--path", "my ops/site"]);
}

#[test]
fn the_line_ends_of_a_workspace_stay() {
    let folder = workspace("\"other\"");
    let manifest = folder.path().join("Cargo.toml");
    let before = "[workspace]\r\nmembers = [\r\n    \"other\",\r\n]\r\n";
    fs::write(&manifest, before).expect("it is ours");
    done(folder.path(), &["new", "site"]);
    assert_eq!(
        fs::read_to_string(&manifest).expect("it is there"),
        before.replace("\"other\",\r\n", "\"other\",\r\n    \"site\",\r\n")
    );
}
/// What a registry or a cluster would refuse later.
#[test]
fn a_name_that_no_image_or_service_can_have_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kind = format!("A{}", "b".repeat(60));
    let group = ["c".repeat(60).as_str(); 4].join(".");
    for (args, advice) in [
        (&["site-"][..], "choose site"),
        (&["site_"], "choose site"),
        (&["my-_site"], "choose my-site"),
        (&["site", "--kind", &kind], "55"),
        (&["site", "--kind", "Fourteenletter", "--group", &group], "253"),
        (&["my_op", "--template", "label-janitor"], "choose my-op"),
    ] {
        let output = controller(folder.path(), &[&["new"], args].concat());
        let stderr = text(&output.stderr);
        assert!(!output.status.success(), "{args:?}");
        assert!(stderr.contains(advice), "{args:?}: {stderr}");
        assert!(entries(folder.path()).is_empty(), "{args:?}");
    }
}

/// GitHub reads workflows in the root of a repository only.
#[test]
fn a_workflow_below_the_root_of_its_repository_is_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join(".git")).expect("a folder");
    let told = done(folder.path(), &["new", "site", "--path", "services/site"]);
    let root = folder.path().canonicalize().expect("it is there");
    assert!(
        told.contains(&root.join(".github/workflows").display().to_string())
            && told.contains("working-directory: services/site"),
        "{told}"
    );
    let told = done(folder.path(), &["new", "site", "--path", "."]);
    assert!(!told.contains("working-directory"), "{told}");
}

/// Cargo takes addresses, and git's short form is none.
#[test]
fn gits_short_address_is_written_as_cargo_takes_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    done(
        folder.path(),
        &["new", "site", "--source", "git@example.com:owner/repo.git"],
    );
    let manifest = fs::read_to_string(folder.path().join("site/Cargo.toml")).expect("it was made");
    assert!(
        manifest.contains("git = \"ssh://git@example.com/owner/repo.git\""),
        "{manifest}"
    );
}
