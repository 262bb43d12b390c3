//! The columns of custom resources: `additionalPrinterColumns`, each a `JSONPath`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Column, age, jsonpath::Path};

/// The columns that a version of a custom resource asks for.
#[derive(Clone, Debug)]
pub(super) struct CustomColumns(Vec<(Column, Path)>);

impl CustomColumns {
    /// Where no columns are given there is the age. From the first path that cannot be read on there
    /// are none.
    pub(super) fn new(columns: &[Value]) -> Self {
        let age = [json!({
            "name": "Age",
            "type": "date",
            "jsonPath": ".metadata.creationTimestamp",
            "description": super::AGE_DESCRIPTION,
        })];
        let columns = if columns.is_empty() { &age } else { columns };
        let column = |column: &Value| {
            let text = |key: &str| column[key].as_str().unwrap_or_default().to_owned();
            let path = text("jsonPath");
            let description = match text("description") {
                empty if empty.is_empty() => {
                    format!("Custom resource definition column (in JSONPath format): {path}")
                }
                given => given,
            };
            let shown = Column {
                name: text("name").into(),
                kind: text("type").into(),
                format: text("format").into(),
                priority: column["priority"].as_i64().unwrap_or_default(),
                description: description.into(),
            };
            Some((shown, Path::parse(&path).ok()?))
        };
        Self(columns.iter().map_while(column).collect())
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.0.iter().map(|(column, _)| column)
    }

    pub(super) fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let cell = |(column, path): &(Column, Path)| {
            let found = path.find(object).unwrap_or_default();
            found
                .first()
                .map_or(Value::Null, |value| shown(&column.kind, value, now))
        };
        self.0.iter().map(cell).collect()
    }
}

/// A value in a column of a type; `null` where it is of another.
fn shown(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => {
            value.clone()
        }
        ("string", Value::Null) => json!("<no value>"),
        ("string", Value::Array(_) | Value::Object(_)) => json!(go_json(value)),
        ("string", scalar) => json!(scalar.to_string()),
        ("integer", Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => json!(integer),
            #[expect(clippy::cast_possible_truncation, reason = "as servers cut it")]
            (None, Some(float)) => json!(float as i64),
            _ => Value::Null,
        },
        ("date", Value::String(_)) => age::since(value, now),
        _ => Value::Null,
    }
}

/// JSON as Go writes it, in which some characters of HTML are escaped.
fn go_json(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: &str, path: &str) -> Value {
        json!({"name": path, "type": kind, "jsonPath": path})
    }

    #[test]
    fn cells_are_of_the_type_of_their_column_or_null() {
        let object = json!({"spec": {"i": 3, "f": 1.5, "s": "x", "b": true, "l": [1, "<"], "o": {"a": 1}, "n": null,
            "t": "2026-01-01T00:00:00Z", "bad": "soon"}});
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        for (kind, path, cell) in [
            ("integer", ".spec.i", json!(3)),
            ("integer", ".spec.f", json!(1)),
            ("integer", ".spec.s", Value::Null),
            ("number", ".spec.f", json!(1.5)),
            ("boolean", ".spec.b", json!(true)),
            ("boolean", ".spec.s", Value::Null),
            ("string", ".spec.s", json!("x")),
            ("string", ".spec.i", json!("3")),
            ("string", ".spec.b", json!("true")),
            ("string", ".spec.l", json!("[1,\"\\u003c\"]")),
            ("string", ".spec.o", json!("{\"a\":1}")),
            ("string", ".spec.l[*]", json!("1")),
            ("string", ".spec.none", Value::Null),
            ("string", ".spec.l[9]", Value::Null),
            ("date", ".spec.t", json!("60s")),
            ("date", ".spec.bad", json!("<invalid>")),
            ("date", ".spec.none", Value::Null),
        ] {
            let columns = CustomColumns::new(&[column(kind, path)]);
            assert_eq!(columns.cells(&object, now), [cell], "{kind} {path}");
        }
    }

    #[test]
    fn columns_end_where_a_path_cannot_be_read() {
        let columns = [
            column("string", ".a"),
            column("string", ".b["),
            column("string", ".c"),
        ];
        assert_eq!(CustomColumns::new(&columns).columns().count(), 1);
        assert_eq!(CustomColumns::new(&[]).columns().next().unwrap().name, "Age");
    }
}
