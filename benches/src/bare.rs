//! The same work with tokio alone: the least that a task for each reconcile can cost.

use std::time::Duration;

use crate::{
    measure::{Counter, Readings},
    orders,
};

/// A task that sleeps and starts its successor.
pub(crate) async fn in_flight(count: usize, sleep: Duration) -> Readings {
    fn cycle(sleep: Duration, counter: Counter) {
        tokio::spawn(async move {
            tokio::time::sleep(sleep).await;
            counter.add();
            cycle(sleep, counter);
        });
    }
    let counter = Counter::default();
    for _ in 0..count {
        cycle(sleep, counter.clone());
    }
    let (warm_up, span) = orders::spans(sleep);
    counter.cost(warm_up, span).await
}

/// A loop that starts a task for each number a channel brings; the task sends its number back.
pub(crate) async fn storm(count: usize) -> Readings {
    let counter = Counter::default();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..count {
        sender.send(number).expect("the loop listens");
    }
    let done = counter.clone();
    tokio::spawn(async move {
        while let Some(number) = receiver.recv().await {
            done.add();
            let sender = sender.clone();
            tokio::spawn(async move { sender.send(number) });
        }
    });
    counter.cost(Duration::from_secs(1), Duration::from_secs(3)).await
}
