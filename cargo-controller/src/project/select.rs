//! Which binaries cargo is asked for.
//!
//! In a workspace they are built with the features that the whole of it asks for, as `cargo test --workspace` and a plain `cargo build` in
//! its root build them: what is built for one is there for the others.

use std::{collections::BTreeSet, path::Path, process::Stdio};

use serde::Deserialize;
use tokio::process::Command;

use super::Project;

/// What `cargo metadata` tells of the members of a workspace.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    manifest_path: std::path::PathBuf,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    #[serde(default, rename = "required-features")]
    required_features: Vec<String>,
}

impl Package {
    fn binaries(&self) -> impl Iterator<Item = &Target> {
        let is_binary = |target: &&Target| target.kind.iter().any(|kind| kind == "bin");
        self.targets.iter().filter(is_binary)
    }
}

/// The arguments that choose the binaries of a package, or the one that is named.
pub(super) async fn selection(project: &Project, bin: Option<&str>, mut cargo: Command) -> Vec<String> {
    cargo
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(project.cargo_toml())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let told = cargo.output().await.ok();
    let metadata = told.and_then(|told| serde_json::from_slice::<Metadata>(&told.stdout).ok());
    let names = metadata.and_then(|metadata| of_the_workspace(&metadata, &project.cargo_toml(), bin));
    match (names, bin) {
        (Some(names), _) => {
            let names = names.into_iter().flat_map(|name| ["--bin".to_owned(), name]);
            std::iter::once("--workspace".to_owned()).chain(names).collect()
        }
        // What is wrong with it, the build tells.
        (None, Some(bin)) => vec!["--bin".to_owned(), bin.to_owned()],
        (None, None) => vec!["--bins".to_owned()],
    }
}

/// The names that choose the binaries of this package and no other in its workspace; `None` where names cannot.
fn of_the_workspace(metadata: &Metadata, cargo_toml: &Path, bin: Option<&str>) -> Option<Vec<String>> {
    let cargo_toml = cargo_toml
        .canonicalize()
        .unwrap_or_else(|_| cargo_toml.to_owned());
    let (ours, others): (Vec<_>, Vec<_>) = metadata
        .packages
        .iter()
        .partition(|package| package.manifest_path == cargo_toml);
    let wanted: Vec<_> = ours
        .iter()
        .flat_map(|package| package.binaries())
        .filter(|target| bin.is_none_or(|bin| target.name == bin))
        .collect();
    let taken: BTreeSet<_> = others
        .iter()
        .flat_map(|package| package.binaries())
        .map(|target| &target.name)
        .collect();
    // Cargo passes over a binary whose features are off, but not over one that is asked for by name.
    let chosen = |target: &&Target| {
        !taken.contains(&target.name) && (bin.is_some() || target.required_features.is_empty())
    };
    let all = !wanted.is_empty() && wanted.iter().all(chosen);
    all.then(|| wanted.iter().map(|target| target.name.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(ours: &str, theirs: &str) -> Metadata {
        let text = format!(
            r#"{{"packages": [
                {{"manifest_path": "/w/ours/Cargo.toml", "targets": [{{"name": "lib", "kind": ["lib"]}}, {ours}]}},
                {{"manifest_path": "/w/theirs/Cargo.toml", "targets": [{theirs}]}}
            ]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn chosen(metadata: &Metadata, bin: Option<&str>) -> Option<Vec<String>> {
        of_the_workspace(metadata, Path::new("/w/ours/Cargo.toml"), bin)
    }

    #[test]
    fn binaries_are_named_where_their_names_are_theirs_alone() {
        let two = r#"{"name": "a", "kind": ["bin"]}, {"name": "b", "kind": ["bin"]}"#;
        let other = r#"{"name": "a", "kind": ["lib"]}, {"name": "c", "kind": ["bin"]}"#;
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(chosen(&metadata(two, other), None), names(&["a", "b"]));
        assert_eq!(chosen(&metadata(two, other), Some("b")), names(&["b"]));
        assert_eq!(chosen(&metadata(two, other), Some("x")), None);
        assert_eq!(chosen(&metadata(two, two), None), None, "two packages have them");
    }

    #[test]
    fn a_binary_that_needs_a_feature_is_left_to_cargo() {
        let needs = r#"{"name": "a", "kind": ["bin"], "required-features": ["f"]}"#;
        let other = r#"{"name": "c", "kind": ["bin"]}"#;
        assert_eq!(chosen(&metadata(needs, other), None), None);
        assert_eq!(
            chosen(&metadata(needs, other), Some("a")),
            Some(vec!["a".to_owned()])
        );
    }
}
