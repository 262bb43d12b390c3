//! The typed part of a relation: its informer, its predicates, and how a change finds its primaries.

use super::{Reconciler, assembly::Assembly};
use crate::{
    declare::Watched,
    object::{Object, ObjectRef},
    store::{Delta, Store},
    trigger::{self, Predicate, Request},
};

/// A kind that can be related: its group and kind are known by its type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be watched",
    label = "not a Kubernetes kind",
    note = "a related kind is a type of k8s-openapi, a `#[derive(CustomResource)]`, or a `PartialObjectMeta` of one"
)]
pub trait Related: Object<DynamicType: Default> {}

#[diagnostic::do_not_recommend]
impl<T: Object<DynamicType: Default>> Related for T {}

/// From a change of a related object to the primaries that must run.
pub(super) trait Via<R: Reconciler, T: Object>: Send + Sync + 'static {
    fn requests(&self, delta: &Delta<T>, primaries: &Store<R::Object>) -> Vec<Request<R::Object>>;
}

/// By owner references.
pub(super) struct Owned;

impl<R: Reconciler, T: Object> Via<R, T> for Owned {
    fn requests(&self, delta: &Delta<T>, primaries: &Store<R::Object>) -> Vec<Request<R::Object>> {
        trigger::owner(delta, primaries, primaries.dyntype())
    }
}

/// By a function of the user's.
pub(super) struct Mapped<F>(pub(super) F);

impl<R, T, F, I> Via<R, T> for Mapped<F>
where
    R: Reconciler,
    T: Object,
    F: Fn(&T) -> I + Send + Sync + 'static,
    I: IntoIterator<Item = ObjectRef<R::Object>> + 'static,
{
    fn requests(&self, delta: &Delta<T>, _primaries: &Store<R::Object>) -> Vec<Request<R::Object>> {
        trigger::mapped(delta, &self.0)
    }
}

/// A relation of any kind, once its type is forgotten.
pub(super) trait Connect<R: Reconciler>: Send {
    fn connect(self: Box<Self>, assembly: &mut Assembly<'_, R>);
}

pub(super) struct Relation<T: Object, V> {
    pub(super) target: Watched,
    pub(super) predicates: Vec<Predicate<T>>,
    pub(super) via: V,
}

impl<R: Reconciler, T: Related, V: Via<R, T>> Connect<R> for Relation<T, V> {
    fn connect(self: Box<Self>, assembly: &mut Assembly<'_, R>) {
        let Self {
            target,
            predicates,
            via,
        } = *self;
        let informer = assembly.informer::<T>(&target);
        let primaries = assembly.primaries().clone();
        assembly.related(&informer, predicates, move |delta| {
            via.requests(delta, &primaries)
        });
    }
}
