//! What is told of sources that share a kind, and of user functions that panic.

use std::{sync::Arc, time::Duration};

use controller_apiserver::{Fault, When};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};

use super::world::{Seen, World, a_while, drive, noting, until};
use crate::{
    Controller,
    declare::{Declaration, Namespaces, RelationDeclaration, RelationKind, Watched},
    manager::{Board, SourceState},
    metrics::Metrics,
    runner::Observer,
    trigger::Predicate,
    watch::{Config, Informer},
};

fn expected(board: &Board, metrics: &Metrics) {
    let mut declaration = Declaration::new("configmap", Watched::new::<ConfigMap>(&()));
    let secret = RelationDeclaration::new(RelationKind::Watches, Watched::new::<Secret>(&()));
    declaration.relations.push(secret);
    board.expect(&declaration, &Namespaces::All);
    metrics.expect(&declaration);
}

fn observers(board: &Board, metrics: &Metrics) -> Arc<dyn Observer> {
    let all: Vec<Arc<dyn Observer>> = vec![Arc::new(board.clone()), Arc::new(metrics.clone())];
    Arc::new(all)
}

/// Two sources of one kind, by selector or by group: one of them fails, and whatever the other says, that is seen.
#[tokio::test(start_paused = true)]
async fn of_sources_that_share_a_kind_the_one_that_fails_shows() {
    for other_group in [false, true] {
        let world = World::new();
        let (board, metrics) = (Board::new("documents"), Metrics::new("documents", "1"));
        expected(&board, &metrics);
        let (well, ill) = (
            world.server.client_named("well"),
            world.server.client_named("ill"),
        );
        let all = Api::<ConfigMap>::all(well.clone());
        let maps = Informer::new(all, Config::default());
        let one = Informer::new(Api::<Secret>::all(well), Config::default());
        let controller = Controller::for_informer(&maps, Predicate::any([]));
        let controller = if other_group {
            let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Secret"));
            let api = Api::<DynamicObject>::all_with(ill, &kind);
            let other = Informer::new_with(api, Config::default(), kind);
            controller.related(&other, |_| Vec::new())
        } else {
            let selected = kube::runtime::watcher::Config::default().labels("app=web");
            let other = Informer::new(Api::<Secret>::all(ill), selected);
            controller.related(&other, |_| Vec::new())
        };
        let controller = controller.related(&one, |_| Vec::new());
        let faults = world.server.faults();
        faults.inject(When::any().agent("ill"), Fault::status(403));
        // What is well tells so when the other has long told that it fails.
        let late = Fault::Delay(Duration::from_secs(20));
        faults.inject(When::any().agent("well").resource("secrets").times(1), late);
        let seen = Seen::default();
        let _running = drive(noting(controller.observe(observers(&board, &metrics)), &seen));
        tokio::time::sleep(Duration::from_secs(5)).await;
        for second in 0..120 {
            if second % 20 == 7 {
                world.server.close_watches();
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            let status = board.status();
            let sources = &status.controllers[0].sources;
            let secrets = sources.iter().find(|source| source.source.kind == "Secret");
            let state = &secrets.expect("it is watched").state;
            assert!(
                matches!(state, SourceState::Failing { .. }),
                "{other_group}, {second}: {state:?}"
            );
            let ill = r#"controller_runtime_source_healthy{controller="configmap",kind="Secret"} 0"#;
            assert!(metrics.encode().contains(ill), "{other_group}, {second}");
        }
        if !other_group {
            world.server.faults().clear();
            until(&seen, "all is well", || {
                board.readiness() == crate::manager::Readiness::Ready
            })
            .await;
            let well = r#"controller_runtime_source_healthy{controller="configmap",kind="Secret"} 1"#;
            assert!(metrics.encode().contains(well));
        }
    }
}

/// A run too many is safe, a lost change is not.
#[tokio::test(start_paused = true)]
async fn a_change_whose_predicate_panics_passes_and_that_is_told() {
    let world = World::new();
    let (board, metrics) = (Board::new("documents"), Metrics::new("documents", "1"));
    expected(&board, &metrics);
    world.map("a").await;
    let maps = Informer::new(
        Api::<ConfigMap>::all(world.controllers_client()),
        Config::default(),
    );
    let judge = Predicate::new(|_: &ConfigMap, _: &ConfigMap| panic!("provoked"));
    let controller = Controller::for_informer(&maps, judge).observe(observers(&board, &metrics));
    let seen = Seen::default();
    let _running = drive(noting(controller, &seen));
    a_while().await;
    assert_eq!(seen.take(), ["a"]);
    world.label::<ConfigMap>("default", "a", "web").await;
    a_while().await;
    assert_eq!(seen.take(), ["a"], "the change is reconciled");
    let count = r#"controller_runtime_mapper_panics_total{controller="configmap"} 1"#;
    assert!(metrics.encode().contains(count), "{}", metrics.encode());
}
