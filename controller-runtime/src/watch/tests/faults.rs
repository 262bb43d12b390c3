//! A virtual day under each fault: bounded requests, a true status, and recovery without a restart.

use std::time::Duration;

use controller_apiserver::{Fault, Verb, status::ApiError};

use super::server::{World, pass};
use crate::watch::{Config, Phase, StreamingLists};

pub(super) const HOUR: Duration = Duration::from_secs(3600);
/// A store may lag for as long as a watch may be silent; and a little.
pub(super) const LAG: Duration = Duration::from_secs(400);
/// At its longest the backoff lets 15 seconds pass, then a list and a watch may fail.
pub(super) const MOST_PER_DAY: usize = 24 * 60 * 4 * 2;

/// A fault for a day: from the very beginning with streaming lists, and later, when all was well, without.
async fn endures(faults: &[(Verb, Fault)]) {
    let inject = |world: &World| {
        for (verb, fault) in faults {
            world.fail(*verb, fault.clone());
        }
    };
    let mut world = World::new(Config::default()).await;
    inject(&world);
    world.start();
    a_day(&world).await;
    recovers(&world).await;

    let mut world = World::new(Config::default().streaming_lists(StreamingLists::Off)).await;
    world.start();
    world.until_level(LAG).await;
    inject(&world);
    world.server.close_watches();
    a_day(&world).await;
    recovers(&world).await;
}

async fn recovers(world: &World) {
    world.server.faults().clear();
    world.until_level(LAG).await;
    pass(HOUR).await;
    world.assert_level().await;
}

/// Something comes, something changes, and now and then something goes and the history with it.
pub(super) async fn an_hour(world: &World, hour: u32) {
    world.create(&format!("day-{hour}")).await;
    world.change(&format!("day-{hour}")).await;
    if hour % 3 == 2 {
        world.delete(&format!("day-{}", hour - 1)).await;
    }
    if hour % 6 == 5 {
        world.server.compact();
        world.server.close_watches();
    }
    pass(HOUR).await;
}

/// Changes every hour, and looks whether the status tells the truth in between.
pub(super) async fn a_day(world: &World) {
    let before = world.requests();
    for hour in 0..24 {
        an_hour(world, hour).await;
        let status = world.status();
        if world.stored() != world.truth().await {
            let problem = status.problem.as_ref();
            assert!(problem.is_some(), "blind, and does not say so: {status}");
            assert_eq!(status.phase, Phase::Failing, "{status}");
            assert!(
                status.to_string().contains("configmaps (ConfigMap v1)"),
                "{status}"
            );
        }
    }
    let asked = world.requests() - before;
    assert!(asked <= MOST_PER_DAY, "{asked} requests in a day");
}

/// 429 with a Retry-After that is longer than the backoff.
fn later() -> Fault {
    Fault::Answer(ApiError::new(429, "TooManyRequests", "later").retry_after(40))
}

fn expired() -> ApiError {
    ApiError::new(410, "Expired", "too old resource version: 1 (5)")
}

macro_rules! endured {
    ($($(#[$doc:meta])* $name:ident: $($verb:ident $fault:expr),+;)+) => {
        $($(#[$doc])* #[tokio::test(start_paused = true)]
        async fn $name() {
            endures(&[$((Verb::$verb, $fault)),+]).await;
        })+
    };
}

endured! {
    /// A 410 at the opening of a watch: kube-rs's watcher was seen to retry it 1,940 times in a day and never to list.
    a_watch_that_is_refused_as_expired: Watch Fault::Answer(expired());
    /// The same as an event. bitdriftlabs/pulse#52, vectordotdev/vector#17009: list, watch, expired, in a hot loop.
    a_watch_that_expires_at_once: Watch Fault::ErrorEvent { after: 0, status: expired() };
    a_watch_that_expires_after_some_events: Watch Fault::ErrorEvent { after: 3, status: expired() };
    a_watch_that_sends_an_error_event: Watch Fault::ErrorEvent { after: 1, status: ApiError::new(500, "InternalError", "etcd") };
    /// Waited for for ever without a deadline on headers.
    a_list_that_hangs: List Fault::Hang;
    a_watch_whose_opening_hangs: Watch Fault::Hang;
    everything_hangs: List Fault::Hang, Watch Fault::Hang;
    /// kube-rs/kube#1945, nolar/kopf#585, kubernetes-client/csharp#884: nothing arrives and nothing fails.
    a_watch_that_is_silent: Watch Fault::Silent;
    a_watch_that_is_cut_at_once: Watch Fault::Cut { after: 0 };
    a_watch_that_is_cut_after_some_events: Watch Fault::Cut { after: 2 };
    a_watch_that_ends_within_a_line: Watch Fault::Truncate { after: 1 };
    a_connection_that_breaks: List Fault::Disconnect, Watch Fault::Disconnect;
    /// kubernetes/kubernetes#140890: the end of the initial events is never marked.
    a_server_that_never_marks_the_end: Watch Fault::NoBookmarks;
    /// kubernetes/kubernetes#129408: a server that does not know streaming lists.
    a_server_without_streaming_lists: Watch Fault::RefuseStreamingLists;
    /// kube-rs/kube#1524: later pages of the first list are lost.
    small_pages: List Fault::SmallPages(2);
    a_continue_token_that_expires: List Fault::SmallPages(2), List Fault::ExpireContinue;
    /// Half of a page, half of a line, and then nothing.
    a_body_that_stalls: List Fault::StallBody, Watch Fault::StallBody;
    a_busy_server_that_asks_for_patience: List later(), Watch later();
    /// The other name of an expired revision.
    a_revision_that_is_gone: Watch Fault::Answer(ApiError::new(410, "Gone", "too old resource version"));
    a_list_that_is_refused_as_expired: List Fault::Answer(expired()), Watch Fault::Answer(expired());
    a_stale_list: List Fault::StaleReads(3);
    too_many_requests: List Fault::status(429), Watch Fault::status(429);
    an_expired_token: List Fault::status(401), Watch Fault::status(401);
    a_missing_right: List Fault::status(403), Watch Fault::status(403);
    only_the_right_to_list: Watch Fault::status(403);
    an_unavailable_server: List Fault::status(503), Watch Fault::status(503);
    a_broken_server: List Fault::status(500), Watch Fault::status(500);
    a_kind_that_is_not_served: List Fault::status(404), Watch Fault::status(404);
    slow_events: Watch Fault::DelayEvents(Duration::from_secs(2));
    a_watch_that_never_ends: Watch Fault::NoTimeout;
}
