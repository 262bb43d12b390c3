//! What the operator says of itself is true, before, during and after trouble.

use std::sync::Arc;

use controller_apiserver::{Fault, When};
use controller_runtime::{
    declare::{Declaration, Namespaces, RelationDeclaration, RelationKind, Watched},
    manager::{Board, Readiness},
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::world::{World, done};

fn board() -> Board {
    let mut declaration = Declaration::new("maps", Watched::new::<ConfigMap>(&()));
    let owned = RelationDeclaration::new(RelationKind::Owns, Watched::new::<Secret>(&()));
    declaration.relations.push(owned);
    let board = Board::new("test");
    board.expect(&declaration, &Namespaces::All);
    board
}

/// kubewarden/adm-controller#1320: a refused first list made readiness wait for ever and said nothing; a right that is
/// granted later makes it ready without a restart.
#[tokio::test(start_paused = true)]
async fn a_refused_list_is_named_and_a_granted_one_heals() {
    let world = World::new();
    world.map("a").await;
    let board = board();
    let refused = world.server.faults().inject(
        When::any().resource("secrets").agent("controller"),
        Fault::status(403),
    );
    let controller = world
        .with_secrets()
        .named("maps")
        .observe(Arc::new(board.clone()));
    let _running = world.run(controller, done);
    world
        .until("readiness names the refused kind", || {
            let text = board.readiness().to_string();
            let told = text.starts_with("not ready") && text.contains("Secret") && text.contains("forbidden");
            if told { Ok(()) } else { Err(text) }
        })
        .await;
    assert_eq!(world.seen.count(), 0);
    world.server.faults().remove(refused);
    world
        .until("it is ready without a restart", || match board.readiness() {
            Readiness::Ready => Ok(()),
            other => Err(other),
        })
        .await;
    assert_eq!(world.seen.count(), 1);
}

/// An API server that is away after sync degrades, and recovers; it never makes readiness red.
#[tokio::test(start_paused = true)]
async fn an_outage_after_sync_is_told_and_heals() {
    let world = World::new();
    world.map("a").await;
    let board = board();
    let controller = world
        .with_secrets()
        .named("maps")
        .observe(Arc::new(board.clone()));
    let _running = world.run(controller, done);
    world.settle().await;
    assert_eq!(board.readiness(), Readiness::Ready);
    let outage = world
        .server
        .faults()
        .inject(When::any().agent("controller"), Fault::status(503));
    world.server.close_watches();
    world
        .until("it is degraded", || match board.readiness() {
            Readiness::Degraded(_) => Ok(()),
            other => Err(other),
        })
        .await;
    world.server.faults().remove(outage);
    world
        .until("it is whole again", || match board.readiness() {
            Readiness::Ready => Ok(()),
            other => Err(other),
        })
        .await;
}
