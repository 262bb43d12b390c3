//! What the readers and the one writer of a store share.

use std::{
    any::Any,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::table::Table;
use crate::{
    echo::{Overlay, WeakOverlay},
    object::Object,
};

// Neither this nor a store asks anything of `T` as a type: of a `Store<NotAKind>` in a signature the compiler then says one
// thing, where it is used, and not once more for each mention. So the dynamic type, which only a kind has, stands erased.
pub(super) struct Shared<T> {
    dyntype: Box<dyn Any + Send + Sync>,
    table: RwLock<Table<T>>,
    synced: AtomicBool,
    /// The namespaces that sources fill, and the revision that each has delivered completely; 0 when unknown.
    sources: Vec<(Option<String>, AtomicU64)>,
    overlays: Mutex<Vec<WeakOverlay<T>>>,
    /// There has been an overlay. Without one nothing is paid for it.
    overlaid: AtomicBool,
}

impl<T: Object> Shared<T> {
    pub(super) fn new(dyntype: T::DynamicType, namespaces: impl IntoIterator<Item = Option<String>>) -> Self {
        let sources = namespaces
            .into_iter()
            .map(|namespace| (namespace, AtomicU64::new(0)));
        Self {
            dyntype: Box::new(dyntype),
            table: RwLock::new(Table::new()),
            synced: AtomicBool::new(false),
            sources: sources.collect(),
            overlays: Mutex::default(),
            overlaid: AtomicBool::new(false),
        }
    }

    #[expect(clippy::expect_used, reason = "`new`, which alone makes one, put it in")]
    pub(super) fn dyntype(&self) -> &T::DynamicType {
        self.dyntype.downcast_ref().expect("the dynamic type of the kind")
    }

    // Nothing that panics runs under the lock, so a poisoned table is whole.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Table<T>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Table<T>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn copy(&self, namespace: Option<&str>, name: &str) -> Option<Arc<T>> {
        self.read().get(namespace, name).cloned()
    }

    pub(super) fn is_synced(&self) -> bool {
        self.synced.load(Ordering::Acquire)
    }

    pub(super) fn set_synced(&self) {
        self.synced.store(true, Ordering::Release);
    }

    /// The revision up to which everything of a namespace is in the table. To be read before the table is.
    pub(super) fn passed(&self, namespace: Option<&str>) -> u64 {
        let source = self
            .sources
            .iter()
            .find(|(of, _)| of.is_none() || of.as_deref() == namespace);
        source.map_or(0, |(_, passed)| passed.load(Ordering::Acquire))
    }

    /// Everything of a source up to `revision` is in the table. A revision that goes back is that of a server which lost what it had: own
    /// writes that were to come will not.
    pub(super) fn set_passed(&self, namespace: Option<&str>, revision: u64) {
        for (_, passed) in self.sources.iter().filter(|(of, _)| of.as_deref() == namespace) {
            if passed.swap(revision, Ordering::AcqRel) > revision {
                self.overlays().iter().for_each(Overlay::clear);
            }
        }
    }

    pub(super) fn add_overlay(&self, overlay: &Overlay<T>) {
        let mut overlays = self.lock_overlays();
        overlays.retain(|known| known.upgrade().is_some());
        overlays.push(overlay.downgrade());
        self.overlaid.store(true, Ordering::Release);
    }

    /// Shows an object to the overlays, as the table has it now.
    pub(super) fn show(&self, namespace: Option<&str>, name: &str) {
        if !self.overlaid.load(Ordering::Acquire) {
            return;
        }
        for overlay in self.overlays().into_iter().filter(|overlay| overlay.len() > 0) {
            let passed = self.passed(namespace);
            overlay.shown(namespace, name, self.copy(namespace, name).as_deref(), passed);
        }
    }

    /// Shows everything that overlays hold.
    pub(super) fn show_all(&self) {
        for overlay in self.overlays() {
            for ((namespace, name), _) in overlay.all() {
                self.show(namespace.as_deref(), &name);
            }
        }
    }

    fn overlays(&self) -> Vec<Overlay<T>> {
        self.lock_overlays()
            .iter()
            .filter_map(WeakOverlay::upgrade)
            .collect()
    }

    fn lock_overlays(&self) -> MutexGuard<'_, Vec<WeakOverlay<T>>> {
        self.overlays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
