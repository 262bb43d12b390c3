//! Any interleaving of changes and faults: when it is over, store and server are equal, and nobody was told anything false.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use controller_apiserver::{Fault, Verb, status::ApiError};
use proptest::{prelude::*, test_runner::Config as Cases};

use super::server::{Fold, World, asked, pass};
use crate::{
    store::Subscription,
    watch::{Config, StreamingLists},
};

#[derive(Clone, Debug)]
enum Act {
    Create(u8),
    Change(u8),
    Delete(u8),
    /// Every watch is cut.
    Cut,
    /// Old history is gone.
    Compact,
    /// The next few requests of one kind fail so.
    Fault(Verb, Fault, u32),
    Pass(u64),
    Subscribe,
}

fn fault() -> impl Strategy<Value = (Verb, Fault)> {
    let refusal = prop::sample::select(vec![401, 403, 404, 410, 429, 500, 503]).prop_map(Fault::status);
    let watch = prop_oneof![
        refusal.clone(),
        Just(Fault::Hang),
        Just(Fault::Disconnect),
        (0..4_usize).prop_map(|after| Fault::Cut { after }),
        (0..4_usize).prop_map(|after| Fault::Truncate { after }),
        (0..4_usize, any::<bool>()).prop_map(|(after, gone)| Fault::ErrorEvent {
            after,
            status: if gone {
                ApiError::new(410, "Expired", "too old resource version")
            } else {
                ApiError::new(500, "InternalError", "etcd")
            },
        }),
        (0..4_usize).prop_map(|at| Fault::Garbage { at }),
        Just(Fault::Silent),
        Just(Fault::NoBookmarks),
        Just(Fault::RefuseStreamingLists),
        (0..5000_u64).prop_map(|by| Fault::DelayEvents(Duration::from_millis(by))),
    ];
    let list = prop_oneof![
        refusal,
        Just(Fault::Hang),
        Just(Fault::Disconnect),
        (1..4_usize).prop_map(Fault::SmallPages),
        Just(Fault::ExpireContinue),
        (0..4_usize).prop_map(|at| Fault::Garbage { at }),
    ];
    prop_oneof![
        2 => watch.prop_map(|fault| (Verb::Watch, fault)),
        1 => list.prop_map(|fault| (Verb::List, fault)),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..8_u8).prop_map(Act::Create),
        4 => (0..8_u8).prop_map(Act::Change),
        3 => (0..8_u8).prop_map(Act::Delete),
        2 => Just(Act::Cut),
        1 => Just(Act::Compact),
        3 => (fault(), 1..4_u32).prop_map(|((verb, fault), times)| Act::Fault(verb, fault, times)),
        4 => prop_oneof![0..50_u64, 0..5_000_u64, 0..400_000_u64].prop_map(Act::Pass),
        1 => Just(Act::Subscribe),
    ]
}

async fn play(acts: &[Act], streaming: StreamingLists) {
    let mut world = World::new(Config::default().streaming_lists(streaming).page_size(3)).await;
    world.start();
    let mut late: Vec<(Arc<Mutex<Fold>>, Subscription)> = Vec::new();
    for act in acts {
        match act {
            Act::Create(n) => world.try_create(&format!("o{n}")).await,
            Act::Change(n) => world.try_change(&format!("o{n}")).await,
            Act::Delete(n) => world.try_delete(&format!("o{n}")).await,
            Act::Cut => world.server.close_watches(),
            Act::Compact => world.server.compact(),
            Act::Fault(verb, fault, times) => {
                world
                    .server
                    .faults()
                    .inject(asked(*verb).times(*times), fault.clone());
            }
            Act::Pass(milliseconds) => pass(Duration::from_millis(*milliseconds)).await,
            Act::Subscribe => {
                let fold = Arc::new(Mutex::new(Fold::default()));
                let heard = Arc::clone(&fold);
                let subscription = world
                    .informer
                    .subscribe(move |delta| heard.lock().unwrap().add(delta));
                late.push((fold, subscription));
            }
        }
    }
    world.server.faults().clear();
    // What could not be decoded stays as it was until it changes; so everything changes once, on sound streams.
    if acts
        .iter()
        .any(|act| matches!(act, Act::Fault(_, Fault::Garbage { .. }, _)))
    {
        world.server.close_watches();
    }
    for name in world.truth().await.into_keys() {
        world.try_change(&name.1).await;
    }
    world.until_level(Duration::from_secs(700)).await;
    let truth = world.truth().await;
    for (fold, _subscription) in &late {
        let fold = fold.lock().unwrap();
        assert_eq!(fold.broken, [""; 0]);
        assert_eq!(fold.contents, truth);
    }
}

proptest! {
    #![proptest_config(Cases { cases: 48, ..Cases::default() })]

    #[test]
    fn after_any_history_store_and_server_are_equal(acts in prop::collection::vec(act(), 0..40), streaming: bool) {
        let streaming = if streaming { StreamingLists::Auto } else { StreamingLists::Off };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(play(&acts, streaming));
    }
}
