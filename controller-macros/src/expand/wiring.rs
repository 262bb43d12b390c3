//! The body of `wire`: the declaration as calls, in the order of the attribute.
//!
//! A call has the tokens of its item's key, so that what rustc says of it points there.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Expr, GenericParam, Path, spanned::Spanned};

use crate::{
    args::{Mapper, Millis, Predicate, Relation, RelationKind, Selector},
    model::Model,
};

pub(super) fn wiring(model: &Model<'_>, p: &TokenStream) -> TokenStream {
    let args = model.args;
    let name = args.name.iter();
    let relations = args
        .relations
        .iter()
        .map(|relation| self::relation(relation, model, p));
    let predicates = predicates(&args.predicates, model.object, p);
    let selection = selection(&args.selector);
    let config = config(model);
    let cluster = args.cluster.map(|_| quote!(.scope(#p::Scope::Cluster)));
    let rules = args.rules.iter().map(|rule| {
        let (group, resource, verbs) = (&rule.group, &rule.resource, &rule.verbs);
        if rule.primary {
            quote!(.rule_of_primary(&[#(#verbs),*]))
        } else {
            quote!(.rule(#group, #resource, &[#(#verbs),*]))
        }
    });
    let function = function(model, p);
    let triggers = args.triggers.iter().map(|(_, path)| {
        let (on, text) = (Ident::new("on", path.span()), text(path));
        if model.context.is_some() {
            quote!(.#on(#text, |__context| #path(__context)))
        } else {
            quote!(.#on(#text, |_| #path()))
        }
    });
    let cleanup = args.cleanup.iter().map(|(span, path)| {
        let cleanup = Ident::new("cleanup", *span);
        quote!(.#cleanup(#path))
    });
    let conditions = args.conditions.map(|span| {
        let conditions = Ident::new("conditions", span);
        quote!(.#conditions())
    });
    quote! {
        #p::Wiring::new(__start, #function)
            #(.name(#name))*
            #selection
            #cluster
            #(#relations)*
            #predicates
            #(#triggers)*
            #(#cleanup)*
            #conditions
            #config
            #(#rules)*
    }
}

fn text(path: &Path) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}

fn relation(relation: &Relation, model: &Model<'_>, p: &TokenStream) -> TokenStream {
    let target = relation.kind_type(p);
    let selection = selection(&relation.selector);
    let predicates = predicates(&relation.predicates, &relation.told_type(p), p);
    let options = quote!(#p::Options::new() #selection #predicates);
    let method = |name| Ident::new(name, relation.span);
    match &relation.kind {
        RelationKind::Owns => {
            let owns = method("owns");
            quote!(.#owns::<#target>(#options))
        }
        RelationKind::Watches(mapper) => {
            let watches = method("watches");
            let via = match mapper {
                Mapper::Map(function) => {
                    let mapped = called(model, "Mapper", "map", &target, function);
                    let surely = Ident::new("surely", function.span());
                    quote!(#mapped.#surely())
                }
                Mapper::TryMap(function) => called(model, "Mapper", "try_map", &target, function),
                Mapper::All(span) => {
                    let (p, object) = (super::private(model.args, *span), model.object);
                    quote_spanned!(*span=> #p::Mapper::<#target, #object>::all())
                }
            };
            quote!(.#watches::<#target>(#options, #via))
        }
        RelationKind::References(function) => {
            let references = method(if relation.referenced_only {
                "references_only"
            } else {
                "references"
            });
            let via = called(model, "Field", "new", &target, function);
            quote!(.#references::<#target>(#options, #via))
        }
    }
}

/// A function of the user's, handed to the runtime under its own tokens.
fn called(model: &Model<'_>, ty: &str, method: &str, target: &TokenStream, function: &Expr) -> TokenStream {
    let span = function.span();
    let p = super::private(model.args, span);
    let (ty, method, object) = (Ident::new(ty, span), Ident::new(method, span), model.object);
    quote_spanned!(span=> #p::#ty::<#target, #object>::#method(#function))
}

fn selection(selector: &Selector) -> TokenStream {
    let labels = selector.labels.iter();
    let fields = selector.fields.iter();
    quote!(#(.labels(#labels))* #(.fields(#fields))*)
}

/// The list of predicates with their texts, if there is one.
fn predicates(list: &[Predicate], ty: &impl ToTokens, p: &TokenStream) -> TokenStream {
    let named = list.iter().map(|predicate| {
        let text = predicate.text();
        let value = self::predicate(predicate, &ty.to_token_stream(), p);
        quote!((#text, #value))
    });
    if list.is_empty() {
        TokenStream::new()
    } else {
        quote!(.predicates([#(#named),*]))
    }
}

fn predicate(predicate: &Predicate, ty: &TokenStream, p: &TokenStream) -> TokenStream {
    let list = |list: &[Predicate]| -> Vec<TokenStream> {
        list.iter().map(|inner| self::predicate(inner, ty, p)).collect()
    };
    match predicate {
        Predicate::Word(word) => quote!(#p::predicate::#word()),
        Predicate::Function(path) => quote_spanned!(path.span()=> #p::Predicate::<#ty>::new(#path)),
        Predicate::All(inner) => {
            let inner = list(inner);
            quote!(#p::Predicate::all([#(#inner),*]))
        }
        Predicate::Any(inner) => {
            let inner = list(inner);
            quote!(#p::Predicate::any([#(#inner),*]))
        }
        Predicate::Not(inner) => {
            let inner = self::predicate(inner, ty, p);
            quote!(#p::Predicate::not(#inner))
        }
    }
}

fn config(model: &Model<'_>) -> TokenStream {
    let (config, backoff) = (&model.args.config, &model.args.backoff);
    let items = [
        call("debounce", config.debounce),
        call("concurrency", config.concurrency),
        call("timeout", config.timeout),
        call("resync", config.resync),
        call("hot_loop_cycles", config.hot_loop_cycles),
        call("hot_loop_max", config.hot_loop_max),
        call("backoff_initial", backoff.initial),
        call("backoff_max", backoff.max),
        call("backoff_factor", backoff.factor),
        call("backoff_jitter", backoff.jitter),
    ];
    items.into_iter().flatten().collect()
}

fn call(name: &str, value: Option<impl ToTokens>) -> Option<TokenStream> {
    let method = format_ident!("{name}");
    value.map(|value| quote!(.#method(#value)))
}

impl ToTokens for Millis {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.value.to_tokens(tokens);
    }
}

/// The extractors as witnesses, and the call of the user's function.
fn function(model: &Model<'_>, p: &TokenStream) -> TokenStream {
    let inputs = model.extractors.iter().map(|ty| quote!(.input::<#ty>()));
    let names: Vec<Ident> = (0..model.extractors.len())
        .map(|index| format_ident!("__{index}"))
        .collect();
    let pattern = names
        .iter()
        .fold(quote!(()), |inner, name| quote!((#inner, #name)));
    let (name, output) = (model.function, model.output);
    let turbofish = turbofish(model);
    let span = name.span();
    let at = super::private(model.args, span);
    let context = super::context(model);
    // One identifier in both places: where the function's name comes from a macro of the user's, the spans are of two worlds.
    let object = format_ident!("__object");
    let call = quote_spanned! {span=>
        #at::Runs::<#context>::boxed::<#output>(#name #turbofish (#object #(, #names)*))
    };
    quote!(#p::Inputs::new() #(#inputs)*, |#object, #pattern| #call)
}

fn turbofish(model: &Model<'_>) -> TokenStream {
    let parameters = model
        .generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Type(parameter) => Some(&parameter.ident),
            GenericParam::Const(parameter) => Some(&parameter.ident),
            GenericParam::Lifetime(_) => None,
        });
    let parameters: Vec<_> = parameters.collect();
    if parameters.is_empty() {
        TokenStream::new()
    } else {
        quote!(::<#(#parameters),*>)
    }
}
