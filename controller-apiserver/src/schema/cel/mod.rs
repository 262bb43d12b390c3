//! Rules in the Common Expression Language: `x-kubernetes-validations`.
//!
//! Source: KEP-2876; KEP-4008 (what did not change may stay). The language is parsed, checked and
//! evaluated here, because rules come from anyone and must not take unbounded time, memory or
//! stack; the functions beyond the basic ones are those of `kube-cel`.
//!
//! Not as on the server: types are checked where the schema tells them, and unknown otherwise; the
//! cost of a rule is not estimated when the CRD is written, only bounded when it runs; elements
//! of `set` and `map` lists are compared and joined in order.

mod access;
mod ast;
mod bind;
mod check;
mod escape;
mod eval;
mod field_path;
mod fold;
mod lexer;
mod library;
mod macros;
mod native;
mod operators;
mod parser;
mod run;
#[cfg(test)]
mod tests;
mod types;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::json::{flag, text};
use super::node::Node;
use ast::Expr;
use types::Type;

pub(crate) use field_path::{Brackets, field_path};
pub(crate) use run::Run;

/// A rule of a schema.
#[derive(Clone, Debug)]
pub struct Rule {
    source: String,
    message: String,
    reason: String,
    /// Below the field of the schema, as the server writes it.
    field_path: String,
    optional_old_self: bool,
    /// A rule that cannot be parsed fails for every value: it is never passed over.
    program: Result<Arc<Program>, String>,
    message_program: Option<Arc<Program>>,
}

/// A parsed expression.
#[derive(Debug)]
struct Program {
    expr: Expr,
    uses_old_self: bool,
}

impl Program {
    fn parse(source: &str) -> Result<Self, String> {
        let expr = parser::parse(source)?;
        let uses_old_self = mentions(&expr, OLD_SELF);
        Ok(Self { expr, uses_old_self })
    }
}

const SELF: &str = "self";
const OLD_SELF: &str = "oldSelf";

impl Rule {
    /// Reads a rule of the level that `node` is.
    pub(crate) fn read(map: &Map<String, Value>, node: &Node) -> Self {
        let source = text(map, "rule").trim().to_owned();
        let field = text(map, "fieldPath");
        let message_expression = text(map, "messageExpression");
        Self {
            program: Program::parse(&source).map(Arc::new),
            source,
            message: text(map, "message").trim().to_owned(),
            reason: text(map, "reason").to_owned(),
            field_path: field_path(field, node, Brackets::Allowed)
                .map(|path| path.written)
                .unwrap_or_default(),
            optional_old_self: flag(map, "optionalOldSelf"),
            message_program: Program::parse(message_expression).ok().map(Arc::new),
        }
    }
}

/// What an expression must give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A rule.
    Bool,
    /// A message.
    Text,
}

/// The outcome of checking an expression.
#[derive(Debug)]
pub(crate) struct Check {
    /// Why it cannot be used.
    pub(crate) error: Option<String>,
    /// It compares with the value before.
    pub(crate) uses_old_self: bool,
}

/// Checks an expression over values of a schema.
pub(crate) fn check(
    source: &str,
    wanted: Wanted,
    node: &Node,
    resource: bool,
    optional_old_self: bool,
) -> Check {
    let program = match Program::parse(source.trim()) {
        Ok(program) => program,
        Err(error) => {
            return Check {
                error: Some(format!("compilation failed: ERROR: {error}")),
                uses_old_self: false,
            };
        }
    };
    let error = checked(&program, wanted, node, resource, optional_old_self).err();
    Check {
        error,
        uses_old_self: program.uses_old_self,
    }
}

fn checked(
    program: &Program,
    wanted: Wanted,
    node: &Node,
    resource: bool,
    optional: bool,
) -> Result<(), String> {
    let Some(of) = Type::of(node, resource) else {
        return Err(format!(
            "rule declared on schema that does not support validation rules type: '{}' \
             x-kubernetes-preserve-unknown-fields: '{}'",
            node.type_name, node.extensions.preserve_unknown_fields
        ));
    };
    let old = if optional {
        Type::Optional(Box::new(of.clone()))
    } else {
        of.clone()
    };
    let mut scope = vec![(SELF.to_owned(), of), (OLD_SELF.to_owned(), old)];
    let found = check::check(&program.expr, &mut scope)
        .map_err(|error| format!("compilation failed: ERROR: {error}"))?;
    match (wanted, found) {
        (_, Type::Dyn) | (Wanted::Bool, Type::Bool) | (Wanted::Text, Type::Text) => Ok(()),
        (Wanted::Bool, _) => Err("cel expression must evaluate to a bool".to_owned()),
        (Wanted::Text, _) => Err("messageExpression must evaluate to a string".to_owned()),
    }
}

/// True if the expression uses a variable that no macro of its own declares.
fn mentions(expr: &Expr, name: &str) -> bool {
    let within = |expr: &Expr| mentions(expr, name);
    match expr {
        Expr::Literal(_) => false,
        Expr::Name(found) => found == name,
        Expr::Select(target, ..) | Expr::Has(target, _) | Expr::Unary(_, target) => within(target),
        Expr::Index(target, index, _) => within(target) || within(index),
        Expr::Call(_, args) | Expr::And(args) | Expr::Or(args) => args.iter().any(within),
        Expr::Method(target, _, args) => within(target) || args.iter().any(within),
        Expr::List(items) => items.iter().any(|(item, _)| within(item)),
        Expr::Map(entries) => entries.iter().any(|(key, value, _)| within(key) || within(value)),
        Expr::Chain(first, rest) => within(first) || rest.iter().any(|(_, operand)| within(operand)),
        Expr::If(a, b, c) => within(a) || within(b) || within(c),
        Expr::Fold(fold) => {
            let hidden = fold.names.iter().any(|hidden| hidden == name);
            within(&fold.range)
                || (!hidden && (within(&fold.body) || fold.filter.as_ref().is_some_and(within)))
        }
        Expr::Bind(hidden, value, body) => within(value) || (hidden != name && within(body)),
        Expr::OptMap {
            target,
            name: hidden,
            body,
            ..
        } => within(target) || (hidden != name && within(body)),
    }
}
