//! The examples, carried in this program.

use std::path::{Path, PathBuf};

/// An example that projects are made from.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) cargo_toml: &'static str,
    /// Paths in the example, and texts. Cargo.toml is not among them.
    pub(super) files: &'static [(&'static str, &'static str)],
}

/// The workspace that the examples inherit from.
pub(super) const WORKSPACE: &str = include_str!("../../../Cargo.toml");

macro_rules! template {
    ($name:literal, $about:literal, [$($file:literal),* $(,)?]) => {
        Template {
            name: $name,
            about: $about,
            cargo_toml: include_str!(concat!("../../../examples/", $name, "/Cargo.toml")),
            files: &[$(($file, include_str!(concat!("../../../examples/", $name, "/", $file)))),*],
        }
    };
}

/// All of them; the first is the one that is taken when none is asked for.
pub(super) const ALL: &[Template] = &[template!(
    "document",
    "a kind that owns ConfigMaps and watches Secrets: start here",
    [
        "src/main.rs",
        "src/types.rs",
        "src/controller.rs",
        "src/tests.rs",
        "manifests/00-namespace.yaml",
        "manifests/10-secrets.yaml",
        "manifests/20-website.yaml",
        "manifests/30-handbook.yaml",
        "manifests/40-trouble.yaml",
        "manifests/50-late-secret.yaml",
        "README.md",
    ]
)];

pub(super) fn find(name: &str) -> Option<&'static Template> {
    ALL.iter().find(|template| template.name == name)
}

/// The clone that this program was built in, if it is still there: its crates are then used from their folders.
pub(super) fn home() -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    home.join("controller-runtime/Cargo.toml")
        .is_file()
        .then(|| home.to_owned())
}
