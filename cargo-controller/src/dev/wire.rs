//! What an operator's status endpoint says, as far as `dev` needs it.
//!
//! The operator may be older or newer than this program: fields and words that are not known are passed over.

use serde::Deserialize;

/// What `/status` answers.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct Status {
    pub(crate) ready: bool,
    pub(crate) controllers: Vec<Controller>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct Controller {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Which objects of the kind; `None` is all.
    pub(crate) selector: Option<String>,
    pub(crate) synced: bool,
    pub(crate) ended: Option<String>,
    pub(crate) queue: Queue,
    #[serde(default)]
    pub(crate) sources: Vec<Source>,
    #[serde(default)]
    pub(crate) objects: Vec<ObjectRun>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
pub(crate) struct Queue {
    pub(crate) ready: usize,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct Source {
    pub(crate) kind: String,
    pub(crate) state: String,
    pub(crate) message: Option<String>,
    #[serde(default)]
    pub(crate) undecodable: Vec<Undecodable>,
}

/// An object that could not be decoded, and why.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct Undecodable {
    pub(crate) object: Object,
    pub(crate) message: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct ObjectRun {
    #[serde(flatten)]
    pub(crate) object: Object,
    #[serde(flatten)]
    pub(crate) run: Run,
    /// Milliseconds since the run ended.
    pub(crate) ago_ms: Option<u64>,
}

/// One object, by kind, namespace and name.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl std::fmt::Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// One run of one object.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct Run {
    pub(crate) result: RunResult,
    pub(crate) error: Option<String>,
    #[serde(default)]
    pub(crate) failures: u32,
    #[serde(default)]
    pub(crate) duration_ms: u64,
    pub(crate) next_ms: Option<u64>,
    #[serde(default)]
    pub(crate) causes: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunResult {
    Ok,
    Error,
    Permanent,
    Panic,
    Timeout,
    #[serde(other)]
    Other,
}

/// A line of `/status/events`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Happening {
    Started {
        operator: String,
    },
    Synced {
        controller: String,
        after_ms: u64,
    },
    SourceFailing {
        controller: String,
        source: Kind,
        message: String,
    },
    SourceRecovered {
        controller: String,
        source: Kind,
    },
    Undecodable {
        object: Object,
        message: String,
    },
    Mended {
        object: Object,
    },
    MapperPanicked {
        controller: String,
        kind: String,
        message: String,
    },
    Reconciled {
        object: Object,
        #[serde(flatten)]
        run: Run,
    },
    Circle {
        object: Object,
        cycles: u32,
        #[serde(default)]
        fields: Vec<Flapping>,
    },
    Gone {
        object: Object,
    },
    ControllerFailed {
        controller: String,
        message: String,
    },
    Missed {
        lines: u64,
    },
    #[serde(other)]
    Other,
}

/// A field that keeps changing.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct Flapping {
    /// The object, if it is not the reconciled one.
    pub(crate) object: Option<String>,
    pub(crate) path: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct Kind {
    pub(crate) kind: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_from_a_newer_operator_is_passed_over() {
        let line = r#"{"at_ms":1,"type":"moon_rose","phase":"full"}"#;
        assert_eq!(serde_json::from_str::<Happening>(line).unwrap(), Happening::Other);
        let line = r#"{"at_ms":1,"type":"reconciled","controller":"d","object":{"kind":"Document","name":"a"},
                       "result":"dreamt","failures":0,"duration_ms":1,"causes":[],"mood":"fine"}"#;
        let Happening::Reconciled { run, .. } = serde_json::from_str(line).unwrap() else {
            panic!("not reconciled")
        };
        assert_eq!(run.result, RunResult::Other);
    }
}
