//! Paths of fields in rules and selectable fields: `.spec.names['a.b']`.

use crate::schema::node::{Additional, Node};

/// Whether `['name']` may stand in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brackets {
    /// It may.
    Allowed,
    /// It may not.
    Forbidden,
}

/// A path that leads to a field of a schema.
#[derive(Debug)]
pub(crate) struct FieldPath<'s> {
    /// As the server writes it in a cause, below the level of the schema: `.spec.names[a.b]`.
    pub(crate) written: String,
    /// The first name.
    pub(crate) first: String,
    /// What the field may be; none for any value of a map without a schema.
    pub(crate) schema: Option<&'s Node>,
}

/// Follows a path.
///
/// # Errors
///
/// What is wrong with the path.
pub(crate) fn field_path<'s>(
    path: &str,
    schema: &'s Node,
    brackets: Brackets,
) -> Result<FieldPath<'s>, String> {
    let mut found = FieldPath {
        written: String::new(),
        first: String::new(),
        schema: Some(schema),
    };
    let mut rest = path;
    while !rest.is_empty() {
        let (name, after) = if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[', ']']).unwrap_or(after.len());
            (after[..end].to_owned(), &after[end..])
        } else if let Some(after) = rest.strip_prefix('[') {
            if brackets == Brackets::Forbidden {
                return Err("array notation is not allowed".to_owned());
            }
            quoted(after)?
        } else {
            return Err(format!("expected [ or . but got: {rest}"));
        };
        if name.is_empty() {
            return Err("unexpected end of JSON path".to_owned());
        }
        found.step(&name)?;
        rest = after;
    }
    Ok(found)
}

/// A name in quotes up to the bracket, and what follows it.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let body = text
        .strip_prefix('\'')
        .ok_or_else(|| format!("expected single quoted string but got {text}"))?;
    let mut name = String::new();
    let mut chars = body.chars();
    loop {
        match chars.next().ok_or("unexpected end of JSON path")? {
            '\'' => break,
            '\\' => match chars.next() {
                Some(c @ ('\'' | '\\')) => name.push(c),
                _ => return Err("invalid string literal".to_owned()),
            },
            c => name.push(c),
        }
    }
    let after = chars.as_str().strip_prefix(']').ok_or("expected ]")?;
    Ok((name, after))
}

impl FieldPath<'_> {
    fn step(&mut self, name: &str) -> Result<(), String> {
        let invalid = || "does not refer to a valid field".to_owned();
        let schema = self.schema.ok_or_else(invalid)?;
        if self.first.is_empty() {
            name.clone_into(&mut self.first);
        }
        if schema.properties.is_empty() {
            self.schema = match schema.additional.as_ref().ok_or_else(invalid)? {
                Additional::Schema(node) => Some(node),
                Additional::Allowed(_) => None,
            };
            self.written.extend(["[", name, "]"]);
        } else {
            self.schema = Some(schema.properties.get(name).ok_or_else(invalid)?);
            self.written.extend([".", name]);
        }
        Ok(())
    }
}
