//! The name of an object in one piece.

use std::{cmp::Ordering, fmt, sync::Arc};

use crate::object::{Object, ObjectRef};

/// Namespace and name of an object whose kind is known. Cheap to clone.
///
/// A controller keeps one for each key, so it takes one piece of memory, where an `ObjectRef` takes three.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    /// The namespace, and the name right behind it.
    text: Arc<str>,
    /// Where the name begins, if there is a namespace.
    begins: Option<u32>,
}

impl Name {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a namespace is no longer than 63 bytes"
    )]
    pub(crate) fn new(namespace: Option<&str>, name: &str) -> Self {
        let before = namespace.unwrap_or_default();
        let mut text = String::with_capacity(before.len() + name.len());
        text.push_str(before);
        text.push_str(name);
        Self {
            text: text.into(),
            begins: namespace.map(|namespace| namespace.len() as u32),
        }
    }

    pub(crate) fn of<K: Object>(key: &ObjectRef<K>) -> Self {
        Self::new(key.namespace.as_deref(), &key.name)
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.begins.map(|begins| &self.text[..begins as usize])
    }

    pub(crate) fn name(&self) -> &str {
        &self.text[self.begins.unwrap_or(0) as usize..]
    }

    /// The key of an object of that kind.
    pub(crate) fn of_kind<K: Object>(&self, kind: &K::DynamicType) -> ObjectRef<K> {
        let mut key = ObjectRef::new_with(self.name(), kind.clone());
        key.namespace = self.namespace().map(str::to_owned);
        key
    }
}

/// By namespace, then by name.
impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.namespace(), self.name()).cmp(&(other.namespace(), other.name()))
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace().unwrap_or_default(), self.name())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    #[test]
    fn it_is_the_key_again() {
        let key = ObjectRef::<ConfigMap>::new;
        for key in [
            key("a"),
            key("a").within("b"),
            key("").within(""),
            key("é").within("ü"),
        ] {
            assert_eq!(Name::of(&key).of_kind::<ConfigMap>(&()), key);
        }
    }

    #[test]
    fn the_same_letters_are_not_the_same_name() {
        let names = [
            Name::new(None, "ab"),
            Name::new(Some(""), "ab"),
            Name::new(Some("a"), "b"),
            Name::new(Some("ab"), ""),
        ];
        for (index, name) in names.iter().enumerate() {
            let others = &names[..index];
            assert!(
                others.iter().all(|other| other < name),
                "{name:?}: they stand in order"
            );
        }
    }
}
