//! JSON patch against what a real server did, and against hostile patches.

use serde_json::{Value, json};

use super::*;

fn patched(target: &Value, operation: Value) -> Result<Value, PatchError> {
    apply(target, &Value::Array(vec![operation]))
}

#[test]
fn operations_on_objects() {
    let target = json!({"data": {"k": "1"}});
    for (operation, data) in [
        (
            json!({"op": "add", "path": "/data/n", "value": "3"}),
            json!({"k": "1", "n": "3"}),
        ),
        (json!({"op": "add", "path": "/data/k"}), json!({"k": null})),
        (
            json!({"op": "replace", "path": "/data/zz", "value": "1"}),
            json!({"k": "1", "zz": "1"}),
        ),
        (
            json!({"op": "move", "from": "/data/k", "path": "/data/a~1b~0c~01"}),
            json!({"a/b~c~1": "1"}),
        ),
        (
            json!({"op": "copy", "from": "/data/zz", "path": "/data/y"}),
            json!({"k": "1", "y": null}),
        ),
        (json!({"op": "remove", "path": "/data/k"}), json!({})),
        (
            json!({"op": "test", "path": "/data/zz", "value": null}),
            json!({"k": "1"}),
        ),
        (
            json!({"op": "replace", "path": "/data", "value": "text"}),
            json!("text"),
        ),
    ] {
        let result = patched(&target, operation.clone()).unwrap();
        assert_eq!(result, json!({ "data": data }), "{operation}");
    }
}

#[test]
fn operations_on_arrays() {
    let target = json!({"t": ["a", "b"]});
    for (operation, list) in [
        (
            json!({"op": "add", "path": "/t/1", "value": "n"}),
            json!(["a", "n", "b"]),
        ),
        (
            json!({"op": "add", "path": "/t/-", "value": "n"}),
            json!(["a", "b", "n"]),
        ),
        (
            json!({"op": "add", "path": "/t/2", "value": "n"}),
            json!(["a", "b", "n"]),
        ),
        (
            json!({"op": "add", "path": "/t/-1", "value": "n"}),
            json!(["a", "b", "n"]),
        ),
        (json!({"op": "remove", "path": "/t/-1"}), json!(["a"])),
        (
            json!({"op": "replace", "path": "/t/00", "value": "z"}),
            json!(["z", "b"]),
        ),
        (
            json!({"op": "move", "from": "/t/0", "path": "/t/1"}),
            json!(["b", "a"]),
        ),
    ] {
        let result = patched(&target, operation.clone()).unwrap();
        assert_eq!(result, json!({ "t": list }), "{operation}");
    }
}

#[test]
fn a_path_without_slash_loses_its_first_element() {
    let result = patched(
        &json!({"data": {}}),
        json!({"op": "replace", "path": "data/k", "value": "5"}),
    );
    assert_eq!(result.unwrap(), json!({"data": {}, "k": "5"}));
}

#[test]
fn the_root_can_only_be_replaced() {
    let target = json!({"a": 1});
    let root = |op: &str, value: Value| {
        patched(&target, json!({"op": op, "path": "", "value": value})).map_err(|e| e.code())
    };
    assert_eq!(root("replace", json!({})), Ok(json!({})));
    assert_eq!(root("replace", json!("x")), Ok(target.clone()));
    for op in ["add", "remove", "test", "copy", "move"] {
        assert_eq!(root(op, json!({})), Err(422), "{op}");
    }
}

#[test]
fn what_does_not_fit_is_refused_whole() {
    let target = json!({"data": {"k": "1"}, "t": ["a"]});
    for operation in [
        json!({"op": "remove", "path": "/data/zz"}),
        json!({"op": "move", "from": "/data/zz", "path": "/data/y"}),
        json!({"op": "add", "path": "/nope/x", "value": 1}),
        json!({"op": "add", "path": "/data/k/deeper", "value": 1}),
        json!({"op": "test", "path": "/data/k", "value": "other"}),
        json!({"op": "test", "path": "/data/zz", "value": "other"}),
        json!({"op": "add", "path": "/t/9", "value": 1}),
        json!({"op": "add", "path": "/t/x", "value": 1}),
        json!({"op": "add", "path": "/t/-3", "value": 1}),
        json!({"op": "replace", "path": "/t/-", "value": 1}),
        json!({"op": "remove", "path": "/t/9"}),
        json!({"op": "nonsense", "path": "/data/k"}),
        json!({"op": "add", "value": "1"}),
        json!({"path": "/data/k", "value": "1"}),
        json!(null),
    ] {
        let error = patched(&target, operation.clone()).unwrap_err();
        assert_eq!(error.code(), 422, "{operation}");
        assert_eq!(error.message(), PatchError::REJECTED);
    }
}

#[test]
fn what_is_no_patch_is_malformed() {
    for (patch, wanted) in [
        (
            json!({"a": 1}),
            "object into Go value of type []handlers.jsonPatchOp",
        ),
        (json!(["x"]), "string into Go value of type handlers.jsonPatchOp"),
        (
            json!([{"op": 5}]),
            "number into Go struct field jsonPatchOp.op of type string",
        ),
    ] {
        let error = apply(&json!({}), &patch).unwrap_err();
        assert_eq!(
            (error.code(), error.message()),
            (
                400,
                format!("error decoding patch: json: cannot unmarshal {wanted}")
            )
        );
    }
    assert_eq!(apply(&json!({"a": 1}), &json!(null)).unwrap(), json!({"a": 1}));
}

#[test]
fn unknown_members_are_named() {
    let patch = json!([{"op": "add", "path": "/x", "value": {"fine": 1}, "extra": 1}, null, {"More": 1}]);
    assert_eq!(unknown_fields(&patch), ["[0].extra", "[2].More"]);
}

/// A patch of a few kilobytes that doubles the document with each copy, or nests it ever deeper.
#[test]
fn hostile_patches_stop_early() {
    let copy = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let bomb = Value::Array(vec![copy; 64]);
    assert_eq!(apply(&json!({"a": ["xxxxxxxx"]}), &bomb).unwrap_err().code(), 422);

    let mut nest = vec![json!({"op": "add", "path": "/b", "value": {}})];
    for _ in 0..2_000 {
        nest.push(json!({"op": "add", "path": "/c", "value": {}}));
        nest.push(json!({"op": "move", "from": "/b", "path": "/c/b"}));
        nest.push(json!({"op": "move", "from": "/c", "path": "/b"}));
    }
    assert_eq!(apply(&json!({}), &Value::Array(nest)).unwrap_err().code(), 422);

    let many = Value::Array(vec![json!({"op": "test", "path": "/a"}); MAX_OPERATIONS + 1]);
    assert_eq!(apply(&json!({}), &many).unwrap_err().code(), 413);
}
