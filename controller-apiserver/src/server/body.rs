//! Bodies of answers: bytes, or the lines of a watch.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use http_body::{Frame, SizeHint};

use super::client::Disconnected;
use super::flight::Flight;
use crate::watch::WatchStream;

/// The body of an answer.
pub struct Body(Kind);

enum Kind {
    /// One piece, or nothing any more. The request is in flight until it was taken.
    Whole(Option<Bytes>, Option<Flight>),
    /// One frame per event.
    Lines(BoxStream<'static, Bytes>),
    /// One piece, and then nothing, not even the end.
    Stalled(Option<Bytes>),
    /// One piece, and then the connection is gone.
    Cut(Option<Bytes>),
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Kind::Whole(..) => "Body(bytes)",
            Kind::Lines(_) => "Body(watch)",
            Kind::Stalled(_) => "Body(stalled)",
            Kind::Cut(_) => "Body(cut)",
        })
    }
}

impl Body {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self(Kind::Whole(Some(bytes), None))
    }

    pub(super) fn watch(stream: WatchStream) -> Self {
        let lines = stream::unfold(stream, |mut stream| async move {
            let line = stream.next().await?;
            Some((line, stream))
        });
        Self(Kind::Lines(lines.boxed()))
    }

    /// Half of the body, and then nothing.
    pub(super) fn stalled(self) -> Self {
        match self.0 {
            Kind::Whole(Some(bytes), _) => Self(Kind::Stalled(Some(bytes.slice(..bytes.len() / 2)))),
            other => Self(other),
        }
    }

    /// Half of the body, and then the end of the connection.
    pub(super) fn cut(self) -> Self {
        match self.stalled().0 {
            Kind::Stalled(half) => Self(Kind::Cut(half)),
            other => Self(other),
        }
    }

    /// The request counts as in flight until the body was read.
    pub(super) fn keep(&mut self, flight: Flight) {
        if let Kind::Whole(_, place) = &mut self.0 {
            *place = Some(flight);
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Disconnected;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Disconnected>>> {
        match &mut self.0 {
            Kind::Whole(bytes, flight) => {
                let frame = bytes
                    .take()
                    .filter(|bytes| !bytes.is_empty())
                    .map(|bytes| Ok(Frame::data(bytes)));
                *flight = None;
                Poll::Ready(frame)
            }
            Kind::Stalled(bytes) => match bytes.take() {
                Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                None => Poll::Pending,
            },
            Kind::Cut(bytes) => Poll::Ready(Some(match bytes.take() {
                Some(bytes) => Ok(Frame::data(bytes)),
                None => Err(Disconnected),
            })),
            Kind::Lines(lines) => lines
                .poll_next_unpin(cx)
                .map(|line| line.map(|line| Ok(Frame::data(line)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Whole(None, _))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes, _) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Lines(_) | Kind::Stalled(_) | Kind::Cut(_) => SizeHint::default(),
        }
    }
}
