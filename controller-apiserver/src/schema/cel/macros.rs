//! Macros: calls whose arguments are not values but names and expressions over them.
//!
//! Source: CEL language definition, "Macros"; the extensions the server enables: two-variable
//! comprehensions, bindings, optionals, `sortBy`.

use super::ast::{Access, Expr, Fold, FoldKind};

/// A call without a target.
pub(super) fn function(name: String, mut args: Vec<Expr>) -> Result<Expr, String> {
    if name != "has" {
        return Ok(Expr::Call(name, args));
    }
    match (args.pop(), args.is_empty()) {
        (Some(Expr::Select(target, field, Access::Plain)), true) => Ok(Expr::Has(target, field)),
        _ => Err("invalid argument to has() macro".to_owned()),
    }
}

/// A call with a target.
pub(super) fn method(target: Expr, name: String, args: Vec<Expr>) -> Result<Expr, String> {
    if name == "bind" && args.len() == 3 && matches!(&target, Expr::Name(scope) if scope == "cel") {
        let [variable, value, body]: [Expr; 3] =
            args.try_into().map_err(|_| "cel.bind() takes three arguments")?;
        return Ok(Expr::Bind(
            variable_name(variable)?,
            Box::new(value),
            Box::new(body),
        ));
    }
    if let Some((kind, names, filtered)) = fold(&name, args.len()) {
        return folded(kind, names, filtered, target, args);
    }
    if matches!(name.as_str(), "optMap" | "optFlatMap") && args.len() == 2 {
        let [variable, body]: [Expr; 2] = args.try_into().map_err(|_| "optMap() takes two arguments")?;
        let name_ = variable_name(variable)?;
        return Ok(Expr::OptMap {
            target: Box::new(target),
            name: name_,
            body: Box::new(body),
            flat: name == "optFlatMap",
        });
    }
    Ok(match qualified(&target, &name) {
        Some(name) => Expr::Call(name, args),
        None => Expr::Method(Box::new(target), name, args),
    })
}

/// The macro with this name and number of arguments: what it makes, how many variables it has,
/// and whether it has a condition.
fn fold(name: &str, args: usize) -> Option<(FoldKind, usize, bool)> {
    Some(match (name, args) {
        ("all", 2) => (FoldKind::All, 1, false),
        ("all", 3) => (FoldKind::All, 2, false),
        ("exists", 2) => (FoldKind::Exists, 1, false),
        ("exists", 3) => (FoldKind::Exists, 2, false),
        ("exists_one" | "existsOne", 2) => (FoldKind::ExistsOne, 1, false),
        ("exists_one" | "existsOne", 3) => (FoldKind::ExistsOne, 2, false),
        ("filter", 2) => (FoldKind::Filter, 1, false),
        ("map", 2) => (FoldKind::Map, 1, false),
        ("map", 3) => (FoldKind::Map, 1, true),
        ("transformList", 3) => (FoldKind::Map, 2, false),
        ("transformList", 4) => (FoldKind::Map, 2, true),
        ("transformMap", 3) => (FoldKind::TransformMap, 2, false),
        ("transformMap", 4) => (FoldKind::TransformMap, 2, true),
        ("transformMapEntry", 3) => (FoldKind::TransformMapEntry, 2, false),
        ("transformMapEntry", 4) => (FoldKind::TransformMapEntry, 2, true),
        ("sortBy", 2) => (FoldKind::SortBy, 1, false),
        _ => return None,
    })
}

fn folded(
    kind: FoldKind,
    names: usize,
    filtered: bool,
    range: Expr,
    args: Vec<Expr>,
) -> Result<Expr, String> {
    let mut args = args.into_iter();
    let names: Vec<String> = args
        .by_ref()
        .take(names)
        .map(variable_name)
        .collect::<Result<_, _>>()?;
    let filter = if filtered { args.next() } else { None };
    let body = args.next().ok_or("a macro needs an expression")?;
    Ok(Expr::Fold(Box::new(Fold {
        kind,
        range,
        names,
        filter,
        body,
    })))
}

fn variable_name(expr: Expr) -> Result<String, String> {
    match expr {
        Expr::Name(name) => Ok(name),
        _ => Err("argument must be a simple name".to_owned()),
    }
}

/// The whole name of a function in a scope, such as `lists.range`.
fn qualified(target: &Expr, name: &str) -> Option<String> {
    const SCOPES: [&str; 9] = [
        "lists",
        "sets",
        "math",
        "strings",
        "base64",
        "format",
        "ip",
        "optional",
        "jsonpatch",
    ];
    match target {
        Expr::Name(scope) if SCOPES.contains(&scope.as_str()) => Some(format!("{scope}.{name}")),
        _ => None,
    }
}
