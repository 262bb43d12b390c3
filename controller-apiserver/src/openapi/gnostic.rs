//! The OpenAPI v2 document as protobuf, in the messages of gnostic's `openapiv2.proto`.
//!
//! Only the members that clients read: definitions, and of paths the parameters and extensions of
//! operations.

use serde_json::Value;

/// The bytes of a message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u32, message: &Message) {
        self.bytes(field, &message.0);
    }

    /// A text; an absent one is not written.
    fn text(&mut self, field: u32, text: Option<&Value>) {
        if let Some(text) = text.and_then(Value::as_str) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn flag(&mut self, field: u32, flag: Option<&Value>) {
        if flag == Some(&Value::Bool(true)) {
            self.varint(u64::from(field) << 3);
            self.varint(1);
        }
    }

    fn texts(&mut self, field: u32, texts: Option<&Value>) {
        for text in texts.and_then(Value::as_array).into_iter().flatten() {
            self.text(field, Some(text));
        }
    }

    /// `repeated NamedX { string name = 1; X value = 2; }`.
    fn named(&mut self, field: u32, map: Option<&Value>, encode: impl Fn(&Value) -> Message) {
        for (name, value) in map.and_then(Value::as_object).into_iter().flatten() {
            let mut named = Message::default();
            named.bytes(1, name.as_bytes());
            named.message(2, &encode(value));
            self.message(field, &named);
        }
    }

    /// Members that begin with `x-`, as YAML (of which JSON is a part).
    fn extensions(&mut self, field: u32, object: &Value) {
        for (name, value) in object.as_object().into_iter().flatten() {
            if name.starts_with("x-") {
                let mut any = Message::default();
                any.bytes(2, value.to_string().as_bytes());
                let mut named = Message::default();
                named.bytes(1, name.as_bytes());
                named.message(2, &any);
                self.message(field, &named);
            }
        }
    }
}

/// `Document`.
pub(super) fn encode(swagger: &Value) -> Vec<u8> {
    let mut document = Message::default();
    document.text(1, swagger.get("swagger"));
    let mut info = Message::default();
    info.text(1, swagger["info"].get("title"));
    info.text(2, swagger["info"].get("version"));
    document.message(2, &info);
    let mut paths = Message::default();
    paths.named(2, swagger.get("paths"), path_item);
    document.message(8, &paths);
    let mut definitions = Message::default();
    definitions.named(1, swagger.get("definitions"), schema);
    document.message(9, &definitions);
    document.0
}

fn path_item(item: &Value) -> Message {
    let mut message = Message::default();
    for (field, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        if let Some(operation) = item.get(method) {
            message.message(field, &self::operation(operation));
        }
    }
    parameters(&mut message, 9, item.get("parameters"));
    message
}

fn operation(operation: &Value) -> Message {
    let mut message = Message::default();
    message.text(5, operation.get("operationId"));
    parameters(&mut message, 8, operation.get("parameters"));
    message.message(9, &Message::default());
    message.extensions(13, operation);
    message
}

/// `repeated ParametersItem`; of the kinds of parameters only those of path and query occur.
fn parameters(message: &mut Message, field: u32, list: Option<&Value>) {
    for parameter in list.and_then(Value::as_array).into_iter().flatten() {
        let mut schema = Message::default();
        schema.flag(1, parameter.get("required"));
        schema.text(2, parameter.get("in"));
        schema.text(4, parameter.get("name"));
        let in_path = parameter["in"] == "path";
        schema.text(if in_path { 5 } else { 6 }, parameter.get("type"));
        let mut wrapped = schema;
        for wrapper in [if in_path { 4 } else { 3 }, 2, 1] {
            let mut outer = Message::default();
            outer.message(wrapper, &wrapped);
            wrapped = outer;
        }
        message.message(field, &wrapped);
    }
}

/// `Schema`.
fn schema(schema: &Value) -> Message {
    let mut message = Message::default();
    message.text(1, schema.get("$ref"));
    message.text(2, schema.get("format"));
    message.text(4, schema.get("description"));
    message.texts(19, schema.get("required"));
    match schema.get("additionalProperties") {
        Some(Value::Bool(allowed)) => {
            let mut item = Message::default();
            item.flag(2, Some(&Value::Bool(*allowed)));
            message.message(21, &item);
        }
        Some(values) => {
            let mut item = Message::default();
            item.message(1, &self::schema(values));
            message.message(21, &item);
        }
        None => {}
    }
    if schema.get("type").is_some() {
        let mut kind = Message::default();
        kind.text(1, schema.get("type"));
        message.message(22, &kind);
    }
    if let Some(items) = schema.get("items") {
        let mut item = Message::default();
        item.message(1, &self::schema(items));
        message.message(23, &item);
    }
    if schema.get("properties").is_some() {
        let mut properties = Message::default();
        properties.named(1, schema.get("properties"), self::schema);
        message.message(25, &properties);
    }
    message.extensions(31, schema);
    message
}
