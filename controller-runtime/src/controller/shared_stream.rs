//! Streams of kube's shared reflectors, made to wake whoever polls them.
//!
//! Where an object is gone before its change is read, such a stream says `Pending` and leaves nobody to wake the reader,
//! for this change or for any later one. kube's own controller polls all its streams together, so that another wakes it;
//! here each stream is read by a task of its own.

use std::{
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use futures::{Stream, StreamExt, stream, task::AtomicWaker};

/// More changes than a shared reflector buffers. A stream that is `Pending` for ever is polled so often, once.
const MOST: usize = 1 << 16;

#[derive(Default)]
struct Bell(AtomicWaker);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }
}

/// The same stream, polled again for as long as it is pending and has kept no waker.
pub(super) fn awake<T: 'static>(
    shared: impl Stream<Item = T> + Send + 'static,
) -> impl Stream<Item = T> + Send + 'static {
    let mut shared = shared.boxed();
    let bell = Arc::new(Bell::default());
    stream::poll_fn(move |cx| {
        bell.0.register(cx.waker());
        for _ in 0..MOST {
            let waker = Waker::from(Arc::clone(&bell));
            let polled = shared.poll_next_unpin(&mut Context::from_waker(&waker));
            drop(waker);
            if polled.is_ready() || Arc::strong_count(&bell) > 1 {
                return polled;
            }
        }
        Poll::Pending
    })
}

#[cfg(test)]
mod tests {
    use futures::channel::mpsc;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::runtime::{WatchStreamExt, reflector, watcher::Event};

    use super::*;

    fn map(name: &str) -> ConfigMap {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.to_owned());
        map
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_and_went_does_not_put_the_stream_to_sleep() {
        let (events, receiver) = mpsc::unbounded();
        let (_reader, writer) = reflector::store_shared::<ConfigMap>(1024);
        let mut subscriber = awake(writer.subscribe().unwrap());
        let filling = tokio::spawn(
            receiver
                .map(Ok)
                .reflect_shared(writer)
                .for_each(|_| std::future::ready(())),
        );
        let reading = tokio::spawn(async move {
            let first = subscriber.next().await.unwrap();
            first.metadata.name.clone()
        });
        tokio::task::yield_now().await;
        for number in 0..20 {
            let name = number.to_string();
            events.unbounded_send(Event::Apply(map(&name))).unwrap();
            events.unbounded_send(Event::Delete(map(&name))).unwrap();
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        events.unbounded_send(Event::Apply(map("stays"))).unwrap();
        let read = tokio::time::timeout(std::time::Duration::from_secs(1), reading).await;
        assert_eq!(read.expect("it is woken").unwrap().as_deref(), Some("stays"));
        filling.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_is_never_ready_is_pending() {
        let mut never = awake(stream::pending::<()>());
        assert!(futures::poll!(never.next()).is_pending());
        let (sender, receiver) = mpsc::unbounded();
        let mut plain = awake(receiver);
        assert!(futures::poll!(plain.next()).is_pending());
        sender.unbounded_send(5).unwrap();
        assert_eq!(plain.next().await, Some(5));
    }
}
