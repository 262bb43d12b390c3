//! The template, and the names of the project: checked against the template's own code, and against what a cluster takes.

use std::path::PathBuf;

use super::{
    FIRST, cargo_toml,
    rename::Renamer,
    template::{self, Example},
};
use crate::{
    cli::NewArgs,
    error::Error,
    names::{Names, Wish, check_operator, operator_like},
    rust,
};

/// What fits together.
pub(super) struct Chosen {
    pub(super) example: &'static Example,
    pub(super) names: Names,
    /// The files of the example but its Cargo.toml, with the project's names.
    pub(super) texts: Vec<(PathBuf, String)>,
}

impl Chosen {
    /// # Errors
    /// The text says what cannot be, why, and what could be.
    pub(super) fn by(args: &NewArgs) -> Result<Self, Error> {
        let example = example(args.template.as_deref())?;
        let old = example.names().map_err(Error::Name)?;
        let wish = Wish {
            name: args.name.as_deref().unwrap_or_default(),
            kind: args.kind.as_deref(),
            group: args.group.as_deref(),
            version: args.api_version.as_deref(),
            plural: args.plural.as_deref(),
        };
        let names = match old.kind {
            Some(_) => Names::choose(wish),
            None => Names::without_kind(wish),
        };
        let names = names.map_err(Error::Name)?;
        refuse_dependency(example, &names.package)?;
        let renamer = Renamer::new(&old, &names, example.code()).map_err(Error::Name)?;
        let texts = texts(example, &renamer).map_err(Error::Name)?;
        for name in texts
            .iter()
            .flat_map(|(_, text)| rust::operators(text).unwrap_or_default())
        {
            check_operator(&name).map_err(|error| {
                Error::Name(match names.kind {
                    Some(_) => format!("{error}: give a shorter --kind, or --plural"),
                    None => format!("{error}: choose {}", operator_like(&name)),
                })
            })?;
        }
        Ok(Self {
            example,
            names,
            texts,
        })
    }
}

/// # Errors
/// When there is none of that name.
pub(super) fn example(asked: Option<&str>) -> Result<&'static Example, Error> {
    let asked = asked.unwrap_or(FIRST);
    template::find(asked).ok_or_else(|| Error::NoTemplate {
        asked: asked.to_owned(),
        known: template::ALL.iter().map(|example| example.name).collect(),
    })
}

/// # Errors
/// When the package would be called like one that it depends on.
pub(super) fn refuse_dependency(example: &Example, package: &str) -> Result<(), Error> {
    let mut taken = cargo_toml::dependencies(example.cargo_toml());
    taken.extend(template::companions(&taken));
    if taken.iter().any(|taken| taken == package) {
        return Err(Error::Name(format!(
            "{package} cannot name the package, because it depends on one of that name: choose {package}-operator"
        )));
    }
    Ok(())
}

fn texts(example: &Example, renamer: &Renamer) -> Result<Vec<(PathBuf, String)>, String> {
    let mut files = Vec::new();
    for (path, text) in example.files {
        if *path == "Cargo.toml" {
            continue;
        }
        let text = if template::is_rust(path) {
            renamer.rust(text).map_err(|error| format!("{path}: {error}"))?
        } else {
            renamer.text(text)
        };
        files.push((PathBuf::from(renamer.path(path)), text));
    }
    Ok(files)
}
