//! Builds the operator with cargo, and finds the binary cargo made.
//!
//! Cargo's own progress and the compiler's messages go to our standard error as they come, or to who listens; the
//! machine-readable lines on its standard output tell where the binary is.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{ChildStderr, Command},
};

use super::{
    Project,
    said::{Ear, Said},
    select::selection,
};
use crate::error::Error;

/// Who is told what cargo says, instead of our standard error.
pub(crate) struct Listener<'a> {
    pub(crate) hear: &'a (dyn Fn(Said) + Send + Sync),
    /// Whether lines shall have colours.
    pub(crate) colour: bool,
}

/// Builds the package, with what its workspace shares, and gives the path of its binary.
///
/// # Errors
/// When cargo cannot be started, the build fails, or it is not clear which binary is meant.
///
/// # Cancel safety
/// Dropping the future ends cargo.
pub(crate) async fn build(
    project: &Project,
    bin: Option<&str>,
    listener: Option<Listener<'_>>,
) -> Result<PathBuf, Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = ours(&cargo);
    command
        .args([
            "build",
            "--message-format",
            "json-render-diagnostics",
            "--manifest-path",
        ])
        .arg(project.cargo_toml())
        .args(selection(project, bin, ours(&cargo)).await)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    if let Some(listener) = &listener {
        let colour = if listener.colour { "always" } else { "never" };
        command
            .args(["--color", colour])
            .env("CARGO_TERM_PROGRESS_WHEN", "always")
            .env("CARGO_TERM_PROGRESS_WIDTH", "120")
            .stderr(Stdio::piped());
    }
    let mut child = command.spawn().map_err(|source| Error::Spawn {
        program: cargo.to_string_lossy().into_owned(),
        source,
    })?;
    let mut binaries = Binaries::default();
    let stdout = child.stdout.take();
    let artifacts = async {
        let Some(stdout) = stdout else { return };
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            binaries.see(&line);
        }
    };
    tokio::join!(artifacts, listen(child.stderr.take(), listener));
    match child.wait().await {
        Ok(status) if status.success() => binaries.choose(&project.cargo_toml(), bin),
        _ => Err(Error::Build),
    }
}

/// Cargo, as a shell would start it.
fn ours(cargo: &OsStr) -> Command {
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_another_package(name)) {
        command.env_remove(name);
    }
    command
}

/// What cargo told *us* of our package, if it runs us. Some build scripts ask to run again when it changes (ring's, below everything that
/// speaks TLS), so that a build from here and one from a shell would each undo the other's.
fn is_of_another_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == "OUT_DIR" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

async fn listen(stderr: Option<ChildStderr>, listener: Option<Listener<'_>>) {
    let (Some(mut stderr), Some(listener)) = (stderr, listener) else {
        return;
    };
    let mut ear = Ear::default();
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = stderr.read(&mut bytes).await {
        for said in ear.hear(&bytes[..read]) {
            (listener.hear)(said);
        }
    }
    if let Some(said) = ear.end() {
        (listener.hear)(said);
    }
}

/// The binaries that cargo told of, in its order.
#[derive(Debug, Default)]
struct Binaries {
    found: Vec<Artifact>,
}

#[derive(Debug, Deserialize)]
struct Artifact {
    reason: String,
    manifest_path: PathBuf,
    target: Target,
    executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Binaries {
    /// Lines that are no artifact, or none that we know, are cargo's business.
    fn see(&mut self, line: &str) {
        if let Ok(artifact) = serde_json::from_str::<Artifact>(line)
            && artifact.reason == "compiler-artifact"
            && artifact.target.kind.iter().any(|kind| kind == "bin")
            && artifact.executable.is_some()
        {
            self.found.push(artifact);
        }
    }

    fn choose(self, cargo_toml: &Path, bin: Option<&str>) -> Result<PathBuf, Error> {
        let wanted = cargo_toml
            .canonicalize()
            .unwrap_or_else(|_| cargo_toml.to_owned());
        let mut ours: Vec<_> = self
            .found
            .into_iter()
            .filter(|artifact| artifact.manifest_path == wanted)
            .filter(|artifact| bin.is_none_or(|bin| artifact.target.name == bin))
            .collect();
        match (ours.pop(), ours.as_slice()) {
            (Some(only), []) => only
                .executable
                .ok_or_else(|| Error::NoBinary(bin.map(str::to_owned))),
            (None, _) => Err(Error::NoBinary(bin.map(str::to_owned))),
            (Some(last), others) => {
                let mut names: Vec<_> = others
                    .iter()
                    .map(|artifact| artifact.target.name.clone())
                    .collect();
                names.push(last.target.name);
                names.sort();
                Err(Error::ManyBinaries(names))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binaries(names: &[&str]) -> Binaries {
        let mut binaries = Binaries::default();
        binaries.see(r#"{"reason":"build-finished","success":true}"#);
        binaries.see("not json");
        for name in names {
            binaries.see(&format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","target":{{"name":"{name}","kind":["bin"]}},"executable":"/t/{name}"}}"#
            ));
        }
        binaries
    }

    #[test]
    fn the_only_binary_or_the_named_one_is_taken() {
        let toml = Path::new("/p/Cargo.toml");
        assert_eq!(binaries(&["a"]).choose(toml, None).unwrap(), Path::new("/t/a"));
        assert_eq!(
            binaries(&["a", "b"]).choose(toml, Some("b")).unwrap(),
            Path::new("/t/b")
        );
    }

    #[test]
    fn several_or_none_is_said() {
        let toml = Path::new("/p/Cargo.toml");
        let several = binaries(&["b", "a"]).choose(toml, None).unwrap_err();
        assert_eq!(several.to_string(), "the package has several binaries: a, b");
        let none = binaries(&[]).choose(toml, Some("x")).unwrap_err();
        assert_eq!(none.to_string(), "the package has no binary named x");
        let other = binaries(&["a"])
            .choose(Path::new("/q/Cargo.toml"), None)
            .unwrap_err();
        assert_eq!(other.to_string(), "the package has no binary");
    }
}
