//! An object that a field of the primary names wakes that primary.
//!
//! The index is two-way: which primaries name an object, and what a primary named last, so that a changed
//! field leaves nothing behind. It holds what living primaries name, and no more.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use super::{Request, related};
use crate::{
    memory::shrink,
    object::{Object, ObjectRef},
    store::Delta,
};

/// What a field can name: a name, an `ObjectRef`, or an `Option` or a list of such.
///
/// A name alone means the namespace of the primary; objects of cluster-scoped kinds are found by it, too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which `{T}` is referenced",
    note = "return owned names: a `String`, an `ObjectRef<{T}>`, or an `Option` or a `Vec` of them"
)]
pub trait Names<T: Object> {
    /// Adds what is named to `found`; the namespace is that of the primary.
    fn add_to(self, namespace: Option<&str>, found: &mut Vec<Named>);
}

/// An object, by namespace (if it has one) and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Named {
    namespace: Option<Arc<str>>,
    name: Arc<str>,
}

impl Named {
    /// The namespace, if it has one.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn new(namespace: Option<&str>, name: &str) -> Self {
        Self {
            namespace: namespace.map(Arc::from),
            name: name.into(),
        }
    }
}

impl<T: Object> Names<T> for String {
    fn add_to(self, namespace: Option<&str>, found: &mut Vec<Named>) {
        if namespace.is_some() {
            found.push(Named::new(namespace, &self));
        }
        found.push(Named::new(None, &self));
    }
}

impl<T: Object> Names<T> for ObjectRef<T> {
    fn add_to(self, _namespace: Option<&str>, found: &mut Vec<Named>) {
        found.push(Named::new(self.namespace.as_deref(), &self.name));
    }
}

impl<T: Object, N: Names<T>> Names<T> for Option<N> {
    fn add_to(self, namespace: Option<&str>, found: &mut Vec<Named>) {
        if let Some(names) = self {
            names.add_to(namespace, found);
        }
    }
}

impl<T: Object, N: Names<T>> Names<T> for Vec<N> {
    fn add_to(self, namespace: Option<&str>, found: &mut Vec<Named>) {
        for names in self {
            names.add_to(namespace, found);
        }
    }
}

/// What a change of a primary did to its references.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Repointed {
    /// It names other objects than before.
    pub changed: bool,
    /// What nobody names any more.
    pub left: Vec<Named>,
}

type Read<K> = Box<dyn Fn(&K) -> Vec<Named> + Send + Sync>;

/// Which primaries name which objects of `T`.
///
/// Tell it *every* change of a primary, whatever the predicates say, and before the primary's own trigger; ask it at every
/// change of a `T`. A primary that names other objects than before is for the caller to wake: no target has changed.
pub struct References<K: Object, T: Object> {
    read: Read<K>,
    /// The values are what `primaries` holds the other way round; no set is empty.
    named_by: HashMap<Named, BTreeSet<Named>>,
    names: HashMap<Named, Vec<Named>>,
    dyntype: K::DynamicType,
    target: std::marker::PhantomData<fn() -> T>,
}

impl<K: Object, T: Object> References<K, T> {
    /// An empty index over what `field` reads off a primary.
    pub fn new<N: Names<T>>(
        dyntype: K::DynamicType,
        field: impl Fn(&K) -> N + Send + Sync + 'static,
    ) -> Self {
        let read = move |primary: &K| {
            let mut found = Vec::new();
            field(primary).add_to(primary.meta().namespace.as_deref(), &mut found);
            found.sort();
            found.dedup();
            found
        };
        Self {
            read: Box::new(read),
            named_by: HashMap::new(),
            names: HashMap::new(),
            dyntype,
            target: std::marker::PhantomData,
        }
    }

    /// Takes note of a change of a primary.
    pub fn primary(&mut self, delta: &Delta<K>) -> Repointed {
        let primary = Named::new(delta.key.namespace.as_deref(), &delta.key.name);
        let new = delta
            .new
            .as_ref()
            .map(|object| (self.read)(object))
            .unwrap_or_default();
        for named in &new {
            self.named_by
                .entry(named.clone())
                .or_default()
                .insert(primary.clone());
        }
        let mut left = self.names.remove(&primary).unwrap_or_default();
        let changed = left != new;
        left.retain(|old| new.binary_search(old).is_err());
        left.retain(|old| {
            let Some(primaries) = self.named_by.get_mut(old) else {
                return false;
            };
            primaries.remove(&primary);
            primaries.is_empty() && self.named_by.remove(old).is_some()
        });
        shrink(&mut self.named_by);
        shrink(&mut self.names);
        if !new.is_empty() {
            self.names.insert(primary, new);
        }
        Repointed { changed, left }
    }

    /// What this primary names.
    pub fn names_of(&self, primary: &ObjectRef<K>) -> &[Named] {
        let primary = Named::new(primary.namespace.as_deref(), &primary.name);
        self.names.get(&primary).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a primary names this.
    pub fn is_named(&self, target: &Named) -> bool {
        self.named_by.contains_key(target)
    }

    /// The requests of the primaries that name the changed object, by name. `M` is `T`, or metadata of it.
    pub fn wake<M: Object>(&self, delta: &Delta<M>) -> Vec<Request<K>> {
        let target = Named::new(delta.key.namespace.as_deref(), &delta.key.name);
        let primaries = self.named_by.get(&target).into_iter().flatten();
        primaries
            .map(|primary| {
                let key = ObjectRef::new_with(&primary.name, self.dyntype.clone());
                let key = match &primary.namespace {
                    Some(namespace) => key.within(namespace),
                    None => key,
                };
                related(delta, key)
            })
            .collect()
    }

    /// How many primaries name something, and how many objects are named.
    pub(crate) fn entries(&self) -> usize {
        self.names.len() + self.named_by.len()
    }

    /// How many primaries name something.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no primary names anything.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl<K: Object, T: Object> fmt::Debug for References<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("References")
            .field("primaries", &self.names.len())
            .field("targets", &self.named_by.len())
            .finish_non_exhaustive()
    }
}
