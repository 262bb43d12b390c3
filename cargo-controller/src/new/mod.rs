//! `cargo controller new`: a project made from one of the examples, which are the templates.
//!
//! Nothing is asked and nothing is fetched. Files that are there are never touched: all are looked for before the first is
//! written.

mod cargo_toml;
mod names;
mod rename;
mod template;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use self::{
    names::{Names, Wish},
    rename::Renamer,
    template::Template,
};
use crate::{cli::NewArgs, error::Error};

/// Makes the project, or lists the templates.
///
/// # Errors
/// When a name cannot be used, a file is in the way, or the disk says no.
pub(crate) fn run(args: &NewArgs) -> Result<(), Error> {
    if args.list {
        for template in template::ALL {
            println!("{:<16} {}", template.name, template.about);
        }
        return Ok(());
    }
    let template = template::find(&args.template).ok_or_else(|| Error::NoTemplate {
        asked: args.template.clone(),
        known: template::ALL.iter().map(|template| template.name).collect(),
    })?;
    let Some(name) = &args.name else {
        return Err(Error::Name(
            "a name is missing: cargo controller new NAME".to_owned(),
        ));
    };
    let wish = Wish {
        name,
        kind: args.kind.as_deref(),
        group: &args.group,
        version: &args.api_version,
        plural: args.plural.as_deref(),
    };
    let names = Names::choose(wish).map_err(Error::Name)?;
    let folder = args.path.clone().unwrap_or_else(|| PathBuf::from(&names.package));
    let files = project(template, &names)?;
    write(&folder, &files)?;
    println!(
        "{}: {} files for {} in {}/{}",
        folder.display(),
        files.len(),
        names.kinds(),
        names.group,
        names.version
    );
    println!(
        "\n  cargo controller dev {0}\n  cargo test --manifest-path {0}/Cargo.toml",
        folder.display()
    );
    Ok(())
}

/// The files of the project, by their paths in it.
fn project(template: &Template, names: &Names) -> Result<Vec<(PathBuf, String)>, Error> {
    let code: Vec<_> = template
        .files
        .iter()
        .filter(|(path, _)| is_rust(path))
        .map(|(_, text)| *text)
        .collect();
    let renamer = Renamer::new(names, &code).map_err(Error::Name)?;
    let home = template::home();
    let manifest = cargo_toml::write(names, template.cargo_toml, template::WORKSPACE, home.as_deref())
        .map_err(Error::Name)?;
    let mut files = vec![(PathBuf::from("Cargo.toml"), manifest)];
    for (path, text) in template.files {
        let text = if is_rust(path) {
            renamer.rust(text)
        } else {
            renamer.text(text)
        };
        files.push((PathBuf::from(path), text));
    }
    Ok(files)
}

fn is_rust(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rs")
}

fn write(folder: &Path, files: &[(PathBuf, String)]) -> Result<(), Error> {
    let paths: Vec<_> = files.iter().map(|(path, _)| folder.join(path)).collect();
    if let Some(there) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(Error::InTheWay(there.clone()));
    }
    for (path, (_, text)) in paths.iter().zip(files) {
        let failed = |source: io::Error| Error::Write {
            path: path.clone(),
            source,
        };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let mut file = fs::File::create_new(path).map_err(failed)?;
        io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    }
    Ok(())
}
