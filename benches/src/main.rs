//! Side by side with kube-rs, and with tokio alone.
//!
//! `cargo run --release -p benches [NAME…]` runs every benchmark (or those whose name contains a NAME) in rounds. In each
//! round every side runs once, one after the other and each in a process of its own, so that a busy machine hits all of
//! them alike and memory is measured from nothing. Printed are medians, the spread, and ratios.

#![expect(clippy::expect_used, reason = "a benchmark that cannot run stops")]

mod bare;
mod measure;
mod operators;
mod orders;
mod server;
mod table;

/// The scenarios, with kube-rs.
mod kubes {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::runtime::{
        self,
        reflector::{self, Store},
        watcher::Event,
    };

    include!("scenarios.rs");

    /// A store of these objects.
    fn stocked(objects: Vec<ConfigMap>) -> Store<ConfigMap> {
        let (reader, mut writer) = reflector::store();
        writer.apply_watcher_event(&Event::Init);
        for object in objects {
            writer.apply_watcher_event(&Event::InitApply(object));
        }
        writer.apply_watcher_event(&Event::InitDone);
        reader
    }

    /// Its queue cannot be looked into.
    fn planned(_: &Controller<ConfigMap>) -> impl Fn() -> Option<usize> + use<> {
        || None
    }

    /// A controller that is told of objects which are decoded already.
    fn told(objects: Vec<ConfigMap>) -> Controller<ConfigMap> {
        use runtime::WatchStreamExt as _;
        let (reader, writer) = reflector::store();
        let all = objects.into_iter().map(Event::InitApply);
        let events = std::iter::once(Event::Init).chain(all).chain([Event::InitDone]);
        let changes = stream::iter(events.map(Ok))
            .chain(stream::pending())
            .reflect(writer)
            .applied_objects();
        Controller::for_stream(changes, reader)
    }
}

/// The scenarios, with this project.
mod ours {
    use std::sync::Arc;

    use controller_runtime::{compat as runtime, store::Store};
    use k8s_openapi::api::core::v1::ConfigMap;

    include!("scenarios.rs");

    /// A store of these objects.
    fn stocked(objects: Vec<ConfigMap>) -> Store<ConfigMap> {
        Store::from_objects(objects)
    }

    /// How many keys the queue holds.
    fn planned(controller: &Controller<ConfigMap>) -> impl Fn() -> Option<usize> + use<> {
        let gauge = controller.gauge();
        move || {
            let depth = gauge.read();
            Some(depth.ready + depth.running + depth.waiting)
        }
    }

    /// A controller that is told of objects which are decoded already.
    fn told(objects: Vec<ConfigMap>) -> Controller<ConfigMap> {
        let reader = Store::from_objects(objects);
        let all = stream::once(std::future::ready(())).chain(stream::pending());
        Controller::for_shared_stream(stream::pending(), reader).reconcile_all_on(all)
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |text: &str| text.parse().expect("a number");
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["child", name, side, size] => orders::run_one(name, side, number(size)),
        ["pages", plural, shape, count, folder] => {
            server::write_pages(plural, shape, number(count), folder.as_ref());
        }
        _ => orders::run_all(&arguments),
    }
}
