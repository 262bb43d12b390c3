//! What happens, in a person's words: one line each, to standard output.
//!
//! A line is a time, a word, and the rest; the word alone is coloured, so that plain output says as much.

use std::time::Duration;

use super::wire::{Flapping, Happening, Object, Run, RunResult};
use crate::{
    manifest::{Manifest, Outcome, Problem},
    paint::Palette,
};

/// How a line feels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Good,
    Bad,
    Warn,
    Plain,
}

impl Mood {
    pub(crate) fn paint(self, palette: Palette, text: &str) -> String {
        match self {
            Self::Good => palette.good(text),
            Self::Bad => palette.bad(text),
            Self::Warn => palette.warn(text),
            Self::Plain => palette.strong(text),
        }
    }
}

/// A word and what there is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) mood: Mood,
    pub(crate) word: &'static str,
    pub(crate) text: String,
}

impl Line {
    pub(crate) fn new(mood: Mood, word: &'static str, text: impl Into<String>) -> Self {
        Self {
            mood,
            word,
            text: text.into(),
        }
    }

    pub(crate) fn render(&self, palette: Palette, since_start: Duration) -> String {
        let word = self.mood.paint(palette, &format!("{:<8}", self.word));
        let time = palette.dim(&format!("{:>7.2}s", since_start.as_secs_f64()));
        // The rest of a text of several lines stands under its first.
        let text = self.text.trim_end().replace('\n', "\n                   ");
        format!("{time}  {word} {text}")
    }
}

/// `None` for what a person need not read.
pub(crate) fn happening(happening: &Happening) -> Option<Line> {
    Some(match happening {
        Happening::Started { operator } => Line::new(
            Mood::Plain,
            "started",
            format!("{operator} is running, and fills its caches"),
        ),
        Happening::Synced { controller, after_ms } => Line::new(
            Mood::Good,
            "ready",
            format!("{controller}: all caches in sync after {}", duration(*after_ms)),
        ),
        Happening::SourceFailing {
            controller,
            source,
            message,
        } => Line::new(
            Mood::Bad,
            "source",
            format!("{controller} cannot watch {}: {message}", source.kind),
        ),
        Happening::SourceRecovered { controller, source } => Line::new(
            Mood::Good,
            "source",
            format!("{controller} watches {} again", source.kind),
        ),
        Happening::Undecodable { object, message } => Line::new(
            Mood::Bad,
            "broken",
            format!("{object} cannot be read: {message}; it is read again when it changes, all others go on"),
        ),
        Happening::Mended { object } => Line::new(
            Mood::Good,
            "mended",
            format!("{object} is readable again, or gone"),
        ),
        Happening::MapperPanicked {
            controller,
            kind,
            message,
        } => Line::new(
            Mood::Bad,
            "panic",
            format!("{controller}: what is asked of each {kind} panicked: {message}"),
        ),
        Happening::Reconciled { object, run } => reconciled(object, run),
        Happening::Circle {
            object,
            cycles,
            fields,
        } => Line::new(Mood::Warn, "circle", circle(object, *cycles, fields)),
        Happening::Gone { object } => Line::new(Mood::Plain, "gone", object.to_string()),
        Happening::ControllerFailed { controller, message } => {
            Line::new(Mood::Bad, "ended", format!("{controller}: {message}"))
        }
        Happening::Missed { lines } => Line::new(
            Mood::Warn,
            "missed",
            format!("{lines} lines: more happened than could be told"),
        ),
        Happening::Other => return None,
    })
}

/// An object runs because of what its own runs bring about.
fn circle(object: &Object, cycles: u32, fields: &[Flapping]) -> String {
    let fields: Vec<_> = fields
        .iter()
        .map(|field| match &field.object {
            Some(of) => format!("{} of {of}", field.path),
            None => field.path.clone(),
        })
        .collect();
    let fields = if fields.is_empty() {
        "what changes is not known".to_owned()
    } else {
        fields.join(", ")
    };
    format!(
        "{object} ran {cycles} times in a row because of what its own runs bring about, and is slowed: {fields}"
    )
}

fn reconciled(object: &Object, run: &Run) -> Line {
    let mut text = object.to_string();
    let error = run.error.as_deref().unwrap_or("no reason given");
    let (mood, word) = match run.result {
        RunResult::Ok => (Mood::Good, "ok"),
        RunResult::Permanent => (Mood::Bad, "failed"),
        RunResult::Panic => (Mood::Bad, "panic"),
        RunResult::Timeout => (Mood::Bad, "timeout"),
        RunResult::Error => (Mood::Warn, "error"),
        RunResult::Other => (Mood::Plain, "ran"),
    };
    if run.result != RunResult::Ok {
        text = format!("{text}: {error}");
    }
    let mut notes = vec![format!("took {}", duration(run.duration_ms))];
    if !run.causes.is_empty() {
        notes.push(format!("because: {}", run.causes.join(", ")));
    }
    if run.failures > 1 {
        notes.push(format!("{} failures in a row", run.failures));
    }
    match (run.result, run.next_ms) {
        (RunResult::Permanent, _) => notes.push("runs again when it changes".to_owned()),
        // It was asked to run again while it ran; its next line tells why.
        (_, Some(0)) => {}
        (_, Some(next)) => notes.push(format!("runs again in {}", duration(next))),
        _ => {}
    }
    Line::new(mood, word, format!("{text}  ({})", notes.join("; ")))
}

pub(crate) fn applied(manifest: &Manifest, outcome: Outcome) -> Option<Line> {
    let word = match outcome {
        Outcome::Created => "created",
        Outcome::Changed => "changed",
        Outcome::Unchanged => return None,
    };
    Some(Line::new(
        Mood::Plain,
        word,
        format!("{}  ({})", manifest.title(), manifest.place.file),
    ))
}

pub(crate) fn refused(problem: &Problem) -> Line {
    Line::new(Mood::Bad, "manifest", problem.to_string())
}

/// As a person says it: 3 ms, 1.5 s, 2 min, 3 h.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => {
            let tenths = ms / 100;
            match tenths % 10 {
                0 => format!("{} s", tenths / 10),
                part => format!("{}.{part} s", tenths / 10),
            }
        }
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        _ => format!("{} h", ms / 3_600_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(json: &str) -> String {
        let happening: Happening = serde_json::from_str(json).unwrap();
        let line = super::happening(&happening).unwrap();
        line.render(Palette::Plain, Duration::from_millis(1250))
    }

    #[test]
    fn a_success_an_error_and_a_failure_for_good() {
        let object = r#""object":{"kind":"Document","namespace":"default","name":"a"}"#;
        assert_eq!(
            line(&format!(
                r#"{{"type":"reconciled",{object},"result":"ok","failures":0,"duration_ms":3,"causes":["first list"]}}"#
            )),
            "   1.25s  ok       Document default/a  (took 3 ms; because: first list)"
        );
        assert_eq!(
            line(&format!(
                r#"{{"type":"reconciled",{object},"result":"error","error":"no secret","failures":2,"duration_ms":3,"next_ms":1900,"causes":[]}}"#
            )),
            "   1.25s  error    Document default/a: no secret  (took 3 ms; 2 failures in a row; runs again in 1.9 s)"
        );
        assert_eq!(
            line(&format!(
                r#"{{"type":"reconciled",{object},"result":"permanent","error":"no title","failures":1,"duration_ms":3,"causes":[]}}"#
            )),
            "   1.25s  failed   Document default/a: no title  (took 3 ms; runs again when it changes)"
        );
    }

    #[test]
    fn an_object_that_cannot_be_read_and_its_end() {
        let object = r#""controller":"d","object":{"kind":"Document","namespace":"default","name":"a"}"#;
        assert_eq!(
            line(&format!(
                r#"{{"type":"undecodable",{object},"uid":"u","message":"spec.title: invalid type: integer, expected a string"}}"#
            )),
            "   1.25s  broken   Document default/a cannot be read: spec.title: invalid type: integer, expected a string; \
             it is read again when it changes, all others go on"
        );
        assert_eq!(
            line(&format!(r#"{{"type":"mended",{object}}}"#)),
            "   1.25s  mended   Document default/a is readable again, or gone"
        );
    }

    #[test]
    fn an_object_that_runs_in_circles() {
        let told = r#"{"type":"circle","controller":"d","object":{"kind":"Document","namespace":"default","name":"a"},"cycles":23,
            "delay_ms":1000,"fields":[{"object":"Secret default/b","path":"data.x","how":"back_and_forth"},{"path":"status.at","how":"always_new"}]}"#;
        assert_eq!(
            line(told),
            "   1.25s  circle   Document default/a ran 23 times in a row because of what its own runs bring about, and is slowed: \
             data.x of Secret default/b, status.at"
        );
    }

    #[test]
    fn durations_are_told_as_people_tell_them() {
        let told: Vec<_> = [0, 999, 1_000, 1_550, 59_999, 60_000, 7_200_000]
            .map(duration)
            .into();
        assert_eq!(told, ["0 ms", "999 ms", "1 s", "1.5 s", "59.9 s", "1 min", "2 h"]);
    }
}
