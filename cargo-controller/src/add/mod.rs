//! `cargo controller add`: a kind, or a controller of one, in a project that is there.
//!
//! New files are written; a file that is in the way ends the command before anything is. `src/main.rs` is extended where its places are
//! clear, and that is told; where they are not, the lines to paste are printed.

mod found;
mod main_rs;
mod needs;
mod path;

use std::{
    fs,
    path::{Path, PathBuf},
};

use toml_edit::{DocumentMut, Item, TableLike};

use self::{needs::Need, path::TypePath};
use crate::{
    cli::{AddArgs, AddControllerArgs, AddCrdArgs, Addition},
    disk::{self, Draft},
    error::Error,
    names::{Kind, PLACEHOLDER, Wish, check_group, snake},
    new,
    project::Project,
    rustfmt,
    workspace::Workspace,
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
    place: Place,
    /// Paths in the project, and texts.
    files: Vec<(PathBuf, String)>,
    module: String,
    /// What the operator is told.
    call: String,
    needs: Vec<Need>,
}

/// The project that is extended.
struct Place {
    project: Project,
    manifest: DocumentMut,
}

impl Place {
    fn find(path: &Path) -> Result<Self, Error> {
        let project = Project::find(path).map_err(|error| match error {
            Error::NoCargoToml(folder) => Error::Add(format!(
                "{} has no Cargo.toml: give the folder of the operator's package with --path",
                folder.display()
            )),
            other => other,
        })?;
        let workspace = Workspace::read(&project.folder).map_err(Error::Add)?;
        if let Some(workspace) = workspace.filter(|workspace| !workspace.has_package()) {
            let packages = workspace.packages().into_iter();
            let ways: Vec<_> = packages
                .map(|member| {
                    format!(
                        "--path {}",
                        new::shell(&path.strip_prefix(".").unwrap_or(path).join(member.way))
                    )
                })
                .collect();
            return Err(Error::Add(format!(
                "{} is a workspace without a package of its own: say which member, {}",
                project.cargo_toml().display(),
                if ways.is_empty() {
                    "of which there is none yet".to_owned()
                } else {
                    ways.join(", ")
                }
            )));
        }
        let text = fs::read_to_string(project.cargo_toml()).unwrap_or_default();
        let manifest = text.parse().map_err(|error| {
            Error::Add(format!(
                "{} cannot be read: {error}",
                project.cargo_toml().display()
            ))
        })?;
        Ok(Self { project, manifest })
    }

    /// The names by which `main.rs` knows the crates that it depends on, and that of its own package.
    fn crates(&self) -> Vec<String> {
        let dependencies = self.manifest.get("dependencies").and_then(Item::as_table_like);
        let package = self
            .manifest
            .get("package")
            .and_then(|package| package.get("name")?.as_str());
        let known = dependencies
            .into_iter()
            .flat_map(TableLike::iter)
            .map(|(name, _)| name);
        known.chain(package).map(|name| name.replace('-', "_")).collect()
    }

    /// The name of a module that cargo takes for nothing else, and that hides no crate in `main.rs`.
    fn module(&self, name: String) -> String {
        let is_other = ["main", "lib", "bin", "std", "core", "alloc"].contains(&name.as_str());
        if is_other || self.crates().contains(&name) {
            name + "_"
        } else {
            name
        }
    }

    /// The package by its name in Rust.
    fn package(&self, name: &str) -> Option<Need> {
        let dependencies = self.manifest.get("dependencies").and_then(Item::as_table_like);
        let mut known = dependencies
            .into_iter()
            .flat_map(TableLike::iter)
            .map(|(known, _)| known);
        let package = known.find(|known| known.replace('-', "_") == name);
        if package.is_none() && self.crates().iter().any(|own| own == name) {
            return None;
        }
        let spelled = if name == "k8s_openapi" {
            "k8s-openapi"
        } else {
            name
        };
        Some(Need::of(package.unwrap_or(spelled)))
    }
}

fn crd(args: &AddCrdArgs) -> Result<Added, Error> {
    let place = Place::find(&args.path)?;
    let kinds = found::kinds(&place.project)?;
    // Kinds of others, such as those of the Gateway API, are no sign of whose this one is.
    let groups = kinds.iter().map(|found| found.kind.group.as_str());
    let group = groups
        .into_iter()
        .find(|group| check_group(group).is_ok())
        .unwrap_or(PLACEHOLDER);
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
    let module = place.module(kind.module());
    Ok(Added {
        place,
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
        needs: vec![
            Need::of("controller-runtime"),
            Need::derive_of("kube"),
            Need::of("k8s-openapi"),
            Need::derive_of("schemars"),
            Need::derive_of("serde"),
            Need::of("serde_json"),
        ],
    })
}

fn controller(args: &AddControllerArgs) -> Result<Added, Error> {
    let place = Place::find(&args.path)?;
    let mut needs = vec![Need::of("controller-runtime"), Need::of("kube")];
    let path = match &args.rust_type {
        Some(path) => {
            let path = TypePath::read(path).map_err(Error::Add)?;
            if path.name != args.kind {
                return Err(Error::Add(format!(
                    "{} is not the kind that --type ends in: cargo controller add controller {} --type {}",
                    args.kind, path.name, path.whole
                )));
            }
            let package = path.package.and_then(|package| place.package(package));
            needs.extend(package.filter(|need| !needs.contains(need)));
            path.whole.to_owned()
        }
        None => format!("{}::{}", module_of(&place.project, &args.kind)?, args.kind),
    };
    let file = snake(&args.kind);
    let name = free_name(&file.replace('_', "-"), &found::controllers(&place.project)?);
    let fill = |text: &str| {
        text.replace("@KIND@", &args.kind)
            .replace("@TYPE@", &path)
            .replace("@NAME@", &name)
    };
    let module = format!("{file}_controller");
    Ok(Added {
        place,
        files: vec![(
            PathBuf::from(format!("src/{module}.rs")),
            fill(include_str!("controller.rs.in")),
        )],
        call: format!(".controller({module}::reconcile::controller())"),
        module,
        needs,
    })
}

/// The kind's own name, or what is next to it: an operator whose controllers share a name does not start, and a name has 63 letters at most.
fn free_name(kind: &str, taken: &[String]) -> String {
    let short: String = kind.chars().take(40).collect();
    let short = short.trim_end_matches('-');
    let others = (2..).map(|number| format!("{short}-controller-{number}"));
    [kind.to_owned(), format!("{short}-controller")]
        .into_iter()
        .chain(others)
        .find(|name| name.len() <= 63 && !taken.contains(name))
        .unwrap_or_default()
}

/// The module of the project that makes the kind.
fn module_of(project: &Project, kind: &str) -> Result<String, Error> {
    let kinds = found::kinds(project)?;
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
        let folder = &self.place.project.folder;
        let main = folder.join("src/main.rs");
        let source = fs::read_to_string(&main).unwrap_or_default();
        self.find_room(&source, &main)?;
        let missing = self.missing()?;
        let extended = main_rs::extended(&source, &self.module, &self.call).map(|extended| {
            let extended = rustfmt::as_before(&source, extended, folder);
            disk::with_line_ends_of(&source, &extended)
        });
        let files = self
            .files
            .iter()
            .map(|(path, text)| (folder.join(path), text.clone()));
        let draft = Draft {
            new: files.collect(),
            changed: extended.map(|extended| (main.clone(), extended)),
        };
        draft.write()?;
        rustfmt::files(draft.new.iter().map(|(path, _)| path.as_path()));
        for (path, _) in &draft.new {
            println!("{}: new", path.display());
        }
        if draft.changed.is_some() {
            println!("{}: `mod {};` and `{}`", main.display(), self.module, self.call);
        } else {
            println!(
                "\nIt is not clear where these go in {}; add them:\n\n  mod {};\n\n  Operator::new(…)\n      {}",
                main.display(),
                self.module,
                self.call
            );
        }
        print!("{missing}");
        Ok(())
    }

    /// A module lies in one of two files, or in another file's text.
    fn find_room(&self, source: &str, main: &Path) -> Result<(), Error> {
        let folder = &self.place.project.folder;
        let nested = folder.join("src").join(&self.module).join("mod.rs");
        let mut paths = self
            .files
            .iter()
            .map(|(path, _)| folder.join(path))
            .chain([nested]);
        if let Some(there) = paths.find(|path| path.symlink_metadata().is_ok()) {
            return Err(Error::Add(format!(
                "{} is there already; nothing was written",
                there.display()
            )));
        }
        if main_rs::modules(source).contains(&self.module) {
            return Err(Error::Add(format!(
                "`mod {}` is in {} already; nothing was written",
                self.module,
                main.display()
            )));
        }
        Ok(())
    }

    /// What is to be told of Cargo.toml.
    fn missing(&self) -> Result<String, Error> {
        let Place { project, manifest } = &self.place;
        let (model, above) = new::model(&project.folder)?;
        let own = Workspace::read(&project.folder).map_err(Error::Add)?;
        let workspace = own.or(above);
        let inherited = |name: &str| workspace.as_ref()?.dependency(name);
        Ok(needs::told(&self.needs, manifest, &model, inherited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_not_taken_again() {
        let taken = ["site", "site-controller", "page"].map(str::to_owned);
        assert_eq!(free_name("leaf", &taken), "leaf");
        assert_eq!(free_name("page", &taken), "page-controller");
        assert_eq!(free_name("site", &taken), "site-controller-2");
        let long = "a-".repeat(40);
        assert_eq!(
            free_name(&long, &taken),
            format!("{}a-controller", "a-".repeat(19))
        );
    }
}
