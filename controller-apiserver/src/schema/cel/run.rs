//! Running all rules of a schema over an object.

use serde_json::{Map, Value as Json};

use super::access::{none, some};
use super::bind::bind;
use super::eval::{Budget, Failure, Machine};
use super::{OLD_SELF, Program, Rule, SELF};
use crate::schema::node::{ListType, Node};
use crate::schema::path::Path;
use crate::schema::unchanged::Unchanged;
use crate::status::Cause;
use kube_cel::cel::Value;

/// What one rule may cost, in steps.
const PER_RULE: u64 = 2_000_000;
/// What all rules of an object may cost together.
const PER_OBJECT: u64 = 20_000_000;
/// The longest message an expression may give.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// The rules of a schema, at work on one object.
#[derive(Debug)]
pub(crate) struct Run {
    /// Rules that fail.
    pub(crate) causes: Vec<Cause>,
    /// Rules that fail for what did not change.
    pub(crate) warnings: Vec<Cause>,
    budget: u64,
}

/// One level of a schema over one value.
struct Site<'a> {
    node: &'a Node,
    new: &'a Json,
    /// The value it replaces, if it can be told which.
    old: Option<&'a Json>,
    unchanged: Unchanged<'a>,
    resource: bool,
}

impl Run {
    /// Runs all rules over a resource.
    pub(crate) fn over(node: &Node, new: &Json, old: Option<&Json>) -> Self {
        Self::at(node, new, old, true, &Path::Root)
    }

    /// Runs all rules over a part of a resource.
    pub(crate) fn at(node: &Node, new: &Json, old: Option<&Json>, resource: bool, path: &Path<'_>) -> Self {
        let mut run = Self {
            causes: Vec::new(),
            warnings: Vec::new(),
            budget: PER_OBJECT,
        };
        // Going on after the budget is used up would find nothing: the causes say so.
        let _ = run.visit(
            &Site {
                node,
                new,
                old,
                unchanged: Unchanged::root(new, old),
                resource,
            },
            path,
        );
        run
    }

    fn visit(&mut self, site: &Site<'_>, path: &Path<'_>) -> Result<(), Failure> {
        if site.new.is_null() || !site.node.has_rules {
            return Ok(());
        }
        self.rules(site, path)?;
        match site.new {
            Json::Object(map) => self.members(map, site, path),
            Json::Array(items) => self.elements(items, site, path),
            _ => Ok(()),
        }
    }

    fn members(&mut self, map: &Map<String, Json>, site: &Site<'_>, path: &Path<'_>) -> Result<(), Failure> {
        for (key, new) in map {
            let (node, path) = match (site.node.properties.get(key), site.node.values()) {
                (Some(node), _) => (node, path.child(key)),
                (None, Some(node)) => (node, path.key(key)),
                (None, None) => continue,
            };
            let old = site.old.and_then(|old| old.get(key)).filter(|old| !old.is_null());
            let unchanged = site.unchanged.member(key, new);
            let resource = node.extensions.embedded_resource;
            self.visit(
                &Site {
                    node,
                    new,
                    old,
                    unchanged,
                    resource,
                },
                &path,
            )?;
        }
        Ok(())
    }

    fn elements(&mut self, items: &[Json], site: &Site<'_>, path: &Path<'_>) -> Result<(), Failure> {
        let Some(node) = site.node.items.as_deref() else {
            return Ok(());
        };
        let keyed = site.node.extensions.list_type == ListType::Map;
        for (index, new) in items.iter().enumerate() {
            let before = site.old.filter(|_| keyed).and_then(Json::as_array);
            let old = before.and_then(|old| site.node.same_element(new, old));
            let unchanged = site.unchanged.element(new, site.node);
            let resource = node.extensions.embedded_resource;
            self.visit(
                &Site {
                    node,
                    new,
                    old,
                    unchanged,
                    resource,
                },
                &path.index(index),
            )?;
        }
        Ok(())
    }

    fn rules(&mut self, site: &Site<'_>, path: &Path<'_>) -> Result<(), Failure> {
        if site.node.rules.is_empty() {
            return Ok(());
        }
        let new = bind(site.new, site.node, site.resource);
        let old = site.old.map(|old| bind(old, site.node, site.resource));
        for rule in &site.node.rules {
            self.rule(rule, site, &new, old.as_ref(), path)?;
        }
        Ok(())
    }

    fn rule(
        &mut self,
        rule: &Rule,
        site: &Site<'_>,
        new: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
    ) -> Result<(), Failure> {
        let program = match &rule.program {
            Ok(program) => program,
            Err(error) => {
                self.causes
                    .push(site.failed(path, &format!("rule compile error: {error}")));
                return Ok(());
            }
        };
        if program.uses_old_self && old.is_none() && !rule.optional_old_self {
            return Ok(());
        }
        let mut variables = vec![(SELF.to_owned(), new.clone())];
        match (old, rule.optional_old_self) {
            (old, true) => variables.push((OLD_SELF.to_owned(), old.cloned().map_or_else(none, some))),
            (Some(old), false) => variables.push((OLD_SELF.to_owned(), old.clone())),
            (None, false) => {}
        }
        match self.evaluate(program, &variables) {
            Ok(Value::Bool(true)) => Ok(()),
            Ok(_) => {
                let path = Path::Below(path, &rule.field_path);
                let detail = self.message(rule, &variables)?;
                let cause = site.refused(&path, rule, &detail);
                if !program.uses_old_self && site.unchanged.holds() {
                    self.warnings.push(cause);
                } else {
                    self.causes.push(cause);
                }
                Ok(())
            }
            Err(Failure::Error(error)) => {
                let detail = if error.starts_with("no such overload") {
                    format!(
                        "'{error}': call arguments did not match a supported operator, function or macro signature \
                         for rule: {}",
                        rule.name()
                    )
                } else {
                    format!("{error} evaluating rule: {}", rule.name())
                };
                self.causes.push(site.failed(path, &detail));
                Ok(())
            }
            Err(Failure::Budget) => {
                let detail = if self.budget == 0 {
                    "validation failed due to running out of cost budget, no further validation rules will be run"
                        .to_owned()
                } else {
                    format!(
                        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run \
                         due to call cost exceeds limit for rule: {}",
                        rule.name()
                    )
                };
                self.causes.push(site.failed(path, &detail));
                Err(Failure::Budget)
            }
        }
    }

    fn evaluate(&mut self, program: &Program, variables: &[(String, Value)]) -> Result<Value, Failure> {
        let allowed = PER_RULE.min(self.budget);
        let mut budget = Budget(allowed);
        let mut machine = Machine {
            variables: variables.to_vec(),
            budget: &mut budget,
        };
        let result = machine.eval(&program.expr);
        self.budget -= allowed - budget.0;
        result
    }

    /// The message of a rule that failed: its expression's, if that gives one, else its own.
    fn message(&mut self, rule: &Rule, variables: &[(String, Value)]) -> Result<String, Failure> {
        if let Some(program) = &rule.message_program {
            match self.evaluate(program, variables) {
                Ok(Value::String(text)) => {
                    let text = text.trim();
                    if !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n') {
                        return Ok(text.to_owned());
                    }
                }
                Err(Failure::Budget) if self.budget == 0 => return Err(Failure::Budget),
                _ => {}
            }
        }
        Ok(if rule.message.is_empty() {
            format!("failed rule: {}", rule.source)
        } else {
            rule.message.clone()
        })
    }
}

impl Rule {
    /// What a message calls the rule.
    fn name(&self) -> &str {
        if self.message.is_empty() {
            &self.source
        } else {
            &self.message
        }
    }
}

impl Site<'_> {
    /// A rule that could not be evaluated: the value shown is the type.
    fn failed(&self, path: &Path<'_>, detail: &str) -> Cause {
        let shown = Json::String(self.node.type_name.clone());
        Cause::invalid(path.to_string(), &shown, detail)
    }

    /// A rule that is not met. Objects and lists are not shown.
    fn refused(&self, path: &Path<'_>, rule: &Rule, detail: &str) -> Cause {
        let field = path.to_string();
        let whole = matches!(self.node.type_name.as_str(), "object" | "array");
        match rule.reason.as_str() {
            "FieldValueForbidden" => Cause::forbidden(field, detail),
            "FieldValueRequired" => Cause::required(field, detail),
            "FieldValueDuplicate" if whole => Cause::new("FieldValueDuplicate", field, "Duplicate value"),
            "FieldValueDuplicate" => Cause::new(
                "FieldValueDuplicate",
                field,
                format!("Duplicate value: {}", self.new),
            ),
            _ if whole => Cause::new("FieldValueInvalid", field, format!("Invalid value: {detail}")),
            _ => Cause::invalid(field, self.new, detail),
        }
    }
}
