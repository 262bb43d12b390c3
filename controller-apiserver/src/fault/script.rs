//! Faults as JSON, for those who inject them over the admin path.

use std::time::Duration;

use serde::Deserialize;

use super::{Fault, When, refusal};
use crate::call::Verb;

/// A fault, and which requests it concerns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    #[serde(default)]
    when: Conditions,
    fault: Kind,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Conditions {
    verb: Option<String>,
    group: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    agent: Option<String>,
    times: Option<u32>,
    skip: u32,
    chance: Option<f64>,
}

/// [`Fault`] by its word, with its numbers.
#[derive(Debug, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
enum Kind {
    Answer {
        code: u16,
        retry_after_seconds: Option<u32>,
    },
    Delay {
        milliseconds: u64,
    },
    Hang,
    Disconnect,
    LoseAnswer,
    HangAfter,
    Cut {
        after: usize,
    },
    Silent,
    Truncate {
        after: usize,
    },
    ErrorEvent {
        after: usize,
        code: u16,
    },
    Garbage {
        at: usize,
    },
    NoBookmarks,
    NoTimeout,
    DelayEvents {
        milliseconds: u64,
    },
    RefuseStreamingLists,
    SmallPages {
        size: usize,
    },
    ExpireContinue,
    ForgetContinue,
    StaleReads {
        revisions: u64,
    },
    StallBody,
    CutBody,
}

impl Script {
    /// Reads a fault.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, and where.
    pub(crate) fn read(text: &[u8]) -> Result<(When, Fault), String> {
        let script: Self = serde_json::from_slice(text).map_err(|error| format!("no fault: {error}"))?;
        Ok((script.when.read()?, script.fault.read()))
    }
}

impl Conditions {
    fn read(self) -> Result<When, String> {
        let verb = self
            .verb
            .map(|word| Verb::parse(&word).ok_or_else(|| format!("when.verb: there is no verb {word:?}")))
            .transpose()?;
        if self.chance.is_some_and(|chance| !(0.0..=1.0).contains(&chance)) {
            return Err("when.chance: a probability is from 0 to 1".to_owned());
        }
        Ok(When {
            verb,
            group: self.group,
            resource: self.resource,
            subresource: self.subresource,
            namespace: self.namespace,
            name: self.name,
            agent: self.agent,
            times: self.times,
            skip: self.skip,
            chance: self.chance,
        })
    }
}

impl Kind {
    fn read(self) -> Fault {
        match self {
            Self::Answer {
                code,
                retry_after_seconds,
            } => Fault::Answer(match retry_after_seconds {
                Some(seconds) => refusal(code).retry_after(seconds),
                None => refusal(code),
            }),
            Self::Delay { milliseconds } => Fault::Delay(Duration::from_millis(milliseconds)),
            Self::Hang => Fault::Hang,
            Self::Disconnect => Fault::Disconnect,
            Self::LoseAnswer => Fault::LoseAnswer,
            Self::HangAfter => Fault::HangAfter,
            Self::Cut { after } => Fault::Cut { after },
            Self::Silent => Fault::Silent,
            Self::Truncate { after } => Fault::Truncate { after },
            Self::ErrorEvent { after, code } => Fault::ErrorEvent {
                after,
                status: refusal(code),
            },
            Self::Garbage { at } => Fault::Garbage { at },
            Self::NoBookmarks => Fault::NoBookmarks,
            Self::NoTimeout => Fault::NoTimeout,
            Self::DelayEvents { milliseconds } => Fault::DelayEvents(Duration::from_millis(milliseconds)),
            Self::RefuseStreamingLists => Fault::RefuseStreamingLists,
            Self::SmallPages { size } => Fault::SmallPages(size),
            Self::ExpireContinue => Fault::ExpireContinue,
            Self::ForgetContinue => Fault::ForgetContinue,
            Self::StaleReads { revisions } => Fault::StaleReads(revisions),
            Self::StallBody => Fault::StallBody,
            Self::CutBody => Fault::CutBody,
        }
    }
}
