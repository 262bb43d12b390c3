//! What a store can be asked for.

use crate::object::{Object, ObjectRef};

/// A key to an object of a [`Store`](super::Store): an `ObjectRef`, a name, or a `(namespace, name)`.
///
/// A name alone is looked for in the namespace that the store handle is bound to (see
/// [`Store::within`](super::Store::within)), and among cluster-scoped objects.
#[diagnostic::on_unimplemented(
    message = "a `Store<{T}>` cannot be asked for `{Self}`",
    note = "give a name, a `(namespace, name)`, or an `&ObjectRef<{T}>`"
)]
pub trait Key<T: Object> {
    /// Calls `find` with namespace and name, most likely first, until it finds something.
    fn look_up<R>(&self, scope: Option<&str>, find: impl FnMut(Option<&str>, &str) -> Option<R>)
    -> Option<R>;
}

impl<T: Object> Key<T> for ObjectRef<T> {
    fn look_up<R>(
        &self,
        _scope: Option<&str>,
        mut find: impl FnMut(Option<&str>, &str) -> Option<R>,
    ) -> Option<R> {
        find(self.namespace.as_deref(), &self.name)
    }
}

impl<T: Object> Key<T> for str {
    fn look_up<R>(
        &self,
        scope: Option<&str>,
        mut find: impl FnMut(Option<&str>, &str) -> Option<R>,
    ) -> Option<R> {
        scope
            .and_then(|namespace| find(Some(namespace), self))
            .or_else(|| find(None, self))
    }
}

impl<T: Object> Key<T> for String {
    fn look_up<R>(
        &self,
        scope: Option<&str>,
        find: impl FnMut(Option<&str>, &str) -> Option<R>,
    ) -> Option<R> {
        <str as Key<T>>::look_up(self, scope, find)
    }
}

impl<T: Object, N: AsRef<str>, S: AsRef<str>> Key<T> for (N, S) {
    fn look_up<R>(
        &self,
        _scope: Option<&str>,
        mut find: impl FnMut(Option<&str>, &str) -> Option<R>,
    ) -> Option<R> {
        find(Some(self.0.as_ref()), self.1.as_ref())
    }
}

impl<T: Object, Q: Key<T> + ?Sized> Key<T> for &Q {
    fn look_up<R>(
        &self,
        scope: Option<&str>,
        find: impl FnMut(Option<&str>, &str) -> Option<R>,
    ) -> Option<R> {
        (**self).look_up(scope, find)
    }
}
