//! What is told of user functions that panic.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;

use super::world::{Seen, World, a_while, drive, noting};
use crate::{
    Controller,
    declare::{Declaration, Namespaces, RelationDeclaration, RelationKind, Watched},
    manager::Board,
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
