//! What is missing in a project's Cargo.toml for the code that is added, as lines to paste. Pure.
//!
//! They are those of a new project: its versions are the framework's, and the framework itself, which is in no registry, comes from the
//! same place.

use std::fmt::Write as _;

use toml_edit::{DocumentMut, Item, TableLike};

/// A package, and what must be on in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    package: String,
    features: &'static [&'static str],
    /// Whether they are on unless default features are off.
    by_default: bool,
}

impl Need {
    /// Something of a package.
    pub(super) fn of(package: &str) -> Self {
        let (features, by_default): (&[_], _) = match package {
            "k8s-openapi" => (&["latest"], false),
            _ => (&[], false),
        };
        Self {
            package: package.to_owned(),
            features,
            by_default,
        }
    }

    /// Its derive macros, too.
    pub(super) fn derive_of(package: &str) -> Self {
        Self {
            features: &["derive"],
            by_default: package == "schemars",
            ..Self::of(package)
        }
    }
}

/// The lines to paste, with what to do with them; empty where nothing is missing. `model` is the manifest of a new project, and
/// `inherited` tells what a dependency of the workspace is.
pub(super) fn told<'a>(
    needs: &[Need],
    manifest: &DocumentMut,
    model: &DocumentMut,
    inherited: impl Fn(&str) -> Option<&'a Item>,
) -> String {
    let (known, model) = (dependencies(manifest), dependencies(model));
    let (mut new, mut instead, mut unknown) = (String::new(), String::new(), String::new());
    for need in needs {
        let package = &need.package;
        if let Some(own) = known.and_then(|known| known.get(package)) {
            let missing = need.missing(own, inherited(package));
            if !missing.is_empty() {
                let _ = writeln!(instead, "{package} = {}", extended(own, &missing));
            }
        } else if let Some(line) = model.and_then(|model| model.get(package)) {
            let _ = writeln!(new, "{package} = {}", line.to_string().trim());
        } else {
            let _ = writeln!(
                unknown,
                "\nIt needs the crate {package}, which is not in Cargo.toml."
            );
        }
    }
    let mut told = String::new();
    for (lines, what) in [
        (new, "It needs more in Cargo.toml"),
        (
            instead,
            "It needs more features: in Cargo.toml, these in the place of the lines that are there",
        ),
    ] {
        if !lines.is_empty() {
            let _ = write!(told, "\n{what}:\n\n[dependencies]\n{lines}");
        }
    }
    told + &unknown
}

impl Need {
    /// The features that nothing turns on.
    fn missing(&self, own: &Item, inherited: Option<&Item>) -> Vec<&'static str> {
        let inherited = inherited.filter(|_| flag(own, "workspace") == Some(true));
        let given: Vec<_> = [Some(own), inherited]
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.get("features")?.as_array())
            .flatten()
            .filter_map(|feature| feature.as_str())
            .collect();
        let defaults = flag(inherited.unwrap_or(own), "default-features") != Some(false);
        if self.by_default && defaults {
            return Vec::new();
        }
        let is_given = |feature: &str| {
            // Any version of Kubernetes is as good as the latest.
            let versions = feature == "latest";
            given.iter().any(|given| {
                *given == feature || versions && (*given == "earliest" || given.starts_with("v1_"))
            })
        };
        self.features
            .iter()
            .copied()
            .filter(|feature| !is_given(feature))
            .collect()
    }
}

fn dependencies(manifest: &DocumentMut) -> Option<&dyn TableLike> {
    manifest.get("dependencies")?.as_table_like()
}

fn flag(entry: &Item, name: &str) -> Option<bool> {
    entry.get(name)?.as_bool()
}

/// A dependency as it was written, with more features.
fn extended(own: &Item, more: &[&str]) -> String {
    let mut parts = Vec::new();
    let mut features = Vec::new();
    if let Some(version) = own.as_str() {
        parts.push(format!("version = {version:?}"));
    }
    for (name, value) in own.as_table_like().into_iter().flat_map(TableLike::iter) {
        if name == "features" {
            let given = value.as_array().into_iter().flatten();
            features.extend(given.filter_map(|feature| feature.as_str()));
        } else {
            parts.push(format!("{name} = {}", value.to_string().trim()));
        }
    }
    features.extend(more);
    parts.push(format!("features = {features:?}"));
    format!("{{ {} }}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str =
        "[dependencies]\nours = { path = \"/ours\" }\nkube = { version = \"5\", features = [\"derive\"] }\n";

    fn lines(need: Need, manifest: &str, workspace: &str) -> String {
        let read = |text: &str| text.parse::<DocumentMut>().unwrap();
        let workspace = read(workspace);
        let inherited = |name: &str| workspace.get("dependencies")?.get(name);
        let told = told(&[need], &read(manifest), &read(MODEL), inherited);
        told.split_once("[dependencies]\n")
            .map_or(told.clone(), |(_, lines)| lines.to_owned())
    }

    #[test]
    fn what_is_missing_is_as_in_a_new_project() {
        assert_eq!(lines(Need::of("ours"), "", ""), "ours = { path = \"/ours\" }\n");
        assert_eq!(lines(Need::of("ours"), "[dependencies]\nours = \"1\"\n", ""), "");
        assert_eq!(
            lines(Need::derive_of("kube"), "[dev-dependencies]\nkube = \"5\"\n", ""),
            "kube = { version = \"5\", features = [\"derive\"] }\n"
        );
        assert!(lines(Need::of("other"), "", "").contains("the crate other"));
    }

    #[test]
    fn a_feature_that_is_missing_is_added_to_what_is_there() {
        for (package, own, expected) in [
            ("kube", "\"5\"", "{ version = \"5\", features = [\"derive\"] }"),
            (
                "kube",
                "{ version = \"5\", default-features = false, features = [\"client\"] }",
                "{ version = \"5\", default-features = false, features = [\"client\", \"derive\"] }",
            ),
            ("kube", "{ version = \"5\", features = [\"derive\"] }", ""),
            (
                "kube",
                "{ workspace = true }",
                "{ workspace = true, features = [\"derive\"] }",
            ),
            ("serde", "{ workspace = true }", ""),
            ("schemars", "\"1\"", ""),
            (
                "schemars",
                "{ version = \"1\", default-features = false }",
                "{ version = \"1\", default-features = false, features = [\"derive\"] }",
            ),
        ] {
            let workspace =
                "[dependencies]\nkube = \"5\"\nserde = { version = \"1\", features = [\"derive\"] }\n";
            let manifest = format!("[dependencies]\n{package} = {own}\n");
            let told = lines(Need::derive_of(package), &manifest, workspace);
            let expected = if expected.is_empty() {
                String::new()
            } else {
                format!("{package} = {expected}\n")
            };
            assert_eq!(told, expected, "{own}");
        }
        let table = "[dependencies.kube]\nversion = \"5\" # ours\n";
        assert!(lines(Need::derive_of("kube"), table, "").starts_with("kube = { version = \"5\""));
    }

    #[test]
    fn any_version_of_kubernetes_will_do() {
        let own = |feature: &str| {
            format!("[dependencies]\nk8s-openapi = {{ version = \"0\", features = [\"{feature}\"] }}\n")
        };
        for (feature, is_enough) in [
            ("latest", true),
            ("v1_34", true),
            ("earliest", true),
            ("schemars", false),
        ] {
            assert_eq!(
                lines(Need::of("k8s-openapi"), &own(feature), "").is_empty(),
                is_enough,
                "{feature}"
            );
        }
    }
}
