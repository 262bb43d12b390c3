//! Expansions, as they stand in `snapshots/`: `NAME.in` becomes `NAME.out`.
//!
//! `UPDATE_SNAPSHOTS=1 cargo test -p controller-macros` writes them anew; read the difference before committing it.

use std::{fs, path::PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Item, Meta};

use super::{controller_test, controller_tokens};

fn snapshots() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("snapshots");
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".in"))
        .collect();
    all.sort();
    assert!(all.len() >= 10);
    all
}

/// Takes the first attribute off a source, as rustc does, and expands it.
fn expand(source: &str) -> TokenStream {
    let mut file = syn::parse_file(source).unwrap();
    let Some(Item::Fn(function)) = file.items.first_mut() else {
        panic!("a function")
    };
    let meta = function.attrs.remove(0).meta;
    let test = meta.path().is_ident("controller_test");
    let attribute = match meta {
        Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    };
    if test {
        controller_test::expand(attribute, &function.to_token_stream())
    } else {
        controller_tokens(attribute, function.to_token_stream())
    }
}

#[test]
fn expansions_are_what_they_were() {
    for path in snapshots() {
        let expanded = expand(&fs::read_to_string(&path).unwrap());
        let formatted = prettyplease::unparse(&syn::parse2(expanded).unwrap());
        let expected = PathBuf::from(path.to_string_lossy().replace(".in", ".out"));
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&expected, &formatted).unwrap();
        }
        let before = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(before, formatted, "{} is another now", expected.display());
    }
}

/// Names that a module may give another meaning.
const BARE: &[&str] = &[
    "Ok",
    "Err",
    "Some",
    "None",
    "Result",
    "Option",
    "String",
    "str",
    "Vec",
    "Box",
    "Arc",
    "Send",
    "Sync",
    "Sized",
    "Clone",
    "Debug",
    "Display",
    "Error",
    "From",
    "Into",
    "Fn",
    "FnOnce",
    "FnMut",
    "Future",
    "Default",
    "Iterator",
    "std",
    "core",
    "alloc",
    "kube",
    "controller_runtime",
    "u8",
    "u16",
    "u32",
    "u64",
    "usize",
    "f64",
    "bool",
    "format",
    "write",
    "vec",
    "panic",
    "drop",
];

/// Every name of ours is reached through the runtime's path.
#[test]
fn generated_code_names_nothing_bare() {
    let attribute = quote! {
        name = "x", owns(Kind, labels = "a"), watches(Kind2, map(mapper)), references(Kind3, field), on(ticks),
        predicates(generation, all(labels, not(own))), config(debounce = "1s", concurrency = 3),
        backoff(factor = 2.5), cleanup(release), status(conditions), rbac("apps/deployments": get),
        error = enum Failure {
            #[error("{0}")] #[permanent] A(Source),
            #[error(transparent)] B(#[from] Cause),
            #[error("{a}")] #[retry_after = "1s"] C { #[source] a: Cause },
        },
    };
    let function = quote!(
        async fn reconcile<K: Kind>(_: crate::Arc<K>, _: crate::Arc<App>, _: Extractor) -> Outcome {}
    );
    let expanded = controller_tokens(attribute, function.clone());
    let given = function.into_iter().count();
    let ours: TokenStream = expanded.into_iter().skip(given).collect();
    assert!(ours.to_string().contains("__private"), "it was expanded");
    assert_eq!(bare(ours), [""; 0]);
}

#[test]
fn a_test_names_nothing_bare() {
    let attribute = quote!(run = operator(), seed = 7, workloads = "1s");
    let function = quote!(
        #[should_panic]
        async fn holds(cluster: Cluster) -> Outcome {}
    );
    let expanded = controller_test::expand(attribute, &function);
    assert!(expanded.to_string().contains("__private"), "it was expanded");
    assert_eq!(bare(expanded), [""; 0]);
}

fn bare(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = String::new();
    for token in tokens {
        match &token {
            TokenTree::Ident(ident) if before != ":" && BARE.contains(&ident.to_string().as_str()) => {
                found.push(ident.to_string());
            }
            TokenTree::Group(group) => found.extend(bare(group.stream())),
            _ => {}
        }
        before = token.to_string();
    }
    found
}

/// leptos-rs/leptos#1781: an editor must keep the function while it is typed.
#[test]
fn whatever_the_body_is_the_function_stays() {
    for body in [
        quote!({ let x = }),
        quote!({ ctx. }),
        quote!({ if x }),
        quote!({ match { } }),
        quote!({ = > ! }),
    ] {
        let function = quote!(async fn reconcile(_: Arc<Kind>) -> Result<Action, Failure> #body);
        let expanded = controller_tokens(TokenStream::new(), function.clone()).to_string();
        assert!(expanded.starts_with(&function.to_string()), "{expanded}");
        assert!(!expanded.contains("compile_error"), "{expanded}");
        let mistaken = controller_tokens(quote!(nothing), function.clone()).to_string();
        assert!(mistaken.starts_with(&function.to_string()), "{mistaken}");
        assert_eq!(mistaken.matches("compile_error").count(), 1, "{mistaken}");
    }
}

/// No input makes it panic: each is expanded or told.
#[test]
fn odd_tokens_are_told() {
    let functions = [
        "",
        "fn",
        "fn x",
        "struct X;",
        "async fn x(",
        "async fn x(a: ) -> {}",
        "pub fn x<T>() -> T;",
        "{ } ( )",
    ];
    let attributes = [
        "",
        ",",
        "owns",
        "owns(",
        "owns((",
        "name = ",
        "name = = 1",
        "as = 1",
        "as",
        "crate",
        "error = ",
        "error = pub",
        "error = enum",
        "error = enum X",
        "error = enum X { A(",
        "watches(X, map(|",
        "predicates(not(not(",
        "rbac(\"a/b\":",
        "config(debounce",
        "a::b",
        "'a",
        "#",
        "owns(<>)",
        "references(X,)",
        "on(,)",
        "on(a b)",
    ];
    let streams =
        |texts: &[&str]| -> Vec<TokenStream> { texts.iter().filter_map(|text| text.parse().ok()).collect() };
    let good = "async fn x(_: Arc<K>) -> Result<Action, E> {}"
        .parse::<TokenStream>()
        .unwrap();
    for attribute in streams(&attributes) {
        for function in streams(&functions).into_iter().chain([good.clone()]) {
            let expanded = controller_tokens(attribute.clone(), function.clone()).to_string();
            assert!(
                expanded.starts_with(&function.to_string()),
                "{attribute}: {expanded}"
            );
            let test = controller_test::expand(attribute.clone(), &function).to_string();
            assert!(
                test.contains("compile_error") || test.contains("__private"),
                "{attribute}: {test}"
            );
        }
    }
}
