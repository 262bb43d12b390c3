//! The handle to the simulated workload layer.

use std::collections::BTreeMap;

use super::Server;
use crate::clock::instant;
use crate::controllers::workloads::{self, PodFate};

/// What becomes of the Pods of a server whose
/// [workloads are simulated](crate::ServerBuilder::workloads).
#[derive(Debug)]
pub struct Workloads<'a>(&'a Server);

impl Server {
    /// What becomes of Pods. Without [`ServerBuilder::workloads`](crate::ServerBuilder::workloads)
    /// nothing does, whatever is told.
    pub fn workloads(&self) -> Workloads<'_> {
        Workloads(self)
    }
}

impl Workloads<'_> {
    /// Tells what becomes of the Pods with these labels (all Pods, if there are none): of those to
    /// come, counted from when they come, and of those that are there, counted from now. What was told
    /// last goes first. A Pod that has succeeded or failed stays so.
    pub fn pods_become<K, V>(&self, labels: impl IntoIterator<Item = (K, V)>, fate: PodFate)
    where
        K: Into<String>,
        V: Into<String>,
    {
        let labels = labels.into_iter().map(|(key, value)| (key.into(), value.into()));
        let labels: BTreeMap<String, String> = labels.collect();
        workloads::tell(&mut self.0.inner.state(), labels, fate, instant());
        self.0.inner.work.notify_one();
    }
}
