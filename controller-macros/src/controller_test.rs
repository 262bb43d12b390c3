//! `#[controller_test]`: an async function that takes a cluster becomes a test.
//!
//! The same way as that of a controller: arguments and signature are read as far as they can be, everything wrong is reported at
//! once, and the function is there even then. What is generated is a function without parameters around the user's own, which
//! calls the runtime. It is a `#[test]` where tests are compiled, and an ordinary function elsewhere, so that examples in
//! documentation can call it.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Attribute, Expr, FnArg, LitInt, Path, ReturnType, Safety, Signature, Type, Visibility,
    parse::{Parse, ParseStream, Parser},
    parse_quote_spanned,
    spanned::Spanned,
};

use crate::{
    args::{Entry, Form, Key, Millis, value},
    errors::{self, Errors},
};

/// Every item of the attribute.
const KEYS: &[Key] = &[
    Key::new("run", Form::Value, "run = operator()"),
    Key::new("seed", Form::Value, "seed = 7"),
    Key::new("workloads", Form::Value, "workloads = \"1s\""),
    Key::new("crate", Form::Value, "crate = path::to::controller_runtime"),
];

/// The test, or the function as it was and what is wrong with it.
pub(crate) fn expand(attribute: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::new();
    let args = Args::parse(attribute, &mut errors);
    let function = Function::parse(item, &mut errors);
    let cluster = function
        .as_ref()
        .and_then(|function| function.check(&mut errors).cloned());
    // Another attribute that makes a test of it would tell its own mistakes.
    let plain = function
        .as_ref()
        .map_or_else(|| item.clone(), Function::without_tests);
    match errors.finish(function.zip(cluster)) {
        Ok((function, cluster)) => test(&args, &function, &cluster),
        Err(diagnostics) => quote! {
            #[allow(dead_code)]
            #plain
            #diagnostics
        },
    }
}

/// The arguments, as far as they could be read.
#[derive(Default)]
struct Args {
    run: Option<Expr>,
    seed: Option<u64>,
    workloads: Option<Millis>,
    krate: Option<Path>,
}

impl Args {
    fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        let parsed = (|input: ParseStream<'_>| {
            crate::args::parse(input, KEYS, errors, &mut |entry, input, _| {
                args.item(entry, input)
            });
            Ok(())
        })
        .parse2(tokens);
        errors.keep(parsed);
        args
    }

    fn item(&mut self, entry: &Entry, input: ParseStream<'_>) -> syn::Result<()> {
        match entry.key.name {
            "run" => self.run = Some(value::parsed(input, entry, Expr::parse)?),
            "seed" => {
                let seed = |input: ParseStream<'_>| input.parse::<LitInt>()?.base10_parse();
                self.seed = Some(value::parsed(input, entry, seed)?);
            }
            "workloads" => self.workloads = Some(value::duration(input, entry)?),
            _ => self.krate = Some(value::path(input, entry)?),
        }
        Ok(())
    }

    /// The path to the runtime, under tokens that stand at `span`.
    fn private(&self, span: Span) -> TokenStream {
        let krate = self
            .krate
            .clone()
            .unwrap_or_else(|| parse_quote_spanned!(span=> ::controller_runtime));
        quote_spanned!(span=> #krate::__private)
    }
}

/// The user's function. Its body is kept as tokens: it may be half-typed.
struct Function {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            body: input.parse()?,
        })
    }
}

impl Function {
    fn parse(item: &TokenStream, errors: &mut Errors) -> Option<Self> {
        let is_function = item
            .clone()
            .into_iter()
            .any(|token| matches!(&token, TokenTree::Ident(ident) if ident == "fn"));
        if is_function {
            errors.keep(syn::parse2(item.clone()))
        } else {
            errors.push(errors::test_not_a_function(item));
            None
        }
    }

    /// Reports everything that is wrong, and gives the type of its parameter.
    fn check(&self, errors: &mut Errors) -> Option<&Type> {
        let signature = &self.signature;
        for attribute in self.attributes.iter().filter(|attribute| is_test(attribute)) {
            errors.push(errors::test_twice(attribute));
        }
        if let Some(token) = &signature.constness {
            errors.push(errors::test_qualifier(token, "const"));
        }
        if let Safety::Unsafe(token) = &signature.safety {
            errors.push(errors::test_qualifier(token, "unsafe"));
        }
        if let Some(abi) = &signature.abi {
            errors.push(errors::test_qualifier(abi, "extern"));
        }
        if signature.asyncness.is_none() {
            errors.push(errors::test_not_async(signature.fn_token));
        }
        if !signature.generics.params.is_empty() {
            errors.push(errors::test_generic(&signature.generics));
        }
        self.cluster(errors)
    }

    /// The function as it was, less other attributes that make a test of it.
    fn without_tests(&self) -> TokenStream {
        let Self {
            visibility,
            signature,
            body,
            ..
        } = self;
        let attributes = self.attributes.iter().filter(|attribute| !is_test(attribute));
        quote!(#(#attributes)* #visibility #signature #body)
    }

    fn cluster(&self, errors: &mut Errors) -> Option<&Type> {
        let mut inputs = self.signature.inputs.iter();
        let cluster = match inputs.next() {
            None => {
                errors.push(errors::test_without_cluster(
                    self.signature.paren_token.span.close(),
                ));
                None
            }
            Some(FnArg::Receiver(receiver)) => {
                errors.push(errors::test_receiver(receiver));
                None
            }
            Some(FnArg::Typed(parameter)) => match &*parameter.ty {
                ty @ (Type::Reference(_) | Type::ImplTrait(_)) => {
                    errors.push(errors::test_borrows(ty));
                    None
                }
                ty => Some(ty),
            },
        };
        for more in inputs {
            errors.push(errors::test_takes_more(more));
        }
        cluster
    }
}

/// `#[test]`, `#[tokio::test]`
fn is_test(attribute: &Attribute) -> bool {
    let last = attribute.path().segments.last();
    last.is_some_and(|last| last.ident == "test")
}

fn test(args: &Args, function: &Function, cluster: &Type) -> TokenStream {
    let Function {
        attributes,
        visibility,
        signature,
        body,
    } = function;
    let name = &signature.ident;
    let p = args.private(Span::call_site());
    let seed = args.seed.map(|seed| quote!(.seed(#seed)));
    let workloads = args.workloads.map(|millis| {
        let millis = millis.value;
        quote!(.workloads(#millis))
    });
    let start = args.run.as_ref().map(|operator| {
        let p = args.private(operator.span());
        quote_spanned!(operator.span()=> #p::testing::start(&__cluster, #operator).await;)
    });
    let taken = {
        let p = args.private(cluster.span());
        quote_spanned!(cluster.span()=> <#cluster as #p::testing::FromCluster>::from_cluster(__cluster))
    };
    let verdict = match &signature.output {
        ReturnType::Default => quote!(#p::testing::Verdict::verdict),
        ReturnType::Type(_, ty) => {
            let p = args.private(ty.span());
            quote_spanned!(ty.span()=> <#ty as #p::testing::Verdict>::verdict)
        }
    };
    let function = signature.to_token_stream();
    quote! {
        #[cfg_attr(test, #p::test)]
        #(#attributes)*
        #visibility fn #name() {
            #function #body
            #p::testing::run(
                #p::testing::Settings::new() #seed #workloads,
                async |__cluster| {
                    #start
                    #verdict(#name(#taken).await)
                },
            );
        }
    }
}
