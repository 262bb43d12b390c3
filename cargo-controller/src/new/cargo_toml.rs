//! The Cargo.toml of a project, from that of the example: what the example inherits from its workspace is written out.

use std::{fmt::Write as _, path::Path};

use toml_edit::{DocumentMut, Item, TableLike};

use super::source::{Source, quoted};

/// For a package of its own, in a workspace it is the root's affair. As the clone builds: in one target folder, what that has built serves
/// here, too.
const PROFILE: &str = r#"
# Lines in backtraces, and no more: quick builds.
[profile.dev]
debug = "line-tables-only"

[profile.dev.package."*"]
debug = false
"#;

/// What decides how a manifest looks.
pub(super) struct Place<'a> {
    /// The package's name.
    pub(super) package: &'a str,
    /// What it is about.
    pub(super) about: &'a str,
    /// The folder of the package, and the root of the workspace that it joins; both absolute.
    pub(super) folder: &'a Path,
    pub(super) root: Option<&'a Path>,
    /// Where our own crates come from.
    pub(super) source: &'a Source,
}

/// Writes the manifest.
///
/// # Errors
/// When the example's manifest is not as this module expects it, which a test rules out.
pub(super) fn write(place: &Place<'_>, example: &str, workspace: &str) -> Result<String, String> {
    let read = |text: &str| text.parse::<DocumentMut>().map_err(|error| error.to_string());
    let (example, workspace) = (read(example)?, read(workspace)?);
    let inherited = workspace
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies")?.as_table_like())
        .ok_or("the workspace has no dependencies")?;
    let mut text = format!(
        "[package]\nname = \"{}\"\ndescription = {}\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n",
        place.package,
        quoted(&format!("The operator for {}", place.about))
    );
    for section in ["dependencies", "dev-dependencies"] {
        let Some(dependencies) = example.get(section).and_then(Item::as_table_like) else {
            continue;
        };
        let _ = write!(text, "\n[{section}]\n");
        for (name, own) in dependencies.iter() {
            let base = if is_inherited(own) {
                inherited
                    .get(name)
                    .ok_or_else(|| format!("{name} is not a dependency of the workspace"))?
            } else {
                own
            };
            let _ = writeln!(text, "{name} = {}", dependency(place, own, base));
        }
    }
    if place.root.is_none() {
        text.push_str(PROFILE);
    }
    Ok(text)
}

/// The names of the packages that a manifest depends on.
pub(super) fn dependencies(manifest: &str) -> Vec<String> {
    let manifest = manifest.parse::<DocumentMut>().unwrap_or_default();
    ["dependencies", "dev-dependencies"]
        .iter()
        .filter_map(|section| manifest.get(section)?.as_table_like())
        .flat_map(TableLike::iter)
        .map(|(name, _)| name.to_owned())
        .collect()
}

fn is_inherited(own: &Item) -> bool {
    own.get("workspace").and_then(Item::as_bool) == Some(true)
}

/// One dependency: the workspace's entry, with the features that the example adds.
fn dependency(place: &Place<'_>, own: &Item, base: &Item) -> String {
    let version = base
        .as_str()
        .or_else(|| base.get("version")?.as_str())
        .unwrap_or("*");
    let path = base.get("path").and_then(Item::as_str);
    let mut parts = vec![match path {
        Some(path) => place.source.line(path, place.folder, place.root),
        None => format!("version = {}", quoted(version)),
    }];
    if base.get("default-features").and_then(Item::as_bool) == Some(false) {
        parts.push("default-features = false".to_owned());
    }
    let mut features: Vec<_> = [base, own]
        .into_iter()
        .filter_map(|entry| entry.get("features")?.as_array())
        .flatten()
        .filter_map(|feature| feature.as_str())
        .map(quoted)
        .collect();
    features.sort();
    features.dedup();
    if !features.is_empty() {
        parts.push(format!("features = [{}]", features.join(", ")));
    }
    match parts.as_slice() {
        [only] if only.starts_with("version") => quoted(version),
        parts => format!("{{ {} }}", parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_of_its_own_builds_as_the_clone_does() {
        let read = |text: &str| text.parse::<DocumentMut>().unwrap()["profile"]["dev"].to_string();
        let (_, profile) = PROFILE.split_once(".\n").unwrap();
        assert_eq!(read(profile), read(super::super::template::WORKSPACE));
    }

    #[test]
    fn what_is_inherited_is_written_out() {
        let workspace = r#"
            [workspace.dependencies]
            ours = { path = "ours", version = "0.1.0" }
            plain = "1"
            lean = { version = "2", default-features = false, features = ["b"] }
        "#;
        let example = r#"
            [dependencies]
            ours.workspace = true
            plain.workspace = true
            lean = { workspace = true, features = ["a", "b"] }
            own = { version = "3", features = ["c"] }
            [dev-dependencies]
            plain = { workspace = true, features = ["x"] }
        "#;
        let place = Place {
            package: "site",
            about: "Sites",
            folder: Path::new("/w"),
            root: None,
            source: &Source::Git("https://example.com/r".to_owned()),
        };
        let text = write(&place, example, workspace).unwrap();
        let (_, dependencies) = text.split_once("publish = false\n").unwrap();
        let dependencies = dependencies.strip_suffix(PROFILE).unwrap();
        assert_eq!(
            dependencies,
            r#"
[dependencies]
ours = { git = "https://example.com/r" }
plain = "1"
lean = { version = "2", default-features = false, features = ["a", "b"] }
own = { version = "3", features = ["c"] }

[dev-dependencies]
plain = { version = "1", features = ["x"] }
"#
        );
    }
}
