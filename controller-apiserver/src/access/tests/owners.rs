//! Owner references under `OwnerReferencesPermissionEnforcement`.

use super::*;

fn owned(block: Option<bool>) -> Value {
    let mut reference = json!({"apiVersion": "x.dev/v1", "kind": "Widget", "name": "w", "uid": "u"});
    if let Some(block) = block {
        reference["blockOwnerDeletion"] = json!(block);
    }
    json!({"metadata": {"name": "c", "namespace": "ns", "ownerReferences": [reference]}})
}

fn write(rules: &[Value], old: Option<&Value>, new: &Value) -> Result<(), String> {
    let target = ResourceTarget {
        resource: "configmaps".to_owned(),
        namespace: "ns".to_owned(),
        name: "c".to_owned(),
        ..ResourceTarget::default()
    };
    let mapping = |api_version: &str, kind: &str| {
        ((api_version, kind) == ("x.dev/v1", "Widget")).then(|| Mapping {
            group: "x.dev".to_owned(),
            resource: "widgets".to_owned(),
            namespaced: true,
        })
    };
    OwnedWrite {
        user: &dev(),
        target: &target,
        old,
        new,
    }
    .check(
        |asked| dev_with(rules).authorize(&dev(), asked).is_allowed(),
        mapping,
    )
}

/// kubernetes-sigs/kubebuilder#1654: a role without the owner's finalizers subresource.
#[test]
fn blocking_the_owners_deletion_needs_its_finalizers() {
    let delete = rule(&[""], &["configmaps"], &["delete"]);
    let finalizers = rule(&["x.dev"], &["widgets/finalizers"], &["update"]);
    let blocking = owned(Some(true));
    assert_eq!(
        write(&[delete.clone(), finalizers.clone()], None, &blocking),
        Ok(())
    );
    assert!(
        write(std::slice::from_ref(&finalizers), None, &blocking)
            .unwrap_err()
            .contains("can't delete")
    );
    let refused = write(std::slice::from_ref(&delete), None, &blocking).unwrap_err();
    assert_eq!(
        refused,
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"
    );
    for harmless in [owned(None), owned(Some(false))] {
        assert_eq!(write(std::slice::from_ref(&delete), None, &harmless), Ok(()));
        assert!(write(std::slice::from_ref(&delete), Some(&harmless), &blocking).is_err());
    }
    assert_eq!(write(&[], Some(&blocking), &blocking), Ok(()), "nothing changed");
    assert_eq!(
        write(&[], None, &json!({"metadata": {"name": "c"}})),
        Ok(()),
        "no owner"
    );
}

#[test]
fn an_unknown_owner_kind_cannot_be_blocked() {
    let mut unknown = owned(Some(true));
    unknown["metadata"]["ownerReferences"][0]["kind"] = json!("Gadget");
    let refused = write(&[rule(&["*"], &["*"], &["*"])], None, &unknown).unwrap_err();
    assert!(
        refused.contains("cannot find RESTMapping for APIVersion x.dev/v1 Kind Gadget"),
        "{refused}"
    );
}
