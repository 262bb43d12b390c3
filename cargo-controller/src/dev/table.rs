//! The objects of an operator as a table: how each is, when it ran last and runs next, what was wrong. Pure.

use super::{
    narrate::{Mood, duration},
    wire::{ObjectRun, RunResult, Status},
};
use crate::{
    paint::Palette,
    terminal::{Size, clean, fit, width},
};

/// What stands between two columns.
const GAP: &str = "  ";
/// An object's name is cut rather than let the others fall away.
const OBJECT: usize = 24;
/// With less room an error says nothing.
const ERROR: usize = 16;

/// One object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    object: String,
    state: State,
    /// Milliseconds since its last run ended, when the status was asked for.
    ago_ms: Option<u64>,
    next_ms: Option<u64>,
    failures: u32,
    error: String,
}

/// What most needs a look comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Broken,
    Failed,
    Panic,
    Timeout,
    Retry,
    Ok,
    Other,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Failed => "failed",
            Self::Panic => "panic",
            Self::Timeout => "timeout",
            Self::Retry => "retry",
            Self::Ok => "ok",
            Self::Other => "ran",
        }
    }

    fn mood(self) -> Mood {
        match self {
            Self::Broken | Self::Failed | Self::Panic | Self::Timeout => Mood::Bad,
            Self::Retry => Mood::Warn,
            Self::Ok => Mood::Good,
            Self::Other => Mood::Plain,
        }
    }
}

/// The rows of a status: what needs a look first, then by name.
pub(crate) fn rows(status: &Status) -> Vec<Row> {
    let mut rows = Vec::new();
    for controller in &status.controllers {
        for undecodable in controller.sources.iter().flat_map(|source| &source.undecodable) {
            rows.push(Row {
                object: clean(&undecodable.object.to_string()),
                state: State::Broken,
                ago_ms: None,
                next_ms: None,
                failures: 0,
                error: clean(&undecodable.message),
            });
        }
        rows.extend(controller.objects.iter().map(row));
    }
    rows.sort_by(|a, b| (a.state, &a.object).cmp(&(b.state, &b.object)));
    rows
}

fn row(run: &ObjectRun) -> Row {
    Row {
        object: clean(&run.object.to_string()),
        state: match run.run.result {
            RunResult::Ok => State::Ok,
            RunResult::Error => State::Retry,
            RunResult::Permanent => State::Failed,
            RunResult::Panic => State::Panic,
            RunResult::Timeout => State::Timeout,
            RunResult::Other => State::Other,
        },
        ago_ms: run.ago_ms,
        next_ms: run.run.next_ms,
        failures: run.run.failures,
        error: clean(run.run.error.as_deref().unwrap_or_default()),
    }
}

/// How many rows are in each state: `7 ok, 1 retry`.
pub(crate) fn count(rows: &[Row]) -> String {
    let mut counts: Vec<(State, usize)> = Vec::new();
    for row in rows {
        match counts.last_mut() {
            Some((state, count)) if *state == row.state => *count += 1,
            _ => counts.push((row.state, 1)),
        }
    }
    let counts = counts
        .iter()
        .rev()
        .map(|(state, count)| format!("{count} {}", state.word()));
    counts.collect::<Vec<_>>().join(", ")
}

/// Something to tell of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Object,
    State,
    Last,
    Next,
    Failures,
    Error,
}

impl Column {
    const ALL: [Self; 6] = [
        Self::Object,
        Self::State,
        Self::Last,
        Self::Next,
        Self::Failures,
        Self::Error,
    ];
    /// What is left out first on a narrow terminal.
    const LEAVING: [Self; 4] = [Self::Last, Self::Failures, Self::Next, Self::Error];

    fn head(self) -> &'static str {
        match self {
            Self::Object => "OBJECT",
            Self::State => "STATE",
            Self::Last => "LAST RUN",
            Self::Next => "NEXT RUN",
            Self::Failures => "FAILURES",
            Self::Error => "LAST ERROR",
        }
    }

    fn cell(self, row: &Row, age_ms: u64) -> String {
        match self {
            Self::Object => row.object.clone(),
            Self::State => row.state.word().to_owned(),
            Self::Last => row.ago_ms.map_or_else(String::new, |ago| {
                format!("{} ago", rough(ago.saturating_add(age_ms)))
            }),
            Self::Next => row
                .next_ms
                .map_or_else(String::new, |next| match next.saturating_sub(age_ms) {
                    0..1_000 => "now".to_owned(),
                    next => format!("in {}", rough(next)),
                }),
            Self::Failures if row.failures == 0 => String::new(),
            Self::Failures => row.failures.to_string(),
            Self::Error => row.error.clone(),
        }
    }
}

/// Whole seconds: tenths would flicker.
pub(crate) fn rough(ms: u64) -> String {
    duration(ms / 1_000 * 1_000).replace("0 ms", "0 s")
}

/// The table, `age_ms` after the status was asked for: at most `size.rows` lines, each narrower than `size.columns`.
pub(crate) fn draw(rows: &[Row], age_ms: u64, size: Size, palette: Palette) -> Vec<String> {
    if rows.is_empty() || size.rows < 2 {
        return Vec::new();
    }
    // The last column of a terminal stays free: some wrap when it is written to.
    let columns = size.columns.saturating_sub(1);
    let room = size.rows - 1;
    let (shown, hidden) = if rows.len() <= room {
        rows.split_at(rows.len())
    } else {
        rows.split_at(room - 1)
    };
    let widths = widths(shown, age_ms, columns);
    let cut = |text: String| fit(&text, columns).trim_end().to_owned();
    let mut lines = vec![palette.dim(&cut(line(&widths, |column| column.head().to_owned())))];
    for row in shown {
        let text = cut(line(&widths, |column| column.cell(row, age_ms)));
        // The word's place in the line is known, whatever it says.
        let start = widths[0].1 + GAP.len();
        let end = start + row.state.word().len();
        let at = |columns: usize| byte_at(&text, columns);
        lines.push(if end > columns {
            text
        } else {
            let (before, rest) = text.split_at(at(start));
            let (word, after) = rest.split_at(at(end) - at(start));
            format!("{before}{}{after}", row.state.mood().paint(palette, word))
        });
    }
    if !hidden.is_empty() {
        let text = format!("… and {} more: {}", hidden.len(), count(hidden));
        lines.push(palette.dim(fit(&text, columns).trim_end()));
    }
    lines
}

fn line(widths: &[(Column, usize)], cell: impl Fn(Column) -> String) -> String {
    let cells: Vec<_> = widths
        .iter()
        .map(|(column, width)| fit(&cell(*column), *width))
        .collect();
    cells.join(GAP).trim_end().to_owned()
}

/// Where in the text a column begins.
fn byte_at(text: &str, columns: usize) -> usize {
    let mut end = text.len();
    for (at, _) in text.char_indices() {
        if width(&text[..at]) >= columns {
            end = at;
            break;
        }
    }
    end
}

/// The columns that fit, and how wide each is.
fn widths(rows: &[Row], age_ms: u64, columns: usize) -> Vec<(Column, usize)> {
    let widest = |column: Column| {
        let cells = rows.iter().map(|row| width(&column.cell(row, age_ms)));
        cells.max().unwrap_or(0).max(column.head().len())
    };
    let mut widths: Vec<_> = Column::ALL
        .iter()
        .map(|column| (*column, widest(*column)))
        .collect();
    let least = |(column, width): &(Column, usize)| match column {
        Column::Object => (*width).min(OBJECT),
        Column::Error => (*width).min(ERROR),
        _ => *width,
    };
    let gaps = |number: usize| GAP.len() * number.saturating_sub(1);
    for leaving in Column::LEAVING {
        if widths.iter().map(least).sum::<usize>() + gaps(widths.len()) <= columns {
            break;
        }
        widths.retain(|(column, _)| *column != leaving);
    }
    let fixed: usize = widths
        .iter()
        .filter(|(column, _)| !matches!(column, Column::Object | Column::Error))
        .map(|(_, width)| width)
        .sum();
    let free = columns.saturating_sub(fixed + gaps(widths.len()));
    // The error gets what the names leave, but not less than it needs to say something.
    let error = widths
        .iter()
        .find(|(column, _)| *column == Column::Error)
        .map_or(0, least);
    let object = widths[0].1.min(free.saturating_sub(error));
    for (column, width) in &mut widths {
        match column {
            Column::Object => *width = object,
            Column::Error => *width = (*width).min(free - object),
            _ => {}
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(objects: &str) -> Status {
        let broken = r#"{"object":{"kind":"Document","namespace":"default","name":"typo"},"uid":"u","message":"spec.title:\ninvalid type"}"#;
        serde_json::from_str(&format!(
            r#"{{"ready":true,"controllers":[{{"name":"document","kind":"Document","synced":true,
                "queue":{{"ready":0,"running":0,"waiting":0}},"sources":[
                {{"kind":"Document","state":"watching","since_ms":1,"undecodable":[{broken}]}}],"objects":[{objects}]}}]}}"#
        ))
        .unwrap()
    }

    fn object(name: &str, rest: &str) -> String {
        format!(r#"{{"kind":"Document","namespace":"default","name":"{name}","failures":0,{rest}}}"#)
    }

    fn some() -> Vec<Row> {
        rows(&status(
            &[
                object("welcome", r#""result":"ok","ago_ms":61000,"next_ms":300000"#),
                r#"{"kind":"Document","namespace":"default","name":"early","result":"error","failures":3,"ago_ms":400,"next_ms":2600,"error":"secret \"late\" is not there"}"#.to_owned(),
                object("世界", r#""result":"permanent","ago_ms":5000,"error":"title is blank""#),
            ]
            .join(","),
        ))
    }

    fn drawn(columns: usize, rows: usize) -> Vec<String> {
        draw(&some(), 2_000, Size { columns, rows }, Palette::Plain)
    }

    #[test]
    fn what_needs_a_look_comes_first_and_time_goes_on() {
        assert_eq!(
            drawn(100, 10),
            [
                "OBJECT                    STATE   LAST RUN   NEXT RUN  FAILURES  LAST ERROR",
                "Document default/typo     broken                                 spec.title: invalid type",
                "Document default/世界     failed  7 s ago                        title is blank",
                "Document default/early    retry   2 s ago    now       3         secret \"late\" is not there",
                "Document default/welcome  ok      1 min ago  in 4 min",
            ]
        );
        assert_eq!(count(&some()), "1 ok, 1 retry, 1 failed, 1 broken");
    }

    #[test]
    fn a_narrow_terminal_drops_columns_and_then_cuts() {
        assert_eq!(
            drawn(74, 10)[0],
            "OBJECT                    STATE   NEXT RUN  FAILURES  LAST ERROR"
        );
        assert_eq!(
            drawn(62, 10)[3],
            "Document default/early    retry   now       secret \"late\" is…"
        );
        assert_eq!(drawn(40, 10)[3], "Document default/early    retry");
        assert_eq!(drawn(24, 10)[3], "Document defau…  retry");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        assert_eq!(drawn(80, 4)[3], "… and 2 more: 1 ok, 1 retry");
        assert_eq!(drawn(80, 4).len(), 4);
        assert_eq!(drawn(80, 5).len(), 5);
        assert!(drawn(80, 1).is_empty());
    }

    #[test]
    fn nothing_is_wider_or_higher_than_the_terminal() {
        for columns in 0..120 {
            for rows in 0..8 {
                let lines = drawn(columns, rows);
                assert!(lines.len() <= rows, "{columns}x{rows}: {lines:#?}");
                for line in lines {
                    assert!(
                        width(&line) <= columns.saturating_sub(1),
                        "{columns}x{rows}: {line:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn only_the_state_is_coloured() {
        let lines = draw(
            &some(),
            0,
            Size {
                columns: 100,
                rows: 10,
            },
            Palette::Ansi,
        );
        assert!(
            lines[2].contains("世界     \x1b[1;31mfailed\x1b[0m  5 s ago"),
            "{:?}",
            lines[2]
        );
        assert!(lines[4].contains("\x1b[32mok\x1b[0m"), "{:?}", lines[4]);
    }
}
