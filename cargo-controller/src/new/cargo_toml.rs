//! The Cargo.toml of a project, from that of the example: what the example inherits from its workspace is written out.

use std::{fmt::Write as _, path::Path};

use toml::{Table, Value};

use super::names::Names;

/// Writes the manifest. `home` is the folder where our own crates lie, when they are not taken from a registry.
///
/// # Errors
/// When the example's manifest is not as this module expects it, which a test rules out.
pub(super) fn write(
    names: &Names,
    example: &str,
    workspace: &str,
    home: Option<&Path>,
) -> Result<String, String> {
    let read = |text: &str| text.parse::<Table>().map_err(|error| error.to_string());
    let (example, workspace) = (read(example)?, read(workspace)?);
    let inherited = &workspace["workspace"]["dependencies"];
    let mut text = format!(
        "[package]\nname = \"{}\"\ndescription = \"The operator for {}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n",
        names.package,
        names.kinds()
    );
    for section in ["dependencies", "dev-dependencies"] {
        let Some(dependencies) = example.get(section).and_then(Value::as_table) else {
            continue;
        };
        let _ = write!(text, "\n[{section}]\n");
        for (name, own) in dependencies {
            let base = inherited
                .get(name)
                .ok_or_else(|| format!("{name} is not a dependency of the workspace"))?;
            let _ = writeln!(text, "{name} = {}", dependency(own, base, home));
        }
    }
    Ok(text)
}

/// One dependency: the workspace's entry, with the features that the example adds.
fn dependency(own: &Value, base: &Value, home: Option<&Path>) -> String {
    let version = base
        .as_str()
        .or_else(|| base.get("version")?.as_str())
        .unwrap_or("*");
    let path = base.get("path").and_then(Value::as_str);
    let mut parts = vec![match (path, home) {
        (Some(path), Some(home)) => format!("path = {}", quoted(&home.join(path).display().to_string())),
        _ => format!("version = {}", quoted(version)),
    }];
    if base.get("default-features").and_then(Value::as_bool) == Some(false) {
        parts.push("default-features = false".to_owned());
    }
    let mut features: Vec<_> = [base, own]
        .into_iter()
        .filter_map(|entry| entry.get("features")?.as_array())
        .flatten()
        .filter_map(Value::as_str)
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

/// A JSON string is a TOML basic string as well.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
