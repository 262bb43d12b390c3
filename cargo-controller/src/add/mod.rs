//! `cargo controller add`: a kind, or a controller of one, in a project that is there.
//!
//! New files are written; a file that is in the way ends the command before anything is. `src/main.rs` is extended where its places are
//! clear, and that is told; where they are not, the lines to paste are printed.

mod main_rs;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use toml_edit::{DocumentMut, Item};

use crate::{
    cli::{AddArgs, AddControllerArgs, AddCrdArgs, Addition},
    error::Error,
    names::{Kind, PLACEHOLDER, Wish, snake},
    project::Project,
    rust, rustfmt,
};

/// Adds what was asked for.
///
/// # Errors
/// When a name cannot be used, a file is in the way, or the disk says no.
pub(crate) fn run(args: &AddArgs) -> Result<(), Error> {
    let added = match &args.what {
        Addition::Crd(args) => crd(args)?,
        Addition::Controller(args) => controller(args)?,
    };
    added.write()
}

/// What is to be written, and said.
struct Added {
    project: Project,
    /// Paths in the project, and texts.
    files: Vec<(PathBuf, String)>,
    module: String,
    /// What the operator is told.
    call: String,
    /// The packages that the files need, with what `cargo add` takes behind them.
    needs: &'static [(&'static str, &'static str)],
}

fn crd(args: &AddCrdArgs) -> Result<Added, Error> {
    let project = Project::find(&args.path)?;
    let kinds = kinds(&project)?;
    let group = kinds.first().map_or(PLACEHOLDER, |found| &found.kind.group);
    let kind = Kind::choose(Wish {
        name: &args.kind,
        kind: Some(&args.kind),
        group: Some(args.group.as_deref().unwrap_or(group)),
        version: args.api_version.as_deref(),
        plural: args.plural.as_deref(),
    })
    .map_err(|error| Error::Add(error.replace("--kind ", "")))?;
    let twin = kinds
        .iter()
        .find(|found| found.kind.name == kind.name && found.kind.group == kind.group);
    if let Some(twin) = twin {
        return Err(Error::Add(format!(
            "{} of {} is there already, in {}",
            kind.name,
            kind.group,
            twin.file.display()
        )));
    }
    let fill = |text: &str| {
        text.replace("@KIND@", &kind.name)
            .replace("@SINGULAR@", &kind.singular())
            .replace("@PLURAL@", &kind.plural)
            .replace("@GROUP@", &kind.group)
            .replace("@VERSION@", &kind.version)
            .replace("@SCOPE@", if args.cluster { "" } else { ",\n    namespaced" })
            .replace(
                "@NAMESPACE@",
                if args.cluster {
                    ""
                } else {
                    "\n  namespace: default"
                },
            )
    };
    let module = kind.module();
    Ok(Added {
        project,
        files: vec![
            (
                PathBuf::from(format!("src/{module}.rs")),
                fill(include_str!("crd.rs.in")),
            ),
            (
                PathBuf::from(format!("manifests/{}.yaml", kind.singular())),
                fill(include_str!("sample.yaml.in")),
            ),
        ],
        call: format!(".crd::<{module}::{}>()", kind.name),
        module,
        needs: &[
            ("controller-runtime", ""),
            ("kube", " --features derive"),
            ("schemars", ""),
            ("serde", " --features derive"),
            ("serde_json", ""),
        ],
    })
}

fn controller(args: &AddControllerArgs) -> Result<Added, Error> {
    let project = Project::find(&args.path)?;
    let path = match &args.rust_type {
        Some(path) => path.clone(),
        None => format!("{}::{}", module_of(&project, &args.kind)?, args.kind),
    };
    let kind = path.rsplit("::").next().unwrap_or(&path).to_owned();
    let name = snake(&kind);
    let fill = |text: &str| {
        text.replace("@KIND@", &kind)
            .replace("@TYPE@", &path)
            .replace("@NAME@", &name.replace('_', "-"))
    };
    let module = format!("{name}_controller");
    Ok(Added {
        project,
        files: vec![(
            PathBuf::from(format!("src/{module}.rs")),
            fill(include_str!("controller.rs.in")),
        )],
        call: format!(".controller({module}::reconcile::controller())"),
        module,
        needs: &[("controller-runtime", ""), ("kube", "")],
    })
}

/// The module of the project that makes the kind.
fn module_of(project: &Project, kind: &str) -> Result<String, Error> {
    let kinds = kinds(project)?;
    let found = kinds.into_iter().find(|found| found.kind.name == kind);
    found.map(|found| found.module).ok_or_else(|| {
        Error::Add(format!(
            "there is no kind {kind} in {}: add it with `cargo controller add crd {kind}`, or say where its type is, \
             such as --type k8s_openapi::api::apps::v1::Deployment",
            project.folder.join("src").display()
        ))
    })
}

impl Added {
    fn write(&self) -> Result<(), Error> {
        let folder = &self.project.folder;
        for (path, _) in &self.files {
            if folder.join(path).symlink_metadata().is_ok() {
                return Err(Error::Add(format!(
                    "{} is there already; nothing was written",
                    folder.join(path).display()
                )));
            }
        }
        for (path, text) in &self.files {
            let path = folder.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(failed(&path))?;
            }
            fs::write(&path, text).map_err(failed(&path))?;
            println!("{}: new", path.display());
        }
        let paths: Vec<_> = self.files.iter().map(|(path, _)| folder.join(path)).collect();
        rustfmt::files(paths.iter().map(PathBuf::as_path));
        self.extend_main()?;
        self.tell_needs();
        Ok(())
    }

    fn extend_main(&self) -> Result<(), Error> {
        let main = self.project.folder.join("src/main.rs");
        let source = fs::read_to_string(&main).unwrap_or_default();
        if let Some(extended) = main_rs::extended(&source, &self.module, &self.call) {
            let extended = rustfmt::as_before(&source, extended, &self.project.folder);
            fs::write(&main, extended).map_err(failed(&main))?;
            println!("{}: `mod {};` and `{}`", main.display(), self.module, self.call);
        } else {
            println!(
                "\nIt is not clear where these go in {}; add them:\n\n  mod {};\n\n  Operator::new(…)\n      {}",
                main.display(),
                self.module,
                self.call
            );
        }
        Ok(())
    }

    fn tell_needs(&self) {
        let text = fs::read_to_string(self.project.cargo_toml()).unwrap_or_default();
        let manifest = text.parse::<DocumentMut>().unwrap_or_default();
        let known = manifest.get("dependencies").and_then(Item::as_table_like);
        for (package, more) in self.needs {
            if known.is_none_or(|known| !known.contains_key(package)) {
                println!("\nIt needs {package}: cargo add {package}{more}");
            }
        }
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Write { path, source }
}

/// A kind of the project, and where it is made.
struct Found {
    kind: Kind,
    file: PathBuf,
    /// The module, as a path: `crate::types`.
    module: String,
}

/// The kinds that the project's own code makes. A file that is no Rust yet has none.
fn kinds(project: &Project) -> Result<Vec<Found>, Error> {
    let source = project.folder.join("src");
    let mut found = Vec::new();
    let mut folders = vec![(source.clone(), "crate".to_owned())];
    while let Some((folder, module)) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|source| Error::Read {
            path: folder.clone(),
            source,
        })?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let stem = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let inner = format!("{module}::{stem}");
            if path.is_dir() {
                folders.push((path, inner));
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let is_root = ["main", "lib", "mod"].contains(&stem.as_str());
            for kind in rust::kinds(&text).unwrap_or_default() {
                found.push(Found {
                    kind,
                    file: path.clone(),
                    module: if is_root { module.clone() } else { inner.clone() },
                });
            }
        }
    }
    Ok(found)
}
