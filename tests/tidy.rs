//! The repository's own rules, as a test: what a reviewer would otherwise say each time.
//!
//! Every rule names the file, the line and what to do. A rule that is in the way is changed here, for
//! all files, with the reason beside it.

#![allow(missing_docs, reason = "a test binary has no readers of its API")]
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use syn::{spanned::Spanned, visit::Visit};

/// Longer files hold more than one concept.
const FILE_LINES: usize = 400;
/// Longer functions hide their steps.
const FUNCTION_LINES: usize = 70;
/// Longer examples are not read.
const EXAMPLE_LINES: usize = 150;

/// What is long for a reason: a file, or a function in it.
const LONG: [(&str, &str, &str); 2] = [
    (
        "controller-macros/src/errors.rs",
        "",
        "every text that a user can read, one constructor each",
    ),
    (
        "controller-apiserver/src/schema/cel/check.rs",
        "check",
        "one match over every form of an expression",
    ),
];

fn may_be_long(file: &str, function: &str) -> bool {
    LONG.iter()
        .any(|(known, name, _)| *known == file && *name == function)
}

/// Crates whose code ships to users; tests, examples and benches have other habits.
const SHIPPED: [&str; 4] = [
    "controller-runtime",
    "controller-macros",
    "controller-apiserver",
    "cargo-controller",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package lies in the workspace")
        .to_owned()
}

/// All files of one ending below a folder, in order.
fn files(below: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                if name != "target" && name != ".git" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn shipped_sources() -> Vec<(String, String)> {
    SHIPPED
        .iter()
        .flat_map(|krate| files(&root().join(krate).join("src"), "rs"))
        .filter(|path| !is_test_file(path))
        .map(|path| {
            (
                shown(&path),
                fs::read_to_string(&path).expect("sources are UTF-8"),
            )
        })
        .collect()
}

/// Test code that lies beside the code it tests.
fn is_test_file(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests")
        || path.file_stem().is_some_and(|stem| {
            let stem = stem.to_string_lossy();
            stem == "tests" || stem.ends_with("_tests") || stem.starts_with("tests_")
        })
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Path>()
                    .is_ok_and(|path| path.is_ident("test")))
    })
}

fn lines_of(node: &impl Spanned) -> usize {
    let span = node.span();
    span.end().line - span.start().line + 1
}

/// Collects long functions and the lines that only tests use.
struct Lengths<'a> {
    file: &'a str,
    test_lines: usize,
    long: String,
}

impl Lengths<'_> {
    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let lines = lines_of(body);
        if lines > FUNCTION_LINES && !may_be_long(self.file, &signature.ident.to_string()) {
            let line = signature.ident.span().start().line;
            let _ = writeln!(
                self.long,
                "{}:{line}: fn {} has {lines} lines; at most {FUNCTION_LINES}: name its steps",
                self.file, signature.ident
            );
        }
    }
}

impl<'ast> Visit<'ast> for Lengths<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if is_test_only(&module.attrs) {
            self.test_lines += lines_of(module);
        } else {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if is_test_only(&function.attrs) {
            self.test_lines += lines_of(function);
        } else {
            self.function(&function.sig, &function.block);
            syn::visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.sig, &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }
}

#[test]
fn files_and_functions_stay_short() {
    let mut wrong = String::new();
    for (file, text) in shipped_sources() {
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut lengths = Lengths {
            file: &file,
            test_lines: 0,
            long: String::new(),
        };
        lengths.visit_file(&parsed);
        let lines = text.lines().count() - lengths.test_lines;
        if lines > FILE_LINES && !may_be_long(&file, "") {
            let _ = writeln!(
                wrong,
                "{file}: {lines} lines without tests; at most {FILE_LINES}: is it still one concept?"
            );
        }
        wrong.push_str(&lengths.long);
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Lines of an example's own: no kinds, imports, tests, comments or blank lines.
fn own_lines(text: &str) -> usize {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let parsed = syn::parse_file(text).expect("examples compile");
    let own = parsed.items.iter().filter(|item| match item {
        syn::Item::Use(_) => false,
        syn::Item::Mod(module) => module.content.is_some() && !is_test_only(&module.attrs),
        _ => true,
    });
    own.flat_map(|item| &lines[item.span().start().line - 1..item.span().end().line])
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

#[test]
fn examples_stay_short() {
    let mut wrong = String::new();
    for example in fs::read_dir(root().join("examples"))
        .expect("they are there")
        .flatten()
    {
        let own = files(&example.path().join("src"), "rs").into_iter();
        let own = own.filter(|path| !is_test_file(path) && path.file_stem() != Some("types".as_ref()));
        let lines: usize = own
            .map(|path| own_lines(&fs::read_to_string(path).expect("sources are UTF-8")))
            .sum();
        if lines > EXAMPLE_LINES {
            let _ = writeln!(
                wrong,
                "{}: {lines} lines besides kinds and tests; at most {EXAMPLE_LINES}",
                shown(&example.path())
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_file_says_what_room_it_is() {
    let mut wrong = String::new();
    for path in files(&root(), "rs") {
        // Texts that a compiler test feeds to rustc show a user's file, not one of ours.
        if shown(&path).starts_with("ui-tests/ui") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("sources are UTF-8");
        let text = text.trim_start();
        // A file that is included in another cannot have inner docs.
        if !text.starts_with("//!") && !text.starts_with("#![doc") && !text.starts_with("// Included by ") {
            let _ = writeln!(
                wrong,
                "{}: begins without a `//!` line that says what it is for",
                shown(&path)
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn nothing_is_left_undone() {
    // Spelled apart, so that this file does not find itself.
    let banned = [
        (
            ["to", "do!("].concat(),
            "write it, or refuse it with a clear error",
        ),
        (
            ["unimple", "mented!("].concat(),
            "write it, or refuse it with a clear error",
        ),
        (["FIX", "ME"].concat(), "mend it, or leave it out"),
        (
            ["#[ig", "nore"].concat(),
            "a test that does not run protects nothing",
        ),
        (["```ig", "nore"].concat(), "examples compile"),
        (["thread::", "sleep("].concat(), "tests run on paused time"),
    ];
    let mut wrong = String::new();
    for path in files(&root(), "rs") {
        let text = fs::read_to_string(&path).expect("sources are UTF-8");
        for (number, line) in text.lines().enumerate() {
            for (pattern, advice) in &banned {
                if line.contains(pattern.as_str()) {
                    let _ = writeln!(wrong, "{}:{}: {pattern}…: {advice}", shown(&path), number + 1);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_api_server_does_not_know_the_runtime() {
    let manifest =
        fs::read_to_string(root().join("controller-apiserver/Cargo.toml")).expect("the manifest is there");
    assert!(
        !manifest.contains("controller-runtime") && !manifest.contains("controller-macros"),
        "controller-apiserver must serve any client: it may not depend on the runtime or the macros"
    );
}

#[test]
fn only_the_operator_ends_the_process() {
    let mut wrong = String::new();
    for (file, text) in shipped_sources() {
        let may =
            file.starts_with("controller-runtime/src/operator/") || file == "cargo-controller/src/main.rs";
        if !may && text.contains("process::exit(") {
            let _ = writeln!(
                wrong,
                "{file}: return an error; only a program's main ends the process"
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn libraries_do_not_choose_a_kubernetes_version() {
    for krate in ["controller-runtime", "controller-apiserver", "controller-macros"] {
        let manifest =
            fs::read_to_string(root().join(krate).join("Cargo.toml")).expect("the manifest is there");
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        let wrong = dependencies.lines().find(|line| {
            line.starts_with("k8s-openapi") && (line.contains("latest") || line.contains("v1_"))
        });
        assert!(
            wrong.is_none(),
            "{krate}: the version feature of k8s-openapi belongs to binaries: {wrong:?}"
        );
    }
}
