//! The arguments of `#[controller(…)]`, as far as they can be read.
//!
//! Every value keeps the span of its key, so that later rules still point at the right characters. A mistake in
//! one item leaves the others readable.

mod entries;
mod error_enum;
mod message;
mod predicate;
mod relation;
mod rule;
mod selector;
pub(crate) mod value;

use proc_macro2::{Span, TokenStream};
use syn::{Ident, LitStr, Path, Type, parse::ParseStream, parse::Parser};

pub(crate) use entries::{Entry, Form, Key, parse};
pub(crate) use error_enum::{ErrorEnum, Retry, Variant};
pub(crate) use message::Message;
pub(crate) use predicate::Predicate;
pub(crate) use relation::{Mapper, Relation, RelationKind};
pub(crate) use rule::Rule;
pub(crate) use selector::Selector;
pub(crate) use value::{Backoff, Config, Millis};

use crate::errors::{self, Errors};

/// Every item of the attribute.
pub(crate) const KEYS: &[Key] = &[
    Key::new("owns", Form::List, "owns(ConfigMap)").often(),
    Key::new("name", Form::Value, "name = \"documents\""),
    Key::new("as", Form::Value, "as = Name"),
    Key::new("watches", Form::List, "watches(Secret, map(|secret| …))").often(),
    Key::new(
        "references",
        Form::List,
        "references(Secret, |object| object.spec.secret_name.clone())",
    )
    .often(),
    Key::new("on", Form::List, "on(path::to::stream)").often(),
    Key::new("predicates", Form::List, "predicates(generation, finalizers)"),
    Key::new("selector", Form::List, "selector(labels = \"app=web\")"),
    Key::new("cluster", Form::Flag, "cluster"),
    Key::new("namespaced", Form::Flag, "namespaced"),
    Key::new("metadata_only", Form::Flag, "metadata_only"),
    Key::new(
        "config",
        Form::List,
        "config(debounce = \"500ms\", concurrency = 16)",
    ),
    Key::new("backoff", Form::List, "backoff(initial = \"1s\", max = \"5m\")"),
    Key::new("cleanup", Form::List, "cleanup(release)"),
    Key::new("status", Form::List, "status(conditions)"),
    Key::new("error", Form::Value, "error = enum Name { … }"),
    Key::new("rbac", Form::List, "rbac(\"apps/deployments\": get list)").often(),
    Key::new("context", Form::Value, "context = Type"),
    Key::new("crate", Form::Value, "crate = path::to::controller_runtime"),
];

const STATUS_KEYS: &[Key] = &[Key::new("conditions", Form::Flag, "conditions")];

/// The arguments of one attribute, as far as they could be read.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) alias: Option<Ident>,
    pub(crate) name: Option<LitStr>,
    pub(crate) relations: Vec<Relation>,
    /// The first tokens of every relation: kinds that are mentioned even if the rest is wrong.
    pub(crate) mentioned: Vec<Type>,
    pub(crate) triggers: Vec<(Span, Path)>,
    pub(crate) predicates: Vec<Predicate>,
    pub(crate) selector: Selector,
    pub(crate) cluster: Option<Span>,
    pub(crate) namespaced: Option<Span>,
    pub(crate) config: Config,
    pub(crate) backoff: Backoff,
    pub(crate) cleanup: Option<(Span, Path)>,
    pub(crate) conditions: Option<Span>,
    pub(crate) error: Option<ErrorEnum>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) context: Option<Type>,
    pub(crate) krate: Option<Path>,
}

impl Args {
    /// Reads all items; what cannot be read is reported and left out.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        let parsed = (|input: ParseStream<'_>| {
            parse(input, KEYS, errors, &mut |entry, input, errors| {
                args.item(entry, input, errors)
            });
            Ok(())
        })
        .parse2(tokens);
        errors.keep(parsed);
        args
    }

    fn item(&mut self, entry: &Entry, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        let key = entry.key;
        if matches!(key.name, "owns" | "watches" | "references") {
            self.mentioned.extend(input.fork().parse::<Type>());
        }
        match key.name {
            "as" => self.alias = Some(value::ident(input, entry)?),
            "name" => self.name = Some(value::name(input, entry)?),
            "owns" => self.relations.push(Relation::owns(input, entry, errors)?),
            "watches" => self.relations.push(Relation::watches(input, entry, errors)?),
            "references" => self.relations.push(Relation::references(input, entry, errors)?),
            "on" => self.triggers.push((entry.span, value::path(input, entry)?)),
            "predicates" => self.predicates = Predicate::list(input, errors),
            "selector" => self.selector = Selector::parse(input, errors),
            "cluster" => self.cluster = Some(entry.span),
            "namespaced" => self.namespaced = Some(entry.span),
            "metadata_only" => return Err(errors::metadata_of_primary(entry.span)),
            "config" => self.config = Config::parse(input, errors),
            "backoff" => self.backoff = Backoff::parse(input, errors),
            "cleanup" => self.cleanup = Some((entry.span, value::path(input, entry)?)),
            "status" => parse(input, STATUS_KEYS, errors, &mut |flag, _, _| {
                self.conditions = Some(flag.span);
                Ok(())
            }),
            "error" => self.error = Some(ErrorEnum::parse(input, errors)?),
            "rbac" => self.rules.extend(Rule::list(input, errors)),
            "context" => self.context = Some(value::ty(input, entry)?),
            "crate" => self.krate = Some(value::path(input, entry)?),
            _ => unreachable!("every key of the table is handled"),
        }
        Ok(())
    }
}
