//! Macros over a range: `all`, `map`, `sortBy` and the others.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Map;

use super::access::{as_key, from_key};
use super::ast::{Fold, FoldKind};
use super::eval::{Evaluated, Failure, Machine};
use super::operators;

impl Machine<'_> {
    /// The value of a macro over a range.
    pub(super) fn fold(&mut self, fold: &Fold) -> Evaluated {
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
                (FoldKind::Filter | FoldKind::TransformMapEntry, _) => return Err(Failure::no_overload()),
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
            entries.sort_by_key(|(key, _)| *key);
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
