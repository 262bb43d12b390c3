//! Questions, for a person at a terminal who gave no name.

use std::io::{self, BufRead, Write};

use super::{
    choose::{self, Chosen},
    template,
};
use crate::{
    cli::NewArgs,
    error::Error,
    names::{PLACEHOLDER, check_package, proposed_kinds},
};

/// How often a question is asked, before its last answer ends the command.
const TRIES: usize = 3;

/// Asks for what was not given; an empty answer takes what stands in brackets. An answer that cannot be is told, and asked for again.
///
/// # Errors
/// When the terminal cannot be read, or ends before there is a name, or no answer could be.
pub(super) fn ask(
    args: &NewArgs,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<NewArgs, Error> {
    let mut args = args.clone();
    let name = question(input, output, "Name of the package", "", |name| {
        let package = check_package(name).map_err(Error::Name)?;
        choose::refuse_dependency(choose::example(args.template.as_deref())?, &package)
    })?;
    args.name = Some(name);
    if args.template.is_none() {
        let all: Vec<_> = template::ALL.iter().map(|example| example.name).collect();
        let text = format!("Template ({})", all.join(", "));
        let template = question(input, output, &text, super::FIRST, |answer| {
            choose::example(Some(answer)).map(drop)
        })?;
        args.template = Some(template);
    }
    let example = choose::example(args.template.as_deref())?;
    if example.names().is_ok_and(|names| names.kind.is_some()) {
        if args.kind.is_none() {
            let with = |kind: &str| {
                Chosen::by(&NewArgs {
                    kind: Some(kind.to_owned()),
                    ..args.clone()
                })
                .map(drop)
            };
            let proposed = proposed_kinds(args.name.as_deref().unwrap_or_default());
            let proposed = proposed.into_iter().find(|kind| with(kind).is_ok());
            let kind = question(input, output, "Kind", &proposed.unwrap_or_default(), with)?;
            args.kind = Some(kind);
        }
        if args.group.is_none() {
            let group = question(input, output, "API group", PLACEHOLDER, |group| {
                Chosen::by(&NewArgs {
                    group: Some(group.to_owned()),
                    ..args.clone()
                })
                .map(drop)
            })?;
            args.group = Some(group);
        }
    }
    Ok(args)
}

fn question(
    input: &mut impl BufRead,
    output: &mut impl Write,
    text: &str,
    default: &str,
    check: impl Fn(&str) -> Result<(), Error>,
) -> Result<String, Error> {
    let mut tries = 0;
    loop {
        let answer = answer(input, output, text, default).map_err(Error::Answers)?;
        let Err(refused) = check(&answer) else {
            return Ok(answer);
        };
        tries += 1;
        if tries == TRIES {
            return Err(refused);
        }
        // Who is asked for a kind gives no option.
        let refused = refused.to_string().replace("--kind ", "");
        writeln!(output, "{refused}").map_err(Error::Answers)?;
    }
}

fn answer(
    input: &mut impl BufRead,
    output: &mut impl Write,
    text: &str,
    default: &str,
) -> io::Result<String> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(given: &NewArgs, text: &str) -> (Result<NewArgs, Error>, String) {
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

    #[test]
    fn an_answer_that_cannot_be_is_told_and_asked_for_again() {
        let (args, asked) = answers(
            &NewArgs::default(),
            "my site\nkube\nsite\nnothing\ndocument\nmy-page\nSecret\nPage\nexample\nacme.io\n",
        );
        let args = args.unwrap();
        assert_eq!(
            [args.name, args.template, args.kind, args.group].map(Option::unwrap),
            ["site", "document", "Page", "acme.io"]
        );
        for told in [
            "\"my site\" cannot name a package",
            "choose kube-operator\nName of the package: ",
            "there is no template \"nothing\"",
            "choose MyPage\nKind [Site]: ",
            "choose MySecret\n",
            "such as example.com\nAPI group",
        ] {
            assert!(asked.contains(told), "no {told:?} in {asked}");
        }
    }

    #[test]
    fn what_is_proposed_could_be() {
        for (name, proposed) in [
            ("store-operator", "MyStore"),
            ("secret-operator", "MySecret"),
            ("site", "Site"),
        ] {
            let (args, asked) = answers(&NewArgs::default(), &format!("{name}\n\n\n\n"));
            assert_eq!(args.unwrap().kind.unwrap(), proposed, "{asked}");
        }
    }

    #[test]
    fn nobody_is_asked_for_ever() {
        let (args, asked) = answers(&NewArgs::default(), &"9\n".repeat(9));
        assert!(matches!(args, Err(Error::Name(_))));
        assert_eq!(asked.matches("Name of the package").count(), TRIES);
    }
}
