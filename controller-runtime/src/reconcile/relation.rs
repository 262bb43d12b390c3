//! The typed part of a relation: its informer, its predicates, and how a change finds its primaries.

use serde::Serialize;

use super::{Reconciler, assembly::Assembly, via::Via};
use crate::{
    declare::RelationDeclaration,
    explain::{self, Via as Told},
    object::Object,
    trigger::Predicate,
};

/// A kind that can be reconciled.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be reconciled",
    label = "not a Kubernetes kind",
    note = "a kind is a type of k8s-openapi, a `#[derive(CustomResource)]`, `PartialObjectMeta` of one, or `DynamicObject`"
)]
pub trait Reconciled: Object + Serialize {}

#[diagnostic::do_not_recommend]
impl<K: Object + Serialize> Reconciled for K {}

/// A kind that can be related: its group and kind are known by its type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be watched",
    label = "not a Kubernetes kind",
    note = "a related kind is a type of k8s-openapi, a `#[derive(CustomResource)]`, or a `PartialObjectMeta` of one"
)]
pub trait Related: Object<DynamicType: Default> + Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Object<DynamicType: Default> + Serialize> Related for T {}

/// A relation of any kind, once its type is forgotten.
pub(super) trait Connect<R: Reconciler>: Send {
    fn connect(self: Box<Self>, assembly: &mut Assembly<'_, R>);
}

pub(super) struct Relation<T: Object, V> {
    pub(super) declared: RelationDeclaration,
    pub(super) predicates: Vec<Predicate<T>>,
    pub(super) via: V,
}

impl<R: Reconciler, T: Related, V: Via<T, R::Object>> Connect<R> for Relation<T, V> {
    fn connect(self: Box<Self>, assembly: &mut Assembly<'_, R>) {
        let Self {
            declared,
            predicates,
            via,
        } = *self;
        let informer = assembly.informer::<T>(&declared.target);
        let told = Told::declared(&declared, explain::whole::<T>);
        via.follow(assembly);
        let forget_gone = assembly.forget_gone::<T>();
        let primaries = assembly.primaries().clone();
        assembly.related(&informer, told, predicates, move |delta| {
            forget_gone(delta);
            via.requests(delta, &primaries)
        });
    }
}
