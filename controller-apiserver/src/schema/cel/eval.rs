//! Evaluating an expression, within a budget.
//!
//! Every step costs at least one, and whatever walks or copies data costs its size: an evaluation
//! ends after a bounded time for any rule and any object. Recursion is bounded by the parser.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map, OptionalValue};

use super::ast::{Access, Expr, Fold, FoldKind, Unary};
use super::check::TYPE_NAMES;
use super::{native, operators};

/// Why an evaluation gave no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The rule does not work for these values.
    Error(String),
    /// The evaluation would take too long.
    Budget,
}

impl Failure {
    pub(super) fn no_overload() -> Self {
        Self::Error("no such overload".to_owned())
    }

    pub(super) fn no_key(key: &str) -> Self {
        Self::Error(format!("no such key: {key}"))
    }
}

pub(super) type Evaluated = Result<Value, Failure>;

/// Steps that may still be done.
#[derive(Debug)]
pub(super) struct Budget(pub(super) u64);

impl Budget {
    pub(super) fn spend(&mut self, cost: usize) -> Result<(), Failure> {
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        match self.0.checked_sub(cost) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => {
                self.0 = 0;
                Err(Failure::Budget)
            }
        }
    }

    /// Spends what it takes to walk a value.
    pub(super) fn spend_walk(&mut self, value: &Value) -> Result<(), Failure> {
        self.spend(1)?;
        match value {
            Value::List(items) => items.iter().try_for_each(|item| self.spend_walk(item)),
            Value::Map(map) => map.map.values().try_for_each(|item| self.spend_walk(item)),
            Value::String(text) => self.spend(text.len() / 10),
            Value::Bytes(bytes) => self.spend(bytes.len() / 10),
            _ => Ok(()),
        }
    }
}

/// The variables in sight, innermost last, and the budget.
#[derive(Debug)]
pub(super) struct Machine<'b> {
    pub(super) variables: Vec<(String, Value)>,
    pub(super) budget: &'b mut Budget,
}

impl Machine<'_> {
    /// The value of an expression.
    pub(super) fn eval(&mut self, expr: &Expr) -> Evaluated {
        self.budget.spend(1)?;
        match expr {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Name(name) => self.variable(name),
            Expr::Select(target, field, access) => {
                let target = self.eval(target)?;
                select(&target, field, *access)
            }
            Expr::Has(target, field) => {
                let target = self.eval(target)?;
                has(&target, field)
            }
            Expr::Index(target, index, access) => {
                let (target, index) = (self.eval(target)?, self.eval(index)?);
                self::index(&target, &index, *access)
            }
            Expr::Call(name, args) => {
                let args = self.all(args)?;
                native::call(name, None, args, self.budget)
            }
            Expr::Method(target, name, args) => {
                let target = self.eval(target)?;
                let args = self.all(args)?;
                native::call(name, Some(target), args, self.budget)
            }
            Expr::List(items) => self.list(items),
            Expr::Map(entries) => self.map(entries),
            Expr::Unary(operator, operand) => {
                let operand = self.eval(operand)?;
                unary(*operator, &operand)
            }
            Expr::Chain(first, rest) => {
                let mut left = self.eval(first)?;
                for (operator, right) in rest {
                    let right = self.eval(right)?;
                    left = operators::binary(*operator, left, right, self.budget)?;
                }
                Ok(left)
            }
            Expr::And(parts) => self.logical(parts, false),
            Expr::Or(parts) => self.logical(parts, true),
            Expr::If(condition, then, otherwise) => {
                let condition = self.condition(condition)?;
                self.eval(if condition { then } else { otherwise })
            }
            Expr::Fold(fold) => self.fold(fold),
            Expr::Bind(name, value, body) => {
                let value = self.eval(value)?;
                self.with([(name, value)], |machine| machine.eval(body))
            }
            Expr::OptMap {
                target,
                name,
                body,
                flat,
            } => {
                let target = self.eval(target)?;
                let Some(inner) = opened(&target).ok_or_else(Failure::no_overload)? else {
                    return Ok(none());
                };
                let result = self.with([(name, inner.clone())], |machine| machine.eval(body))?;
                Ok(if *flat { result } else { some(result) })
            }
        }
    }

    fn with<T, const N: usize>(
        &mut self,
        names: [(&String, Value); N],
        inner: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = self.variables.len();
        self.variables
            .extend(names.map(|(name, value)| (name.clone(), value)));
        let result = inner(self);
        self.variables.truncate(before);
        result
    }

    fn variable(&self, name: &str) -> Evaluated {
        if let Some((_, value)) = self.variables.iter().rev().find(|(known, _)| known == name) {
            return Ok(value.clone());
        }
        if TYPE_NAMES.contains(&name) {
            return Ok(Value::Function(Arc::new(name.to_owned()), None));
        }
        Err(Failure::Error(format!("no such attribute(s): {name}")))
    }

    fn all(&mut self, exprs: &[Expr]) -> Result<Vec<Value>, Failure> {
        exprs.iter().map(|expr| self.eval(expr)).collect()
    }

    fn condition(&mut self, expr: &Expr) -> Result<bool, Failure> {
        match self.eval(expr)? {
            Value::Bool(value) => Ok(value),
            _ => Err(Failure::no_overload()),
        }
    }

    fn list(&mut self, items: &[(Expr, Access)]) -> Evaluated {
        let mut list = Vec::with_capacity(items.len());
        for (item, access) in items {
            let value = self.eval(item)?;
            list.extend(entry(value, *access)?);
        }
        Ok(Value::List(Arc::new(list)))
    }

    fn map(&mut self, entries: &[(Expr, Expr, Access)]) -> Evaluated {
        let mut map = HashMap::with_capacity(entries.len());
        for (key, value, access) in entries {
            let (key, value) = (self.eval(key)?, self.eval(value)?);
            if let Some(value) = entry(value, *access)? {
                map.insert(as_key(&key).ok_or_else(Failure::no_overload)?, value);
            }
        }
        Ok(Value::Map(Map { map: Arc::new(map) }))
    }

    /// The first part that is `decisive` decides, whatever the others are, even errors.
    fn logical(&mut self, parts: &[Expr], decisive: bool) -> Evaluated {
        let mut error = None;
        for part in parts {
            match self.condition(part) {
                Ok(value) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(_) => {}
                Err(Failure::Budget) => return Err(Failure::Budget),
                Err(failure) => error = error.or(Some(failure)),
            }
        }
        error.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn fold(&mut self, fold: &Fold) -> Evaluated {
        let range = self.eval(&fold.range)?;
        let elements = elements(&range, fold.names.len())?;
        match fold.kind {
            FoldKind::All | FoldKind::Exists => self.quantified(fold, elements),
            FoldKind::ExistsOne => {
                let mut found = 0;
                for element in elements {
                    found +=
                        usize::from(self.element(fold, element, |machine| machine.condition(&fold.body))?);
                }
                Ok(Value::Bool(found == 1))
            }
            FoldKind::SortBy => self.sorted(fold, elements),
            _ => self.collected(fold, elements),
        }
    }

    /// `all` and `exists`: an error counts only if no element decides.
    fn quantified(&mut self, fold: &Fold, elements: Vec<Element>) -> Evaluated {
        let decisive = fold.kind == FoldKind::Exists;
        let mut error = None;
        for element in elements {
            match self.element(fold, element, |machine| machine.condition(&fold.body)) {
                Ok(value) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(_) => {}
                Err(Failure::Budget) => return Err(Failure::Budget),
                Err(failure) => error = error.or(Some(failure)),
            }
        }
        error.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn element<T>(
        &mut self,
        fold: &Fold,
        element: Element,
        inner: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.budget.spend(1)?;
        match fold.names.as_slice() {
            [first, second] => self.with([(first, element.key), (second, element.value)], inner),
            [one, ..] => self.with([(one, element.value)], inner),
            [] => inner(self),
        }
    }

    /// `filter`, `map` and the `transform…`.
    fn collected(&mut self, fold: &Fold, elements: Vec<Element>) -> Evaluated {
        let mut list = Vec::new();
        let mut map = HashMap::new();
        for element in elements {
            let kept = element.clone();
            let result = self.element(fold, element, |machine| {
                if let Some(filter) = &fold.filter
                    && !machine.condition(filter)?
                {
                    return Ok(None);
                }
                machine.eval(&fold.body).map(Some)
            })?;
            let Some(result) = result else { continue };
            match (fold.kind, result) {
                (FoldKind::Filter, Value::Bool(false)) => {}
                (FoldKind::Filter, Value::Bool(true)) => list.push(kept.value),
                (FoldKind::Filter, _) => return Err(Failure::no_overload()),
                (FoldKind::TransformMap, result) => {
                    map.insert(as_key(&kept.key).ok_or_else(Failure::no_overload)?, result);
                }
                (FoldKind::TransformMapEntry, Value::Map(entries)) => {
                    for (key, value) in entries.map.iter() {
                        if map.insert(key.clone(), value.clone()).is_some() {
                            return Err(Failure::Error(format!(
                                "insert failed: key {key:?} already exists"
                            )));
                        }
                    }
                }
                (FoldKind::TransformMapEntry, _) => return Err(Failure::no_overload()),
                (_, result) => list.push(result),
            }
        }
        Ok(match fold.kind {
            FoldKind::TransformMap | FoldKind::TransformMapEntry => Value::Map(Map { map: Arc::new(map) }),
            _ => Value::List(Arc::new(list)),
        })
    }

    fn sorted(&mut self, fold: &Fold, elements: Vec<Element>) -> Evaluated {
        let mut keyed = Vec::with_capacity(elements.len());
        for element in elements {
            let value = element.value.clone();
            let key = self.element(fold, element, |machine| machine.eval(&fold.body))?;
            if let Some((_, first)) = keyed.first() {
                operators::compare(&key, first)?;
            }
            self.budget.spend(8)?;
            keyed.push((value, key));
        }
        keyed.sort_by(|(_, a), (_, b)| operators::compare(a, b).unwrap_or(std::cmp::Ordering::Equal));
        Ok(Value::List(Arc::new(
            keyed.into_iter().map(|(value, _)| value).collect(),
        )))
    }
}

/// An element of a range: with one variable the value is the element, or the key of a map.
#[derive(Clone, Debug)]
struct Element {
    key: Value,
    value: Value,
}

fn elements(range: &Value, names: usize) -> Result<Vec<Element>, Failure> {
    match range {
        Value::List(items) => Ok(items
            .iter()
            .zip(0..)
            .map(|(value, index)| Element {
                key: Value::Int(index),
                value: value.clone(),
            })
            .collect()),
        Value::Map(map) => {
            let mut entries: Vec<_> = map.map.iter().collect();
            // Without an order the first failure would differ from run to run.
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Ok(entries
                .into_iter()
                .map(|(key, value)| {
                    let key = from_key(key);
                    let value = if names == 1 { key.clone() } else { value.clone() };
                    Element { key, value }
                })
                .collect())
        }
        _ => Err(Failure::no_overload()),
    }
}

fn entry(value: Value, access: Access) -> Result<Option<Value>, Failure> {
    match access {
        Access::Plain => Ok(Some(value)),
        Access::Optional => opened(&value)
            .map(Option::<&Value>::cloned)
            .ok_or_else(Failure::no_overload),
    }
}

fn unary(operator: Unary, operand: &Value) -> Evaluated {
    match (operator, operand) {
        (Unary::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
        (Unary::Negate, Value::Int(value)) => value
            .checked_neg()
            .map(Value::Int)
            .ok_or_else(|| Failure::Error("integer overflow".to_owned())),
        (Unary::Negate, Value::Float(value)) => Ok(Value::Float(-value)),
        _ => Err(Failure::no_overload()),
    }
}

/// The content of an optional: none if the value is not an optional.
pub(super) fn opened(value: &Value) -> Option<Option<&Value>> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref::<OptionalValue>().map(OptionalValue::value),
        _ => None,
    }
}

pub(super) fn some(value: Value) -> Value {
    Value::Opaque(Arc::new(OptionalValue::of(value)))
}

pub(super) fn none() -> Value {
    Value::Opaque(Arc::new(OptionalValue::none()))
}

fn select(target: &Value, field: &str, access: Access) -> Evaluated {
    if let Some(inner) = opened(target) {
        return Ok(inner
            .and_then(|inner| member(inner, field))
            .map_or_else(none, some));
    }
    match (member(target, field), access) {
        (Some(value), Access::Plain) => Ok(value),
        (Some(value), Access::Optional) => Ok(some(value)),
        (None, Access::Optional) => Ok(none()),
        (None, Access::Plain) if matches!(target, Value::Map(_)) => Err(Failure::no_key(field)),
        (None, Access::Plain) => Err(Failure::no_overload()),
    }
}

fn member(target: &Value, field: &str) -> Option<Value> {
    match target {
        Value::Map(map) => map.map.get(&Key::String(Arc::new(field.to_owned()))).cloned(),
        _ => None,
    }
}

fn has(target: &Value, field: &str) -> Evaluated {
    match opened(target).unwrap_or(Some(target)) {
        Some(inner @ Value::Map(_)) => Ok(Value::Bool(member(inner, field).is_some())),
        None => Ok(Value::Bool(false)),
        Some(_) => Err(Failure::no_overload()),
    }
}

fn index(target: &Value, index: &Value, access: Access) -> Evaluated {
    if let Some(inner) = opened(target) {
        return Ok(inner
            .and_then(|inner| at(inner, index).ok())
            .map_or_else(none, some));
    }
    match (at(target, index), access) {
        (found, Access::Plain) => found,
        (found, Access::Optional) => Ok(found.map_or_else(|_| none(), some)),
    }
}

fn at(target: &Value, index: &Value) -> Evaluated {
    match target {
        Value::List(items) => {
            let position = match index {
                Value::Int(index) => usize::try_from(*index).ok(),
                Value::UInt(index) => usize::try_from(*index).ok(),
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "whole, and checked by get"
                )]
                Value::Float(index) if index.fract() == 0.0 && *index >= 0.0 => Some(*index as usize),
                _ => return Err(Failure::no_overload()),
            };
            let found = position.and_then(|position| items.get(position)).cloned();
            found.ok_or_else(|| Failure::Error(format!("index out of bounds: {}", native::text_of(index))))
        }
        Value::Map(map) => {
            let key = as_key(index).ok_or_else(Failure::no_overload)?;
            let found = map.map.get(&key).cloned();
            found.ok_or_else(|| Failure::no_key(&native::text_of(index)))
        }
        _ => Err(Failure::no_overload()),
    }
}

/// The key of a map for a value.
pub(super) fn as_key(value: &Value) -> Option<Key> {
    Some(match value {
        Value::Int(value) => Key::Int(*value),
        Value::UInt(value) => i64::try_from(*value).map_or(Key::Uint(*value), Key::Int),
        Value::Bool(value) => Key::Bool(*value),
        Value::String(value) => Key::String(value.clone()),
        _ => return None,
    })
}

fn from_key(key: &Key) -> Value {
    match key {
        Key::Int(value) => Value::Int(*value),
        Key::Uint(value) => Value::UInt(*value),
        Key::Bool(value) => Value::Bool(*value),
        Key::String(value) => Value::String(value.clone()),
    }
}
