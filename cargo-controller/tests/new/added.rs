//! What `cargo controller add` writes, prints and refuses; nothing here is built.

use std::{fs, path::Path};

use super::{cargo, controller, done, text};

/// A project of its own, for Sites.
fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    done(folder.path(), &["new", "site", "--path", "."]);
    folder
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).expect(file)
}

/// All files below a folder, and what is in them.
fn snapshot(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it is there").flatten() {
            let path = entry.path();
            let text = fs::read_to_string(&path).unwrap_or_default();
            found.push((path.display().to_string(), text));
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

/// It is refused with the advice, and nothing is touched.
#[track_caller]
fn refused(folder: &Path, args: &[&str], advice: &str) {
    let before = snapshot(folder);
    let output = controller(folder, &[&["add"], args].concat());
    let stderr = text(&output.stderr);
    assert!(!output.status.success(), "{args:?}: {}", text(&output.stdout));
    assert!(stderr.contains(advice), "{args:?}: {stderr}");
    assert!(snapshot(folder) == before, "{args:?} touched files");
}

/// Two controllers of one name end an operator at its start.
#[test]
fn a_controller_more_of_a_kind_has_a_name_of_its_own() {
    let site = site();
    done(site.path(), &["add", "controller", "Site"]);
    let added = read(site.path(), "src/site_controller.rs");
    assert!(added.contains("name = \"site-controller\""), "{added}");
    done(site.path(), &["add", "crd", "Page"]);
    done(site.path(), &["add", "controller", "Page"]);
    let added = read(site.path(), "src/page_controller.rs");
    assert!(added.contains("name = \"page\""), "{added}");
}

/// The crates of the framework are in no registry, so that `cargo add` has no use.
#[test]
fn what_is_printed_to_be_pasted_is_what_a_new_project_has() {
    let site = site();
    let manifest = site.path().join("Cargo.toml");
    let whole = read(site.path(), "Cargo.toml");
    let (before, behind) = whole.split_once("[dependencies]\n").expect("it has some");
    let (lines, rest) = behind.split_once("\n\n").expect("more follows");
    fs::write(&manifest, format!("{before}{rest}")).expect("it is ours");
    for addition in [
        &["crd", "Page"][..],
        &[
            "controller",
            "Deployment",
            "--type",
            "k8s_openapi::api::apps::v1::Deployment",
        ],
    ] {
        let told = done(site.path(), &[&["add"], addition].concat());
        assert!(told.contains("[dependencies]"), "{told}");
        for name in ["controller-runtime", "kube", "k8s-openapi"] {
            let mut lines = lines.lines();
            let line = lines
                .find(|line| line.starts_with(&format!("{name} =")))
                .expect(name);
            assert!(
                told.lines().any(|told| told.trim() == line),
                "no {line:?} in {told}"
            );
        }
        assert!(!told.contains("tokio"), "{told}");
    }
}

#[test]
fn what_is_printed_to_be_pasted_is_taken_by_cargo() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    done(
        folder.path(),
        &["new", "edge", "--template", "gateway-lite", "--path", "."],
    );
    let told = done(folder.path(), &["add", "crd", "Page"]);
    assert!(read(folder.path(), "src/page.rs").contains("group = \"example.com\""));
    let (_, needs) = told.split_once("[dependencies]\n").expect("it has no schemars");
    let manifest = read(folder.path(), "Cargo.toml");
    let pasted = manifest.replace("[dependencies]\n", &format!("[dependencies]\n{needs}"));
    fs::write(folder.path().join("Cargo.toml"), pasted).expect("it is ours");
    let tree = cargo(folder.path(), &["tree", "--quiet", "--depth", "1"]);
    assert!(tree.contains("schemars v1"), "{tree}");
    let told = done(folder.path(), &["add", "crd", "Leaf"]);
    assert!(!told.contains("[dependencies]"), "nothing is missing now: {told}");
}

#[test]
fn what_is_no_path_of_a_type_is_refused() {
    let site = site();
    for path in [
        "../../evil",
        "Foo<Bar>",
        "a::Foo<Bar>",
        "Foo",
        "",
        "a::",
        "a::b",
        "a::type::Foo",
        "a b::Foo",
        "a:Foo",
    ] {
        refused(
            site.path(),
            &["controller", "Foo", "--type", path],
            "such as --type k8s_openapi::api::apps::v1::Deployment",
        );
    }
    refused(
        site.path(),
        &[
            "controller",
            "Deploy",
            "--type",
            "k8s_openapi::api::apps::v1::Deployment",
        ],
        "cargo controller add controller Deployment --type k8s_openapi::api::apps::v1::Deployment",
    );
    refused(
        site.path(),
        &["controller", "Status", "--type", "crate::other::Status"],
        "Status",
    );
}

#[test]
fn a_module_that_is_there_in_any_form_is_not_made_again() {
    let site = site();
    fs::create_dir(site.path().join("src/page")).expect("a folder");
    fs::write(site.path().join("src/page/mod.rs"), "//! Mine.\n").expect("a file");
    refused(site.path(), &["crd", "Page"], "src/page/mod.rs is there already");
    let main = site.path().join("src/main.rs");
    let text = fs::read_to_string(&main).expect("it is there");
    fs::write(&main, text.replace("mod types;", "mod types;\nmod leaf {}")).expect("it is ours");
    refused(site.path(), &["crd", "Leaf"], "mod leaf");
    refused(site.path(), &["crd", "Types"], "there already");
}

/// `src/lib.rs` would be a library, and `mod kube` would hide a crate in `main.rs`.
#[test]
fn a_kind_whose_file_means_something_to_cargo_gets_another() {
    let site = site();
    for (kind, module) in [
        ("Lib", "lib_"),
        ("Main", "main_"),
        ("Bin", "bin_"),
        ("Kube", "kube_"),
        ("Std", "std_"),
    ] {
        done(site.path(), &["add", "crd", kind]);
        assert!(site.path().join(format!("src/{module}.rs")).is_file(), "{kind}");
    }
    assert!(!site.path().join("src/lib.rs").exists());
}

#[test]
fn a_folder_without_a_package_is_refused_with_those_that_have_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    refused(folder.path(), &["crd", "Page"], "--path");
    let output = controller(folder.path(), &["add", "crd", "Page"]);
    assert!(
        !text(&output.stderr).contains("dev PATH"),
        "{}",
        text(&output.stderr)
    );

    fs::write(
        folder.path().join("Cargo.toml"),
        "[workspace]\nmembers = [\"ops/*\"]\n",
    )
    .expect("a file");
    done(folder.path(), &["new", "site", "--path", "ops/site"]);
    done(folder.path(), &["new", "leaf", "--path", "ops/leaf"]);
    refused(
        folder.path(),
        &["crd", "Page"],
        "--path ops/leaf, --path ops/site",
    );
}

#[test]
fn the_line_ends_of_a_file_that_is_extended_stay() {
    let site = site();
    let main = site.path().join("src/main.rs");
    for tidy in [true, false] {
        let source = fs::read_to_string(&main)
            .expect("it is there")
            .replace("\r\n", "\n")
            .replace('\n', "\r\n");
        let source = if tidy {
            source
        } else {
            source.replace("    Operator", "  Operator")
        };
        fs::write(&main, source).expect("it is ours");
        done(site.path(), &["add", "crd", if tidy { "Page" } else { "Leaf" }]);
        let extended = fs::read_to_string(&main).expect("it is there");
        assert_eq!(
            extended.matches('\n').count(),
            extended.matches("\r\n").count(),
            "{extended:?}"
        );
    }
}
