//! How a reconciler is wired: its declaration, and the typed parts that a declaration cannot hold.

use std::{fmt, sync::Arc, time::Duration};

use futures::{Stream, StreamExt, future::BoxFuture, stream::BoxStream};
use kube::{Resource, core::PartialObjectMeta};
use serde::Serialize;

use super::{
    Cleanup, Failed, Field, Inputs, Mapper, Options, Reconciler, Related, Run, Start,
    bodies::ReferencedOnly,
    relation::{Connect, Relation},
    status::{ReadStatus, read_status},
    via::{Index, Owned, Via},
};
use crate::{
    Action,
    declare::{Declaration, RelationDeclaration, RelationKind, Rule, Scope, Watched},
    object::ObjectRef,
    trigger::Predicate,
};

/// A running reconcile.
pub type Reconciling = BoxFuture<'static, Result<Action, Failed>>;

/// How a reconciler is wired. `#[controller]` writes the calls; each stands for one item of the attribute.
pub struct Wiring<R: Reconciler> {
    pub(super) start: Start<R>,
    pub(super) declaration: Declaration,
    pub(super) predicates: Vec<Predicate<R::Object>>,
    pub(super) relations: Vec<Box<dyn Connect<R>>>,
    pub(super) function: Function<R>,
    pub(super) cleanup: Option<CleanupFunction<R>>,
    pub(super) triggers: Vec<Trigger<R>>,
    /// How the status is read, if it is written.
    pub(super) status: Option<ReadStatus<R::Object>>,
}

type CleanupFunction<R> = Box<dyn Fn(&Run<R>) -> BoxFuture<'static, Result<(), Failed>> + Send + Sync>;
type Keys<R> = BoxStream<'static, ObjectRef<<R as Reconciler>::Object>>;
pub(super) type Trigger<R> = Box<dyn FnOnce(Arc<<R as Reconciler>::Context>) -> Keys<R> + Send + Sync>;

pub(super) type Function<R> = Box<dyn Fn(&Run<R>) -> Reconciling + Send + Sync>;

impl<R: Reconciler> Wiring<R> {
    /// A controller that watches its objects and nothing else.
    pub fn new<V: 'static>(
        start: Start<R>,
        inputs: Inputs<R, V>,
        function: impl Fn(Arc<R::Object>, V) -> Reconciling + Send + Sync + 'static,
    ) -> Self {
        let mut primary = Watched::new::<R::Object>(start.kind());
        primary.metadata_only = <R::Object as Resource>::metadata_api();
        let name = format!("{}-controller", primary.resource.kind.to_lowercase());
        let mut declaration = Declaration::new(name, primary);
        for declare in &inputs.declare {
            declare(&mut declaration);
        }
        let extract = inputs.extract;
        Self {
            start,
            declaration,
            predicates: Vec::new(),
            relations: Vec::new(),
            cleanup: None,
            triggers: Vec::new(),
            status: None,
            function: Box::new(move |run| function(Arc::clone(run.object()), extract(run))),
        }
    }

    /// `name = "…"`
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.declaration.name);
        self
    }

    /// `predicates(…)`
    #[must_use]
    pub fn predicates<const N: usize>(
        mut self,
        predicates: [(&'static str, Predicate<R::Object>); N],
    ) -> Self {
        for (text, predicate) in predicates {
            self.declaration.predicates.push(text.to_owned());
            self.predicates.push(predicate);
        }
        self
    }

    /// `owns(T, …)`
    #[must_use]
    pub fn owns<T: Related>(self, options: Options<T>) -> Self {
        self.relation(RelationKind::Owns, options, Owned)
    }

    /// `watches(T, map(…), …)`
    #[must_use]
    pub fn watches<T: Related>(self, options: Options<T>, mapper: Mapper<T, R::Object>) -> Self {
        self.relation(RelationKind::Watches, options, mapper)
    }

    /// `references(T, …)`
    #[must_use]
    pub fn references<T: Related>(self, options: Options<T>, field: Field<T, R::Object>) -> Self {
        let index = Index::new(field.index(self.start.kind().clone()));
        self.relation(RelationKind::References, options, index)
    }

    /// `references(T, …, referenced_only)`
    #[must_use]
    pub fn references_only<T: Related>(
        mut self,
        options: Options<PartialObjectMeta<T>>,
        field: Field<T, R::Object>,
    ) -> Self {
        let (mut declared, predicates) = declared(RelationKind::References, options);
        declared.referenced_only = true;
        self.relations.push(Box::new(ReferencedOnly {
            declared: declared.clone(),
            predicates,
            index: field.index(self.start.kind().clone()),
        }));
        self.declaration.relations.push(declared);
        self
    }

    /// `selector(labels = "…")`
    #[must_use]
    pub fn labels(mut self, selector: &str) -> Self {
        self.declaration.primary.labels = Some(selector.to_owned());
        self
    }

    /// `selector(fields = "…")`
    #[must_use]
    pub fn fields(mut self, selector: &str) -> Self {
        self.declaration.primary.fields = Some(selector.to_owned());
        self
    }

    /// `cluster` or `namespaced`
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.declaration.primary.scope = scope;
        self
    }

    /// `on(path)`
    #[must_use]
    pub fn on<S>(
        mut self,
        text: &str,
        stream: impl FnOnce(Arc<R::Context>) -> S + Send + Sync + 'static,
    ) -> Self
    where
        S: Stream<Item = ObjectRef<R::Object>> + Send + 'static,
    {
        self.declaration.triggers.push(text.to_owned());
        self.triggers
            .push(Box::new(move |context| stream(context).boxed()));
        self
    }

    /// `cleanup(path)`
    #[must_use]
    pub fn cleanup<I, C: Cleanup<R, I>>(mut self, cleanup: C) -> Self {
        let declaration = &mut self.declaration;
        C::declare(declaration);
        // A qualified name, as Kubernetes asks of finalizers: a DNS name, a slash, a word.
        let group = &declaration.primary.resource.group;
        let domain = if group.is_empty() {
            String::new()
        } else {
            format!(".{group}")
        };
        declaration.finalizer = Some(format!("{}{domain}/cleanup", declaration.name));
        self.cleanup = Some(Box::new(move |run| cleanup.call(run)));
        self
    }

    /// `status(conditions)`
    #[must_use]
    pub fn conditions(mut self) -> Self
    where
        R::Object: Serialize,
    {
        self.declaration.conditions = true;
        self.status = Some(read_status);
        self
    }

    /// `rbac("group/resource": verbs)`
    #[must_use]
    pub fn rule(mut self, group: &str, resource: &str, verbs: &[&str]) -> Self {
        self.declaration.rules.push(Rule {
            group: group.to_owned(),
            resource: resource.to_owned(),
            verbs: verbs.iter().map(ToString::to_string).collect(),
        });
        self
    }

    /// `rbac(primary: verbs)`
    #[must_use]
    pub fn rule_of_primary(self, verbs: &[&str]) -> Self {
        let resource = self.declaration.primary.resource.clone();
        self.rule(&resource.group, &resource.plural, verbs)
    }

    fn relation<T: Related>(
        mut self,
        kind: RelationKind,
        options: Options<T>,
        via: impl Via<T, R::Object>,
    ) -> Self {
        let (declared, predicates) = declared(kind, options);
        self.relations.push(Box::new(Relation {
            declared: declared.clone(),
            predicates,
            via,
        }));
        self.declaration.relations.push(declared);
        self
    }
}

/// A relation as data, and its predicates.
fn declared<T: Related>(kind: RelationKind, options: Options<T>) -> (RelationDeclaration, Vec<Predicate<T>>) {
    let mut target = Watched::new::<T>(&T::DynamicType::default());
    target.metadata_only = T::metadata_api();
    target.labels = options.labels;
    target.fields = options.fields;
    let mut declared = RelationDeclaration::new(kind, target);
    let (texts, predicates) = options.predicates.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
    declared.predicates = texts.into_iter().map(ToOwned::to_owned).collect();
    (declared, predicates)
}

/// The numbers, durations in milliseconds.
impl<R: Reconciler> Wiring<R> {
    /// `config(debounce = "…")`
    #[must_use]
    pub fn debounce(mut self, millis: u64) -> Self {
        self.declaration.config.debounce = Duration::from_millis(millis);
        self
    }

    /// `config(concurrency = …)`
    #[must_use]
    pub fn concurrency(mut self, limit: u16) -> Self {
        self.declaration.config.concurrency = limit;
        self
    }

    /// `config(timeout = "…")`
    #[must_use]
    pub fn timeout(mut self, millis: u64) -> Self {
        self.declaration.config.timeout = Some(Duration::from_millis(millis));
        self
    }

    /// `config(resync = "…")`
    #[must_use]
    pub fn resync(mut self, millis: u64) -> Self {
        self.declaration.config.resync = Some(Duration::from_millis(millis));
        self
    }

    /// `config(hot_loop_cycles = …)`
    #[must_use]
    pub fn hot_loop_cycles(mut self, cycles: u16) -> Self {
        self.declaration.config.hot_loop_cycles = cycles.into();
        self
    }

    /// `config(hot_loop_max = "…")`
    #[must_use]
    pub fn hot_loop_max(mut self, millis: u64) -> Self {
        self.declaration.config.hot_loop_max = Duration::from_millis(millis);
        self
    }

    /// `backoff(initial = "…")`
    #[must_use]
    pub fn backoff_initial(mut self, millis: u64) -> Self {
        self.declaration.backoff.initial = Duration::from_millis(millis);
        self
    }

    /// `backoff(max = "…")`
    #[must_use]
    pub fn backoff_max(mut self, millis: u64) -> Self {
        self.declaration.backoff.max = Duration::from_millis(millis);
        self
    }

    /// `backoff(factor = …)`
    #[must_use]
    pub fn backoff_factor(mut self, factor: f64) -> Self {
        self.declaration.backoff.factor = factor;
        self
    }

    /// `backoff(jitter = …)`
    #[must_use]
    pub fn backoff_jitter(mut self, jitter: f64) -> Self {
        self.declaration.backoff.jitter = jitter;
        self
    }
}

impl<R: Reconciler> fmt::Debug for Wiring<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wiring")
            .field("declaration", &self.declaration)
            .finish_non_exhaustive()
    }
}
