//! Which benchmarks there are, and in which order their sides run.

use std::{collections::BTreeMap, process::Command, time::Duration};

use crate::{bare, kubes, measure::Readings, operators, ours, server::Shape, table};

/// How often each side runs.
const ROUNDS: usize = 7;

/// A benchmark: its name, the sides that take part, and the size.
struct Order {
    name: &'static str,
    size: usize,
    sides: &'static [&'static str],
}

const ALL: &[&str] = &["tokio", "kube-rs", "ours"];
const BOTH: &[&str] = &["kube-rs", "ours"];

const ORDERS: &[Order] = &[
    Order {
        name: "in flight",
        size: 1_000,
        sides: ALL,
    },
    Order {
        name: "in flight",
        size: 10_000,
        sides: ALL,
    },
    Order {
        name: "in flight",
        size: 100_000,
        sides: ALL,
    },
    Order {
        name: "storm",
        size: 1_000,
        sides: ALL,
    },
    Order {
        name: "storm",
        size: 100_000,
        sides: ALL,
    },
    Order {
        name: "waiting",
        size: 1_000,
        sides: BOTH,
    },
    Order {
        name: "waiting",
        size: 100_000,
        sides: BOTH,
    },
    Order {
        name: "first list, decoded",
        size: 100_000,
        sides: BOTH,
    },
    Order {
        name: "first list, JSON",
        size: 100_000,
        sides: BOTH,
    },
    Order {
        name: "first list, JSON of 5 KiB",
        size: 20_000,
        sides: BOTH,
    },
    Order {
        name: "relist unchanged",
        size: 50_000,
        sides: BOTH,
    },
    Order {
        name: "churn",
        size: 100_000,
        sides: BOTH,
    },
    Order {
        name: "store writes of 5 KiB",
        size: 20_000,
        sides: BOTH,
    },
    Order {
        name: "ten controllers, three kinds",
        size: 20_000,
        sides: BOTH,
    },
    Order {
        name: "ten controllers, three kinds of 5 KiB",
        size: 20_000,
        sides: BOTH,
    },
];

/// How long reconciles in flight sleep.
const SLEEP: Duration = Duration::from_secs(1);

/// How long to warm up and to measure, for tasks that sleep so long.
pub(crate) fn spans(sleep: Duration) -> (Duration, Duration) {
    if sleep < Duration::from_millis(100) {
        (Duration::from_secs(1), Duration::from_secs(3))
    } else {
        (sleep.mul_f64(1.5), sleep.max(Duration::from_secs(3)))
    }
}

/// Runs one side of one benchmark in this process.
pub(crate) fn run_one(name: &str, side: &str, size: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let job = runtime.spawn({
        let (name, side) = (name.to_owned(), side.to_owned());
        async move { one(&name, &side, size).await }
    });
    print!("{}", runtime.block_on(job).expect("the benchmark ran"));
    runtime.shutdown_background();
}

async fn one(name: &str, side: &str, size: usize) -> Readings {
    /// Each waits for one of fifty places.
    const PLACES: Option<u16> = Some(50);
    const SHORT: Duration = Duration::from_millis(2);
    match (name, side) {
        ("in flight", "tokio") => bare::in_flight(size, SLEEP).await,
        ("in flight", "kube-rs") => kubes::in_flight(size, SLEEP, None).await,
        ("in flight", "ours") => ours::in_flight(size, SLEEP, None).await,
        ("storm", "tokio") => bare::storm(size).await,
        ("storm", "kube-rs") => kubes::storm(size).await,
        ("storm", "ours") => ours::storm(size).await,
        ("waiting", "kube-rs") => kubes::in_flight(size, SHORT, PLACES).await,
        ("waiting", "ours") => ours::in_flight(size, SHORT, PLACES).await,
        ("first list, decoded", "kube-rs") => kubes::decoded(size).await,
        ("first list, decoded", "ours") => ours::decoded(size).await,
        ("first list, JSON", "kube-rs") => kubes::listed(size, Shape::Small).await,
        ("first list, JSON", "ours") => ours::listed(size, Shape::Small).await,
        ("first list, JSON of 5 KiB", "kube-rs") => kubes::listed(size, Shape::Large).await,
        ("first list, JSON of 5 KiB", "ours") => ours::listed(size, Shape::Large).await,
        ("relist unchanged", "kube-rs") => kubes::relisted(size).await,
        ("relist unchanged", "ours") => ours::relisted(size).await,
        ("churn", "kube-rs") => kubes::churned(size).await,
        ("churn", "ours") => ours::churned(size).await,
        ("store writes of 5 KiB", "kube-rs") => kubes::stored(size),
        ("store writes of 5 KiB", "ours") => ours::stored(size),
        ("ten controllers, three kinds", _) => operators::ten(side, size, Shape::Small).await,
        ("ten controllers, three kinds of 5 KiB", _) => operators::ten(side, size, Shape::Large).await,
        _ => panic!("no benchmark {name} with {side}"),
    }
}

/// Runs the benchmarks whose name contains one of `names`, in rounds, and prints the table.
pub(crate) fn run_all(names: &[String]) {
    let wanted =
        |order: &&Order| names.is_empty() || names.iter().any(|name| order.name.contains(name.as_str()));
    for order in ORDERS.iter().filter(wanted) {
        let mut figures = table::Figures::new();
        for round in 0..ROUNDS {
            eprintln!(
                "{} at {}: round {} of {ROUNDS}",
                order.name,
                order.size,
                round + 1
            );
            for side in order.sides {
                for (metric, value) in child(order, side) {
                    figures.add(&metric, side, value);
                }
            }
        }
        print!("{}", figures.rows(order.name, order.size, order.sides));
    }
}

/// Runs one side in a process of its own.
fn child(order: &Order, side: &str) -> BTreeMap<String, f64> {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .args(["child", order.name, side, &order.size.to_string()])
        .output()
        .expect("it starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let readings = text.lines().filter_map(|line| {
        let (metric, value) = line.split_once('=')?;
        Some((metric.to_owned(), value.parse().ok()?))
    });
    readings.collect()
}
