//! What metrics say of a queue is true at every moment.

use std::{sync::Arc, time::Duration};

use controller_runtime::{
    Action, Config,
    declare::{Declaration, Watched},
    metrics::Metrics,
};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::world::{Running, World};

/// The sum of the series of this name.
fn sum(metrics: &Metrics, name: &str) -> f64 {
    let text = metrics.encode();
    let lines = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
    lines
        .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
        .sum()
}

struct Queue {
    world: World,
    metrics: Metrics,
    running: Running,
}

impl Queue {
    /// One at a time, each for ten seconds, and again in an hour.
    fn new() -> Self {
        let (world, metrics) = (World::new(), Metrics::new("test", "0"));
        metrics.expect(&Declaration::new("maps", Watched::new::<ConfigMap>(&())));
        let controller = world
            .controller()
            .named("maps")
            .with_config(Config::default().concurrency(1))
            .observe(Arc::new(metrics.clone()));
        let running = world.run(controller, |_| async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok(Action::requeue(Duration::from_secs(3600)))
        });
        Self {
            world,
            metrics,
            running,
        }
    }

    /// Ready and not running, running, and waiting: by the metrics, which agree with the queue.
    async fn is(&self, what: &str, ready: u32, running: u32, waiting: u32) {
        self.world.settle().await;
        let told = [
            sum(&self.metrics, "workqueue_depth"),
            sum(&self.metrics, "controller_runtime_active_workers"),
            sum(&self.metrics, "workqueue_waiting"),
        ];
        let depth = self.running.gauge.read();
        let wanted = [ready, running, waiting].map(f64::from);
        let same = told
            .iter()
            .zip(wanted)
            .all(|(told, wanted)| (told - wanted).abs() < 0.5);
        assert!(same, "{what}: {told:?} instead of {wanted:?}, {depth:?}");
    }

    async fn pass(&self, seconds: u64) {
        self.world.advance(Duration::from_secs(seconds)).await;
    }
}

/// kubernetes-sigs/controller-runtime#3066, kube-rs/kube#1917: a depth that ended at -1 or +1, or counted what was not ready.
#[tokio::test(start_paused = true)]
async fn the_depth_is_what_could_run_at_every_step() {
    let queue = Queue::new();
    queue.is("nothing is there", 0, 0, 0).await;
    queue.world.map("a").await;
    queue.is("it runs", 0, 1, 0).await;
    queue.pass(10).await;
    queue.is("it waits for its hour", 0, 0, 1).await;

    queue.world.touch("a", "1").await;
    queue.is("an event pulls it forward", 0, 1, 0).await;
    queue.world.touch("a", "2").await;
    queue.is("another comes while it runs", 0, 1, 0).await;
    queue.world.map("b").await;
    queue.is("there is room for one", 1, 1, 0).await;
    queue.world.touch("b", "1").await;
    queue.is("an event for one that is ready", 1, 1, 0).await;
    queue.pass(10).await;
    queue.is("one after the other", 1, 1, 0).await;
    queue.pass(10).await;
    queue.is("the last one runs", 0, 1, 1).await;
    queue.pass(10).await;
    queue.is("both wait", 0, 0, 2).await;

    queue.world.touch("a", "3").await;
    queue.is("once more", 0, 1, 1).await;
    queue.world.touch("b", "2").await;
    queue.world.delete_map("b").await;
    queue.is("one that is ready is deleted", 0, 1, 0).await;
    queue.world.delete_map("a").await;
    queue.is("one that runs is deleted", 0, 1, 0).await;
    queue.pass(10).await;
    queue.is("nothing is left to do", 0, 0, 0).await;
    queue.pass(7200).await;
    queue.is("at rest", 0, 0, 0).await;
}
