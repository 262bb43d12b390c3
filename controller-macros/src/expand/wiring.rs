//! The body of `wire`: the declaration as calls, in the order of the attribute.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{GenericParam, spanned::Spanned};

use crate::{
    args::{Millis, Predicate, Relation, RelationKind, Selector},
    model::Model,
};

pub(super) fn wiring(model: &Model<'_>, p: &TokenStream) -> TokenStream {
    let args = model.args;
    let name = args.name.iter();
    let relations = args.relations.iter().map(|relation| self::relation(relation, p));
    let predicates = predicates(&args.predicates, p);
    let config = config(model);
    let rules = args.rules.iter().map(|rule| {
        let (group, resource, verbs) = (&rule.group, &rule.resource, &rule.verbs);
        quote!(.rule(#group, #resource, &[#(#verbs),*]))
    });
    let function = function(model, p);
    quote! {
        #p::Wiring::new(__kind, #function)
            #(.name(#name))*
            #(#relations)*
            .predicates(#predicates)
            #config
            #(#rules)*
    }
}

fn relation(relation: &Relation, p: &TokenStream) -> TokenStream {
    let target = &relation.target;
    let selection = selection(&relation.selector);
    let predicates = predicates(&relation.predicates, p);
    let options = quote!(#p::Options::new() #selection .predicates(#predicates));
    match &relation.kind {
        RelationKind::Owns => quote!(.owns::<#target>(#options)),
        RelationKind::Watches(mapper) => {
            let function = &mapper.function;
            let method = if mapper.fallible {
                quote!(try_watches)
            } else {
                quote!(watches)
            };
            quote!(.#method::<#target, _>(#options, #function))
        }
        RelationKind::References(function) => quote!(.references::<#target, _>(#options, #function)),
    }
}

fn selection(selector: &Selector) -> TokenStream {
    let labels = selector.labels.iter();
    let fields = selector.fields.iter();
    quote!(#(.labels(#labels))* #(.fields(#fields))*)
}

/// A list of predicates with their texts.
fn predicates(list: &[Predicate], p: &TokenStream) -> TokenStream {
    let named = list.iter().map(|predicate| {
        let text = predicate.text();
        let value = self::predicate(predicate, p);
        quote!((#text, #value))
    });
    quote!([#(#named),*])
}

fn predicate(predicate: &Predicate, p: &TokenStream) -> TokenStream {
    let list = |list: &[Predicate]| -> Vec<TokenStream> {
        list.iter().map(|inner| self::predicate(inner, p)).collect()
    };
    match predicate {
        Predicate::Word(word) => quote!(#p::predicate::#word()),
        Predicate::Function(path) => quote_spanned!(path.span()=> #p::Predicate::new(#path)),
        Predicate::All(inner) => {
            let inner = list(inner);
            quote!(#p::Predicate::all([#(#inner),*]))
        }
        Predicate::Any(inner) => {
            let inner = list(inner);
            quote!(#p::Predicate::any([#(#inner),*]))
        }
        Predicate::Not(inner) => {
            let inner = self::predicate(inner, p);
            quote!(#p::Predicate::not(#inner))
        }
    }
}

fn config(model: &Model<'_>) -> TokenStream {
    let (config, backoff) = (&model.args.config, &model.args.backoff);
    let millis = |name: &str, value: Option<Millis>| {
        let method = format_ident!("{name}");
        value.map(|Millis { value, .. }| quote!(.#method(#value)))
    };
    let number = |name: &str, value: Option<f64>| {
        let method = format_ident!("{name}");
        value.map(|value| quote!(.#method(#value)))
    };
    let concurrency = config.concurrency.map(|value| quote!(.concurrency(#value)));
    let items = [
        millis("debounce", config.debounce),
        concurrency,
        millis("timeout", config.timeout),
        millis("resync", config.resync),
        millis("backoff_initial", backoff.initial),
        millis("backoff_max", backoff.max),
        number("backoff_factor", backoff.factor),
        number("backoff_jitter", backoff.jitter),
    ];
    items.into_iter().flatten().collect()
}

/// The call of the user's function, with one witness per extractor.
fn function(model: &Model<'_>, p: &TokenStream) -> TokenStream {
    let inputs = model.extractors.iter().map(|ty| quote!(.input::<#ty>()));
    let names: Vec<Ident> = (0..model.extractors.len())
        .map(|index| format_ident!("__{index}"))
        .collect();
    let pattern = names
        .iter()
        .fold(quote!(()), |inner, name| quote!((#inner, #name)));
    let name = model.function;
    let turbofish = turbofish(model);
    let call = quote_spanned!(name.span()=> #name #turbofish (__object #(, #names)*));
    quote!(#p::Inputs::new() #(#inputs)*, |__object, #pattern| #p::boxed::<Self>(#call))
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
