//! `cargo controller new`: a project made from one of the examples, which are the templates.
//!
//! Nothing is fetched, and nothing is asked but at a terminal when no name was given. Files that are there are never touched, with
//! one exception that is told: the workspace that the project joins gets a member. All are looked for before the first is written, and
//! when one cannot be written none stays.

mod ask;
mod cargo_toml;
mod choose;
mod place;
mod rename;
mod ship;
mod source;
mod template;

use std::{
    io::{self, IsTerminal, Write as _},
    path::{Path, PathBuf},
};

use toml_edit::DocumentMut;

pub(crate) use self::place::shell;
use self::{
    choose::Chosen,
    place::{absolute, repository_above},
    source::Source,
    template::Example,
};
use crate::{cli::NewArgs, disk::Draft, error::Error, names::Names, rustfmt, workspace::Workspace};

/// The template that is taken when none is asked for.
const FIRST: &str = "document";

/// Makes the project, or lists the templates.
///
/// # Errors
/// When a name cannot be used, a file is in the way, or the disk says no.
pub(crate) fn run(args: &NewArgs) -> Result<(), Error> {
    if args.list {
        list();
        return Ok(());
    }
    let args = match args.name {
        Some(_) => args.clone(),
        None if io::stdin().is_terminal() && io::stdout().is_terminal() => {
            ask::ask(args, &mut io::stdin().lock(), &mut io::stdout())?
        }
        None => {
            return Err(Error::Name(
                "a name is missing: cargo controller new NAME".to_owned(),
            ));
        }
    };
    let project = Project::plan(&args)?;
    project.write()?;
    project.tell();
    Ok(())
}

fn list() {
    let mut out = io::stdout().lock();
    for example in template::ALL {
        // Who reads no further has read enough.
        if writeln!(out, "{:<16} {}", example.name, example.about()).is_err() {
            return;
        }
    }
}

/// The Cargo.toml of a new project in `folder`, and the workspace that it would join.
///
/// # Errors
/// When the folder, or a Cargo.toml above it, cannot be read.
pub(crate) fn model(folder: &Path) -> Result<(DocumentMut, Option<Workspace>), Error> {
    let folder = absolute(folder)?;
    let workspace = Workspace::find(&folder).map_err(Error::Name)?;
    let source =
        Source::choose(None).unwrap_or_else(|_| Source::Git("https://ADDRESS-OF-THE-REPOSITORY".to_owned()));
    let place = cargo_toml::Place {
        package: "model",
        about: "",
        folder: &folder,
        root: workspace.as_ref().map(|workspace| workspace.root.as_path()),
        source: &source,
    };
    let example = template::find(FIRST).map_or("", Example::cargo_toml);
    let text = cargo_toml::write(&place, example, template::WORKSPACE).map_err(Error::Name)?;
    Ok((text.parse().unwrap_or_default(), workspace))
}

/// A project that is not yet on the disk.
struct Project {
    names: Names,
    /// As the user wrote it, for the user.
    shown: PathBuf,
    /// Absolute paths, and texts; the Cargo.toml of the workspace, if it must name the project.
    draft: Draft,
    /// The root of its workspace, or its folder: where the workflow goes.
    root: PathBuf,
    source: Source,
}

impl Project {
    fn plan(args: &NewArgs) -> Result<Self, Error> {
        let Chosen {
            example,
            names,
            texts,
        } = Chosen::by(args)?;
        let shown = args.path.clone().unwrap_or_else(|| PathBuf::from(&names.package));
        let folder = absolute(&shown)?;
        let workspace = Workspace::find(&folder).map_err(Error::Name)?;
        refuse_twins(&names.package, workspace.as_ref())?;
        let root = workspace
            .as_ref()
            .map_or(folder.as_path(), |workspace| &workspace.root);
        let way = folder.strip_prefix(root).unwrap_or(&folder).to_owned();
        let source = Source::choose(args.source.as_deref()).map_err(Error::Name)?;
        let place = cargo_toml::Place {
            package: &names.package,
            about: &names.about(),
            folder: &folder,
            root: workspace.as_ref().map(|_| root),
            source: &source,
        };
        let manifest =
            cargo_toml::write(&place, example.cargo_toml(), template::WORKSPACE).map_err(Error::Name)?;
        let mut files = vec![(folder.join("Cargo.toml"), manifest)];
        files.extend(texts.into_iter().map(|(path, text)| (folder.join(path), text)));
        if let Some((_, readme)) = files.iter_mut().find(|(path, _)| path.ends_with("README.md")) {
            readme.push_str(&ship::readme(&names.package, &way, &source));
        }
        for (place, name, text) in ship::files(&names.package, &way) {
            let base = match place {
                ship::Place::Package => &folder,
                ship::Place::Root => root,
            };
            files.push((base.join(name), text));
        }
        let joins = workspace.as_ref().and_then(|workspace| {
            let text = workspace.with_member(&folder)?;
            Some((workspace.cargo_toml(), text))
        });
        if workspace.is_none() {
            files.push((folder.join("Cargo.lock"), template::LOCK.to_owned()));
        }
        let root = root.to_owned();
        Ok(Self {
            names,
            shown,
            draft: Draft {
                new: files,
                changed: joins,
            },
            root,
            source,
        })
    }

    fn write(&self) -> Result<(), Error> {
        self.draft.write()?;
        rustfmt::files(self.draft.new.iter().map(|(path, _)| path.as_path()));
        Ok(())
    }

    fn tell(&self) {
        let shown = self.shown.display();
        let number = self.draft.new.len();
        match &self.names.kind {
            Some(kind) => println!(
                "{shown}: {number} files for {} in {}/{} (plural {})",
                kind.kinds(),
                kind.group,
                kind.version,
                kind.plural
            ),
            None => println!("{shown}: {number} files"),
        }
        if let Some((path, _)) = &self.draft.changed {
            println!("{}: a member more", path.display());
        }
        if let Source::Folder(home) = &self.source {
            println!(
                "It takes controller-runtime from {}; an image or CI needs it from git: --source URL.",
                home.display()
            );
        }
        if let Some(repository) = repository_above(&self.root) {
            println!(
                "GitHub reads workflows in the root of a repository only: move the one in {} to {}, and let its steps run \
                 here by\n  defaults: {{ run: {{ working-directory: {} }} }}",
                self.root.join(".github/workflows").display(),
                repository.join(".github/workflows").display(),
                self.root.strip_prefix(repository).unwrap_or(&self.root).display()
            );
        }
        let manifest = self.shown.join("Cargo.toml");
        println!(
            "\n  cargo controller dev {}\n  cargo test --manifest-path {}",
            shell(&self.shown),
            shell(&manifest)
        );
    }
}

/// With two packages of one name no member of a workspace builds.
fn refuse_twins(package: &str, workspace: Option<&Workspace>) -> Result<(), Error> {
    let packages = workspace.map(Workspace::packages).unwrap_or_default();
    let twin = packages.iter().find(|member| member.name == package);
    let (Some(twin), Some(workspace)) = (twin, workspace) else {
        return Ok(());
    };
    Err(Error::Name(format!(
        "{package} is the package in {} already, and a workspace has one of a name: choose another, such as my-{package}",
        workspace.root.join(&twin.way).display()
    )))
}
