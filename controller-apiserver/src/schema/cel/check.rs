//! Checking an expression against the types of its variables.

use super::ast::{Access, Binary, Expr, Fold, FoldKind, Unary};
use super::library;
use super::types::Type;
use kube_cel::cel::Value;

/// The variables in sight, innermost last.
pub(super) type Scope<'s> = Vec<(String, Type<'s>)>;

type Checked<'s> = Result<Type<'s>, String>;

/// Names of types, which are values too.
pub(super) const TYPE_NAMES: [&str; 9] = [
    "int",
    "uint",
    "double",
    "bool",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
];

/// The type of an expression, or the first reason why it can never be evaluated.
pub(super) fn check<'s>(expr: &Expr, scope: &mut Scope<'s>) -> Checked<'s> {
    match expr {
        Expr::Literal(value) => Ok(literal(value)),
        Expr::Name(name) => variable(name, scope),
        Expr::Select(target, field, access) => {
            let target = check(target, scope)?;
            select(&target, field, *access)
        }
        Expr::Has(target, field) => {
            let target = check(target, scope)?;
            select(&target, field, Access::Plain).map(|_| Type::Bool)
        }
        Expr::Index(target, index, access) => {
            let target = check(target, scope)?;
            let index = check(index, scope)?;
            self::index(&target, &index, *access)
        }
        Expr::Call(name, args) => {
            let args = all(args, scope)?;
            library::call(name, None, &args)
        }
        Expr::Method(target, name, args) => {
            let target = check(target, scope)?;
            let args = all(args, scope)?;
            library::call(name, Some(&target), &args)
        }
        Expr::List(items) => {
            let of = elements(items.iter().map(|(item, access)| (item, *access)), scope)?;
            Ok(Type::List(Box::new(of)))
        }
        Expr::Map(entries) => {
            for (key, ..) in entries {
                check(key, scope)?;
            }
            let of = elements(entries.iter().map(|(_, value, access)| (value, *access)), scope)?;
            Ok(Type::Map(Box::new(of)))
        }
        Expr::Unary(operator, operand) => unary(*operator, &check(operand, scope)?),
        Expr::Chain(first, rest) => {
            let mut left = check(first, scope)?;
            for (operator, right) in rest {
                left = binary(*operator, &left, &check(right, scope)?)?;
            }
            Ok(left)
        }
        Expr::And(parts) => logical("_&&_", parts, scope),
        Expr::Or(parts) => logical("_||_", parts, scope),
        Expr::If(condition, then, otherwise) => {
            let condition = check(condition, scope)?;
            let (then, otherwise) = (check(then, scope)?, check(otherwise, scope)?);
            if !condition.meets(&Type::Bool) || !then.meets(&otherwise) {
                return Err(overload("_?_:_", &[&condition, &then, &otherwise]));
            }
            Ok(then.join(&otherwise))
        }
        Expr::Fold(fold) => folded(fold, scope),
        Expr::Bind(name, value, body) => {
            let value = check(value, scope)?;
            with(scope, [(name, value)], |scope| check(body, scope))
        }
        Expr::OptMap {
            target,
            name,
            body,
            flat,
        } => {
            let inner = match check(target, scope)? {
                Type::Optional(inner) => *inner,
                Type::Dyn => Type::Dyn,
                other => return Err(overload("optMap", &[&other])),
            };
            let body = with(scope, [(name, inner)], |scope| check(body, scope))?;
            Ok(if *flat {
                body
            } else {
                Type::Optional(Box::new(body))
            })
        }
    }
}

/// The type that all elements have.
fn elements<'e, 's>(items: impl Iterator<Item = (&'e Expr, Access)>, scope: &mut Scope<'s>) -> Checked<'s> {
    let mut all: Option<Type<'s>> = None;
    for (item, access) in items {
        let of = opened(check(item, scope)?, access);
        all = Some(match all {
            Some(all) => all.join(&of),
            None => of,
        });
    }
    Ok(all.unwrap_or(Type::Dyn))
}

fn with<'n, 's, T, const N: usize>(
    scope: &mut Scope<'s>,
    names: [(&'n String, Type<'s>); N],
    inner: impl FnOnce(&mut Scope<'s>) -> T,
) -> T {
    let before = scope.len();
    scope.extend(names.map(|(name, of)| (name.clone(), of)));
    let result = inner(scope);
    scope.truncate(before);
    result
}

fn all<'s>(exprs: &[Expr], scope: &mut Scope<'s>) -> Result<Vec<Type<'s>>, String> {
    exprs.iter().map(|expr| check(expr, scope)).collect()
}

fn literal<'s>(value: &Value) -> Type<'s> {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::UInt(_) => Type::Uint,
        Value::Float(_) => Type::Double,
        Value::String(_) => Type::Text,
        Value::Bytes(_) => Type::Bytes,
        _ => Type::Dyn,
    }
}

fn variable<'s>(name: &str, scope: &Scope<'s>) -> Checked<'s> {
    match scope.iter().rev().find(|(known, _)| known == name) {
        Some((_, of)) => Ok(of.clone()),
        None if TYPE_NAMES.contains(&name) => Ok(Type::Dyn),
        None => Err(format!("undeclared reference to '{name}' (in container '')")),
    }
}

/// The type inside of an optional entry.
fn opened(of: Type<'_>, access: Access) -> Type<'_> {
    match (of, access) {
        (Type::Optional(inner), Access::Optional) => *inner,
        (of, _) => of,
    }
}

fn select<'s>(target: &Type<'s>, field: &str, access: Access) -> Checked<'s> {
    let found = match target {
        Type::Dyn => Type::Dyn,
        Type::Map(value) => (**value).clone(),
        Type::Object(node, resource) => {
            Type::field(node, *resource, field).ok_or_else(|| format!("undefined field '{field}'"))?
        }
        Type::Optional(inner) => return Ok(Type::Optional(Box::new(select(inner, field, Access::Plain)?))),
        other => return Err(format!("type '{other}' does not support field selection")),
    };
    Ok(if access == Access::Optional {
        Type::Optional(Box::new(found))
    } else {
        found
    })
}

fn index<'s>(target: &Type<'s>, index: &Type<'s>, access: Access) -> Checked<'s> {
    let found = match target {
        Type::Dyn => Type::Dyn,
        Type::List(element) if index.is_number() || matches!(index, Type::Dyn) => (**element).clone(),
        Type::Map(value) => (**value).clone(),
        Type::Optional(inner) => {
            return Ok(Type::Optional(Box::new(self::index(
                inner,
                index,
                Access::Plain,
            )?)));
        }
        _ => return Err(overload("_[_]", &[target, index])),
    };
    Ok(if access == Access::Optional {
        Type::Optional(Box::new(found))
    } else {
        found
    })
}

fn overload(name: &str, args: &[&Type<'_>]) -> String {
    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
    format!(
        "found no matching overload for '{name}' applied to '({})'",
        args.join(", ")
    )
}

fn unary<'s>(operator: Unary, operand: &Type<'s>) -> Checked<'s> {
    match (operator, operand) {
        (Unary::Not, Type::Bool | Type::Dyn) => Ok(Type::Bool),
        (Unary::Negate, Type::Int | Type::Double | Type::Dyn) => Ok(operand.clone()),
        (Unary::Not, other) => Err(overload("!_", &[other])),
        (Unary::Negate, other) => Err(overload("-_", &[other])),
    }
}

fn logical<'s>(name: &str, parts: &[Expr], scope: &mut Scope<'s>) -> Checked<'s> {
    for part in parts {
        let of = check(part, scope)?;
        if !of.meets(&Type::Bool) {
            return Err(overload(name, &[&of]));
        }
    }
    Ok(Type::Bool)
}

fn binary<'s>(operator: Binary, left: &Type<'s>, right: &Type<'s>) -> Checked<'s> {
    use Type::{Bytes, Double, Duration, Dyn, Int, List, Map, Text, Timestamp, Uint};
    let (name, found) = match operator {
        Binary::Equal => ("_==_", left.meets(right).then_some(Type::Bool)),
        Binary::Different => ("_!=_", left.meets(right).then_some(Type::Bool)),
        Binary::Less => ("_<_", ordered(left, right)),
        Binary::AtMost => ("_<=_", ordered(left, right)),
        Binary::Greater => ("_>_", ordered(left, right)),
        Binary::AtLeast => ("_>=_", ordered(left, right)),
        Binary::In => (
            "@in",
            match right {
                Dyn => Some(Type::Bool),
                List(element) => left.meets(element).then_some(Type::Bool),
                Map(_) => left.meets(&Text).then_some(Type::Bool),
                _ => None,
            },
        ),
        Binary::Add => (
            "_+_",
            match (left, right) {
                (Dyn, other) | (other, Dyn) => Some(if matches!(other, List(_)) {
                    other.clone()
                } else {
                    Dyn
                }),
                (Int, Int)
                | (Uint, Uint)
                | (Double, Double)
                | (Text, Text)
                | (Bytes, Bytes)
                | (Duration, Duration) => Some(left.clone()),
                (Timestamp, Duration) | (Duration, Timestamp) => Some(Timestamp),
                (List(a), List(b)) => Some(List(Box::new((**a).clone().join(b)))),
                _ => None,
            },
        ),
        Binary::Subtract => (
            "_-_",
            match (left, right) {
                (Dyn, _) | (_, Dyn) => Some(Dyn),
                (Int, Int) | (Uint, Uint) | (Double, Double) | (Duration, Duration) => Some(left.clone()),
                (Timestamp, Timestamp) => Some(Duration),
                (Timestamp, Duration) => Some(Timestamp),
                _ => None,
            },
        ),
        Binary::Multiply => ("_*_", arithmetic(left, right)),
        Binary::Divide => ("_/_", arithmetic(left, right)),
        Binary::Modulo => ("_%_", arithmetic(left, right).filter(|of| !matches!(of, Double))),
    };
    found.ok_or_else(|| overload(name, &[left, right]))
}

fn ordered<'s>(left: &Type<'s>, right: &Type<'s>) -> Option<Type<'s>> {
    let sortable = |of: &Type<'_>| {
        of.is_number()
            || matches!(
                of,
                Type::Dyn | Type::Bool | Type::Text | Type::Bytes | Type::Timestamp | Type::Duration
            )
    };
    (sortable(left) && sortable(right) && left.meets(right)).then_some(Type::Bool)
}

fn arithmetic<'s>(left: &Type<'s>, right: &Type<'s>) -> Option<Type<'s>> {
    match (left, right) {
        (Type::Dyn, _) | (_, Type::Dyn) => Some(Type::Dyn),
        (Type::Int, Type::Int) | (Type::Uint, Type::Uint) | (Type::Double, Type::Double) => {
            Some(left.clone())
        }
        _ => None,
    }
}

fn folded<'s>(fold: &Fold, scope: &mut Scope<'s>) -> Checked<'s> {
    let range = check(&fold.range, scope)?;
    let (key, value) = match &range {
        Type::Dyn => (Type::Dyn, Type::Dyn),
        Type::List(element) => (Type::Int, (**element).clone()),
        Type::Map(value) => (Type::Text, (**value).clone()),
        other => {
            return Err(format!(
                "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
            ));
        }
    };
    let before = scope.len();
    match fold.names.as_slice() {
        [one] => {
            let of = if matches!(range, Type::Map(_)) {
                key
            } else {
                value.clone()
            };
            scope.push((one.clone(), of));
        }
        [first, second, ..] => {
            scope.push((first.clone(), key));
            scope.push((second.clone(), value.clone()));
        }
        [] => {}
    }
    let result = (|| {
        if let Some(filter) = &fold.filter {
            condition(filter, scope)?;
        }
        Ok(match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => {
                condition(&fold.body, scope)?;
                Type::Bool
            }
            FoldKind::Filter => {
                condition(&fold.body, scope)?;
                let element = if matches!(range, Type::Map(_)) {
                    Type::Text
                } else {
                    value
                };
                Type::List(Box::new(element))
            }
            FoldKind::SortBy => {
                check(&fold.body, scope)?;
                range.clone()
            }
            FoldKind::Map => Type::List(Box::new(check(&fold.body, scope)?)),
            FoldKind::TransformMap => Type::Map(Box::new(check(&fold.body, scope)?)),
            FoldKind::TransformMapEntry => check(&fold.body, scope)?,
        })
    })();
    scope.truncate(before);
    result
}

fn condition(expr: &Expr, scope: &mut Scope<'_>) -> Result<(), String> {
    match check(expr, scope)? {
        Type::Bool | Type::Dyn => Ok(()),
        other => Err(overload("_&&_", &[&Type::Bool, &other])),
    }
}
