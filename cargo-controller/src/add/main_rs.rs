//! Where in a `main.rs` a module and a call of the operator go. Pure.
//!
//! It is found by tokens, and only where there is one place: behind the last `mod name;`, and behind `Operator::new(…)`. A `main.rs`
//! that is written otherwise is left alone, and the user is told what to add.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::rust;

/// `main.rs` with `module` declared and `call` made on the operator; `None` where the places are not clear.
pub(super) fn extended(source: &str, module: &str, call: &str) -> Option<String> {
    let tokens = rust::stream(source).ok()?;
    let module_at = behind_modules(&tokens)?;
    let mut calls = Vec::new();
    behind_new(&tokens, &mut calls);
    let [call_at] = calls.as_slice() else { return None };
    if *call_at < module_at {
        return None;
    }
    let (head, rest) = source.split_at(module_at);
    let (middle, tail) = rest.split_at(call_at - module_at);
    // A call that stands in a line of its own is followed by another such line.
    let line = tail
        .split_once('.')
        .map(|(space, _)| space)
        .filter(|space| space.starts_with('\n') && space.trim().is_empty());
    Some(format!(
        "{head}\nmod {module};{middle}{}{call}{tail}",
        line.unwrap_or_default()
    ))
}

/// The modules that the file itself has, in a file of their own or not.
pub(super) fn modules(source: &str) -> Vec<String> {
    let trees: Vec<_> = rust::stream(source).into_iter().flatten().collect();
    let modules = trees.windows(2).filter_map(|window| match window {
        [TokenTree::Ident(keyword), TokenTree::Ident(name)] if keyword == "mod" => Some(name.to_string()),
        _ => None,
    });
    modules.collect()
}

/// The end of the last `mod name;` of the file itself.
fn behind_modules(tokens: &TokenStream) -> Option<usize> {
    let trees: Vec<_> = tokens.clone().into_iter().collect();
    trees.windows(3).rev().find_map(|window| match window {
        [
            TokenTree::Ident(keyword),
            TokenTree::Ident(_),
            TokenTree::Punct(end),
        ] if keyword == "mod" && end.as_char() == ';' => Some(end.span().byte_range().end),
        _ => None,
    })
}

/// The end of each `Operator::new(…)`, at any depth.
fn behind_new(tokens: &TokenStream, found: &mut Vec<usize>) {
    let trees: Vec<_> = tokens.clone().into_iter().collect();
    for window in trees.windows(5) {
        if let [
            TokenTree::Ident(operator),
            TokenTree::Punct(_),
            TokenTree::Punct(_),
            TokenTree::Ident(new),
            TokenTree::Group(arguments),
        ] = window
            && operator == "Operator"
            && new == "new"
            && arguments.delimiter() == Delimiter::Parenthesis
        {
            found.push(arguments.span_close().byte_range().end);
        }
    }
    for tree in trees {
        if let TokenTree::Group(group) = tree {
            behind_new(&group.stream(), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: &str = r#"//! An operator; mod none; Operator::new("no").
mod controller;
#[cfg(test)]
mod tests;

use controller_runtime::prelude::*;

async fn main() -> Result<()> {
    Operator::new("documents")
        .crd::<Document>()
        .main()
        .await
}
"#;

    #[test]
    fn a_module_and_a_call_find_their_places() {
        let extended = extended(MAIN, "site", ".crd::<site::Site>()").unwrap();
        assert_eq!(
            extended,
            MAIN.replace("mod tests;", "mod tests;\nmod site;").replace(
                "(\"documents\")\n",
                "(\"documents\")\n        .crd::<site::Site>()\n"
            )
        );
        let line = "mod a;\nfn main() { Operator::new(\"x\").main() }";
        assert_eq!(
            super::extended(line, "site", ".crd::<S>()").unwrap(),
            "mod a;\nmod site;\nfn main() { Operator::new(\"x\").crd::<S>().main() }"
        );
    }

    #[test]
    fn modules_are_those_of_the_file_itself() {
        assert_eq!(
            modules("mod a; pub(crate) mod b { mod no {} } // mod c;"),
            ["a", "b"]
        );
        assert!(modules("mod a( {").is_empty());
    }

    #[test]
    fn what_is_not_clear_is_left_alone() {
        for source in [
            "fn main() { Operator::new(\"x\").main() }",
            "mod a; fn main() { run() }",
            "mod a; fn main() { if b { Operator::new(\"x\") } else { Operator::new(\"y\") } }",
            "fn main() { Operator::new(\"x\") } mod a;",
            "mod a; fn main( {",
        ] {
            assert_eq!(extended(source, "site", ".crd::<S>()"), None, "{source}");
        }
    }
}
