//! What arguments and signature say together. Only a model can be expanded.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::{Generics, Path, Type, Visibility, parse_quote_spanned};

use crate::{
    args::{Args, Relation},
    errors::{self, Errors},
    signature::{Signature, only_argument, shared},
};

/// A controller without mistakes.
pub(crate) struct Model<'a> {
    pub(crate) args: &'a Args,
    /// The function.
    pub(crate) function: &'a Ident,
    /// The type beside it: of the same name, unless `as` gives another.
    pub(crate) type_name: &'a Ident,
    pub(crate) visibility: &'a Visibility,
    pub(crate) generics: &'a Generics,
    pub(crate) object: &'a Type,
    /// `None` is a controller without a context.
    pub(crate) context: Option<&'a Type>,
    pub(crate) extractors: Vec<&'a Type>,
    pub(crate) output: &'a Type,
    /// The kind is known at run time.
    pub(crate) dynamic: bool,
    /// The kinds that have a store, each once.
    pub(crate) stores: Vec<&'a Relation>,
}

impl<'a> Model<'a> {
    /// Applies the rules that need more than one item.
    pub(crate) fn check(
        args: &'a Args,
        signature: Option<Signature<'a>>,
        errors: &mut Errors,
    ) -> Option<Self> {
        check_backoff(args, errors);
        check_relations(&args.relations, errors);
        let signature = signature?;
        check_scope(args, signature.object, errors);
        check_parameters(&args.relations, signature.generics, errors);
        let function = &signature.head.signature.ident;
        let type_name = args.alias.as_ref().unwrap_or(function);
        if let Some(error) = &args.error
            && error.name == *type_name
        {
            errors.push(errors::name_taken(&error.name));
        }
        Some(Self {
            args,
            function,
            type_name,
            visibility: signature.visibility,
            generics: signature.generics,
            object: signature.object,
            context: context(args, &signature.extractors, errors),
            extractors: signature.extractors,
            output: signature.output,
            dynamic: is_dynamic(signature.object),
            stores: stores(&args.relations),
        })
    }
}

/// The path to the runtime, under tokens that stand at `span`.
pub(crate) fn krate(args: &Args, span: Span) -> Path {
    args.krate
        .clone()
        .unwrap_or_else(|| parse_quote_spanned!(span=> ::controller_runtime))
}

fn check_backoff(args: &Args, errors: &mut Errors) {
    if let (Some(initial), Some(max)) = (args.backoff.initial, args.backoff.max)
        && initial.value > max.value
    {
        errors.push(errors::initial_over_max(initial.span));
    }
}

/// A scope is given for kinds known at run time, and once.
fn check_scope(args: &Args, object: &Type, errors: &mut Errors) {
    let given = [(args.cluster, "cluster"), (args.namespaced, "namespaced")];
    for (span, key) in given.into_iter().filter_map(|(span, key)| Some((span?, key))) {
        if !is_dynamic(object) {
            errors.push(errors::scope_is_known(span, key));
        }
    }
    if let (Some(_), Some(namespaced)) = (args.cluster, args.namespaced) {
        errors.push(errors::contradicts(namespaced, "namespaced", "cluster"));
    }
}

/// A kind is related once in each way, and everywhere with the same selection.
fn check_relations(relations: &[Relation], errors: &mut Errors) {
    for (index, relation) in relations.iter().enumerate() {
        let same_kind = |other: &&Relation| text(&other.target) == text(&relation.target);
        let mut before = relations[..index].iter().filter(same_kind);
        if before
            .clone()
            .any(|other| other.kind.name() == relation.kind.name())
        {
            errors.push(errors::related_twice(&relation.target, relation.kind.name()));
        } else if before.any(|other| other.selection() != relation.selection()) {
            errors.push(errors::ambiguous_store(&relation.target));
        }
    }
}

/// A kind that is a type parameter stands for every kind, so it has a store only if no other relation could have the same.
fn check_parameters(relations: &[Relation], generics: &Generics, errors: &mut Errors) {
    let parameters: Vec<_> = generics
        .type_params()
        .map(|parameter| text(&parameter.ident))
        .collect();
    let is_parameter = |relation: &Relation| parameters.contains(&text(&relation.target));
    for (index, relation) in relations.iter().enumerate() {
        if !is_parameter(relation) {
            continue;
        }
        let other = relations.iter().enumerate().find(|(place, other)| {
            let apart = text(&other.target) == text(&relation.target)
                || (relation.metadata_only && !other.metadata_only && !is_parameter(other));
            // Of two parameters the later one is told.
            !apart && (*place < index || !is_parameter(other))
        });
        if let Some((_, other)) = other {
            errors.push(errors::parameter_beside(&relation.target, &other.target));
        }
    }
}

/// The given context, or that of the only `Arc<…>` among the extractors.
fn context<'a>(args: &'a Args, extractors: &[&'a Type], errors: &mut Errors) -> Option<&'a Type> {
    if args.context.is_some() {
        return args.context.as_ref();
    }
    let mut arcs = extractors.iter().filter_map(|ty| Some((*ty, shared(ty)?)));
    let (_, first) = arcs.next()?;
    for (arc, inner) in arcs {
        if text(inner) != text(first) {
            errors.push(errors::second_context(arc));
        }
    }
    Some(first)
}

/// `DynamicObject`, or its metadata: the one kind that is known by its name only.
fn is_dynamic(object: &Type) -> bool {
    let Type::Path(path) = object else { return false };
    path.path.segments.last().is_some_and(|last| {
        last.ident == "DynamicObject" || only_argument(&last.arguments).is_some_and(is_dynamic)
    })
}

fn stores(relations: &[Relation]) -> Vec<&Relation> {
    let mut stores: Vec<&Relation> = Vec::new();
    for relation in relations {
        let same = |store: &&Relation| text(&store.target) == text(&relation.target);
        if !stores.iter().any(same) {
            stores.push(relation);
        }
    }
    stores
}

fn text(tokens: impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
}
