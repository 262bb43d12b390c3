//! What can go wrong between a source and its server, and what follows from it.

use std::{fmt, time::Duration};

use kube::core::Status;

/// What a list or watch that is not found means: the namespace need not exist for it, but the kind must.
const UNKNOWN_KIND: &str = "; the API server does not know this kind: install its CRD (for the program's own kinds: run it \
                            with `crds` and apply what it prints)";

/// One failed request, or one broken stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Failure {
    /// The server said no: as a response, or as an `ERROR` event.
    Refused {
        status: Box<Status>,
        retry_after: Option<Duration>,
    },
    /// No headers, or no further piece of a list, within the limit.
    NoAnswer(Duration),
    /// A watch was silent for longer than it was to live.
    Silent(Duration),
    /// The request could not be made or the connection broke.
    Connection(String),
    /// What came is not what a list or watch sends.
    Malformed(String),
    /// The revision went back: the server has lost history.
    WentBack { from: String, to: String },
    /// A streaming list ended before its end was marked.
    NoEndMark,
    /// A watch ended at once, again and again.
    TooShort(Duration),
}

impl Failure {
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(status.code),
            _ => None,
        }
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, status } => retry_after.or_else(|| {
                let seconds = status.details.as_ref()?.retry_after_seconds;
                (seconds > 0).then(|| Duration::from_secs(seconds.into()))
            }),
            _ => None,
        }
    }

    /// The revision that a watch would go on from is of no use any more.
    pub(crate) fn loses_place(&self) -> bool {
        match self {
            // 410 Gone is how history that was compacted shows, 404 how a kind that is not served (any more) does: if
            // it is served again, it may be by another definition with other objects. A revision that is too large is one
            // that the server has lost, as after a backup was restored.
            Self::Refused { status, .. } => {
                matches!(status.code, 410 | 404)
                    || matches!(status.reason.as_str(), "Expired" | "Gone")
                    || has_cause(status, "ResourceVersionTooLarge")
            }
            // Going on from the same revision would bring the same text again.
            Self::WentBack { .. } | Self::Malformed(_) => true,
            _ => false,
        }
    }

    /// A streaming list failed as it does where the server does not know them: `Some(true)` when it says so.
    pub(crate) fn breaks_streaming(&self) -> Option<bool> {
        match self {
            Self::Refused { status, .. } => matches!(status.code, 400 | 422).then_some(true),
            Self::NoEndMark | Self::NoAnswer(_) => Some(false),
            _ => None,
        }
    }
}

fn has_cause(status: &Status, reason: &str) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.reason == reason)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { status, .. } => {
                write!(f, "{} {}: {}", status.code, status.reason, status.message)?;
                if status.code == 404 {
                    f.write_str(UNKNOWN_KIND)?;
                }
                Ok(())
            }
            Self::NoAnswer(limit) => write!(f, "no answer within {limit:?}"),
            Self::Silent(limit) => write!(f, "the watch was silent for {limit:?}"),
            Self::Connection(what) => write!(f, "connection: {what}"),
            Self::Malformed(what) => write!(f, "unexpected answer: {what}"),
            Self::WentBack { from, to } => write!(f, "the server's revision went back from {from} to {to}"),
            Self::NoEndMark => f.write_str("the streaming list ended without its end mark"),
            Self::TooShort(lived) => write!(f, "the watch was ended after {lived:?}"),
        }
    }
}
