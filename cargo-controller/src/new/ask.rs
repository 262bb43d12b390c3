//! Questions, for a person at a terminal who gave no name.

use std::io::{self, BufRead, Write};

use super::template;
use crate::{
    cli::NewArgs,
    names::{Kind, PLACEHOLDER, Wish},
};

/// Asks for what was not given; an empty answer takes what stands in brackets.
///
/// # Errors
/// When the terminal cannot be read, or ends before there is a name.
pub(super) fn ask(args: &NewArgs, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<NewArgs> {
    let mut args = args.clone();
    let mut question = |text: &str, default: &str| -> io::Result<String> {
        if default.is_empty() {
            write!(output, "{text}: ")?;
        } else {
            write!(output, "{text} [{default}]: ")?;
        }
        output.flush()?;
        let mut answer = String::new();
        if input.read_line(&mut answer)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let answer = answer.trim();
        Ok(if answer.is_empty() { default } else { answer }.to_owned())
    };
    let mut name = String::new();
    while name.is_empty() {
        name = question("Name of the package", "")?;
    }
    if args.template.is_none() {
        let all: Vec<_> = template::ALL.iter().map(|example| example.name).collect();
        args.template = Some(question(&format!("Template ({})", all.join(", ")), super::FIRST)?);
    }
    let brings_kind = args
        .template
        .as_deref()
        .and_then(template::find)
        .is_some_and(|example| example.names().is_ok_and(|names| names.kind.is_some()));
    if brings_kind {
        if args.kind.is_none() {
            let wish = Wish {
                name: &name,
                ..Wish::default()
            };
            let kind = Kind::choose(wish).map(|kind| kind.name).unwrap_or_default();
            args.kind = Some(question("Kind", &kind)?);
        }
        if args.group.is_none() {
            args.group = Some(question("API group", PLACEHOLDER)?);
        }
    }
    args.name = Some(name);
    Ok(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(given: &NewArgs, text: &str) -> (io::Result<NewArgs>, String) {
        let mut output = Vec::new();
        let args = ask(given, &mut text.as_bytes(), &mut output);
        (args, String::from_utf8(output).unwrap())
    }

    #[test]
    fn empty_answers_take_what_stands_in_brackets() {
        let (args, asked) = answers(&NewArgs::default(), "\nsite-operator\n\n\nacme.io\n");
        let args = args.unwrap();
        assert_eq!(
            (
                args.name.as_deref(),
                args.template.as_deref(),
                args.kind.as_deref(),
                args.group.as_deref()
            ),
            (
                Some("site-operator"),
                Some("document"),
                Some("Site"),
                Some("acme.io")
            )
        );
        assert!(
            asked.contains("Kind [Site]: API group [example.com]: "),
            "{asked}"
        );
    }

    #[test]
    fn what_was_given_is_not_asked() {
        let given = NewArgs {
            kind: Some("Site".to_owned()),
            group: Some("acme.io".to_owned()),
            template: Some("document".to_owned()),
            ..NewArgs::default()
        };
        assert_eq!(answers(&given, "site\n").1, "Name of the package: ");
    }

    #[test]
    fn the_end_of_the_answers_is_an_error() {
        assert!(answers(&NewArgs::default(), "").0.is_err());
    }
}
