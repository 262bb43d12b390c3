//! Evaluating an expression, within a budget.
//!
//! Every step costs at least one, and whatever walks or copies data costs its size: an evaluation
//! ends after a bounded time for any rule and any object. Recursion is bounded by the parser.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Map;

use super::access::{as_key, has, index, none, optional, select, some};
use super::ast::{Access, Expr, Unary};
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
        let left = self.0.checked_sub(cost);
        self.0 = left.unwrap_or_default();
        left.map(drop).ok_or(Failure::Budget)
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
            Expr::Index(target, position, access) => {
                let (target, at) = (self.eval(target)?, self.eval(position)?);
                index(&target, &at, *access)
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
                let inner = optional(&target).ok_or_else(Failure::no_overload)?;
                let Some(inner) = inner.value() else {
                    return Ok(none());
                };
                let result = self.with([(name, inner.clone())], |machine| machine.eval(body))?;
                Ok(if *flat { result } else { some(result) })
            }
        }
    }

    pub(super) fn with<T, const N: usize>(
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

    pub(super) fn condition(&mut self, expr: &Expr) -> Result<bool, Failure> {
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
}

fn entry(value: Value, access: Access) -> Result<Option<Value>, Failure> {
    match access {
        Access::Plain => Ok(Some(value)),
        Access::Optional => {
            let inner = optional(&value).ok_or_else(Failure::no_overload)?;
            Ok(inner.value().cloned())
        }
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
