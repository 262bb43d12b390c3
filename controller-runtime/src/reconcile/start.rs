//! What `wire` begins with.

use std::{any::Any, fmt, marker::PhantomData, sync::Arc};

use kube::Resource;

use super::Reconciler;

/// What is known of a controller's kind only at run time; nothing for most.
///
/// It holds no type of the user's, so that generated code can pass it on without asking anything of them.
pub struct Start<R> {
    /// Always a `DynamicType` of the controller's kind.
    kind: Arc<dyn Any + Send + Sync>,
    reconciler: PhantomData<fn() -> R>,
}

impl<R: Reconciler<Object: Resource<DynamicType: Default>>> Start<R> {
    /// The kind is known by its type.
    #[expect(clippy::new_without_default, reason = "only generated code makes one")]
    pub fn new() -> Self {
        Self::of(Default::default())
    }
}

impl<R: Reconciler> Start<R> {
    /// The kind is known by its name.
    pub fn of(kind: <R::Object as Resource>::DynamicType) -> Self {
        Self {
            kind: Arc::new(kind),
            reconciler: PhantomData,
        }
    }

    pub(super) fn kind(&self) -> &<R::Object as Resource>::DynamicType {
        #[expect(clippy::expect_used, reason = "invariant: `of` is the only constructor")]
        self.kind.downcast_ref().expect("the type that `of` was given")
    }
}

impl<R> Clone for Start<R> {
    fn clone(&self) -> Self {
        Self {
            kind: Arc::clone(&self.kind),
            reconciler: PhantomData,
        }
    }
}

impl<R> fmt::Debug for Start<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start").finish_non_exhaustive()
    }
}
