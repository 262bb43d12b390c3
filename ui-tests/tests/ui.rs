//! What a user of `#[controller]` reads.
//!
//! Files under `ui/pass` compile and run: each is a test target of its own. Files under `ui/fail/<topic>/<mistake>.rs` do not compile; beside each stands
//! what rustc says. Two gates hold over all of them: a file with so many mistakes yields so many errors, and no error
//! blames the attribute as a whole.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a failed expectation is a failed test"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

#[test]
fn all_good_code_is_a_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    for file in fs::read_dir(root.join("ui/pass")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let path = format!("path = \"ui/pass/{name}\"");
        assert!(
            manifest.contains(&path),
            "a [[test]] with {path} is missing in Cargo.toml"
        );
    }
}

#[test]
fn each_mistake_is_told_where_it_is() {
    trybuild::TestCases::new().compile_fail("ui/fail/*/*.rs");
}

/// A file says how many mistakes it holds: `// mistakes: 3`; without a word it holds one.
#[test]
fn as_many_errors_as_mistakes() {
    for case in cases() {
        let source = fs::read_to_string(&case).unwrap();
        let mistakes = source
            .lines()
            .find_map(|line| line.strip_prefix("// mistakes: "))
            .map_or(1, |number| number.trim().parse().unwrap());
        let told = stderr(&case);
        let errors = told.lines().filter(|line| is_error(line)).count();
        assert_eq!(errors, mistakes, "{}:\n{told}", case.display());
    }
}

#[test]
fn no_error_blames_the_attribute_as_a_whole() {
    for case in cases() {
        let told = stderr(&case);
        for phrase in [
            "originates in the attribute macro",
            "originates in the derive macro",
            "__private",
            "warning",
        ] {
            assert!(
                !told.contains(phrase),
                "{} says {phrase:?}:\n{told}",
                case.display()
            );
        }
    }
}

fn is_error(line: &str) -> bool {
    line.starts_with("error: ") || line.starts_with("error[")
}

fn stderr(case: &Path) -> String {
    let path = case.with_extension("stderr");
    fs::read_to_string(&path).unwrap_or_else(|_| panic!("{} is missing", path.display()))
}

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/fail");
    let topics = fs::read_dir(root).unwrap().map(|topic| topic.unwrap().path());
    let files = topics.flat_map(|topic| fs::read_dir(topic).unwrap());
    let mut cases: Vec<_> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    cases.sort();
    assert!(!cases.is_empty());
    cases
}
