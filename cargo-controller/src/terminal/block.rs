//! The lines at the bottom that change, below those that stay. Pure: it gives what is to be written.
//!
//! The cursor rests behind the last line of the block. To change it, it is erased from its first row down, and written anew; lines
//! that stay are written in between, so that they scroll away as always. A terminal that was made narrower has wrapped the old
//! lines: the rows to erase are counted by its new width.

use super::{fit::width, screen::Size};

/// What stands at the bottom now.
#[derive(Debug, Default)]
pub(crate) struct Block {
    lines: Vec<String>,
    /// The columns of each line, without what only colours.
    widths: Vec<usize>,
}

/// Begin and end of what a terminal shall show at once, if it can (DEC private mode 2026).
const AT_ONCE: [&str; 2] = ["\x1b[?2026h", "\x1b[?2026l"];

impl Block {
    /// Puts `staying` (whole lines) above, and `lines` at the bottom. Empty when nothing changes.
    pub(crate) fn update(&mut self, staying: &str, lines: Vec<String>, size: Size) -> String {
        if staying.is_empty() && lines == self.lines {
            return String::new();
        }
        let mut written = AT_ONCE[0].to_owned();
        written.push_str(&self.erase(size));
        written.push_str(staying);
        if !staying.is_empty() && !staying.ends_with('\n') {
            written.push('\n');
        }
        written.push_str(&lines.join("\n"));
        written.push_str(AT_ONCE[1]);
        self.widths = lines.iter().map(|line| width(&without_colour(line))).collect();
        self.lines = lines;
        written
    }

    /// Leaves the block where it is, with the cursor below.
    pub(crate) fn leave(&mut self) -> &'static str {
        let end = if self.lines.is_empty() { "" } else { "\n" };
        *self = Self::default();
        end
    }

    fn erase(&self, size: Size) -> String {
        let columns = size.columns.max(1);
        let rows: usize = self
            .widths
            .iter()
            .map(|width| width.div_ceil(columns).max(1))
            .sum();
        // What has scrolled out at the top cannot be reached. Row by row, because a screen that is cleared from its first row down is
        // kept in the history of some terminals.
        match rows.min(size.rows) {
            0 => String::new(),
            rows => format!("\r\x1b[2K{}", "\x1b[1A\x1b[2K".repeat(rows - 1)),
        }
    }
}

/// Without the sequences that colour, which all end in `m`.
fn without_colour(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("\x1b[") {
        plain.push_str(&rest[..at]);
        rest = rest[at..].split_once('m').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        columns: 20,
        rows: 10,
    };

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    /// What a terminal that obeys would show after all that was written.
    fn shown(written: &[String]) -> Vec<String> {
        let mut rows = vec![String::new()];
        let mut row = 0;
        for text in written {
            let mut rest = text.as_str();
            while let Some(c) = rest.chars().next() {
                if let Some(sequence) = rest.strip_prefix("\x1b[") {
                    let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                    let number = sequence[..end].parse::<usize>().unwrap_or(0);
                    match &sequence[end..=end] {
                        "A" => row -= number,
                        "K" => rows[row].clear(),
                        _ => {}
                    }
                    rest = &sequence[end + 1..];
                    continue;
                }
                match c {
                    '\n' => {
                        row += 1;
                        rows.resize_with(rows.len().max(row + 1), String::new);
                    }
                    '\r' => {}
                    c => rows[row].push(c),
                }
                rest = &rest[c.len_utf8()..];
            }
        }
        rows
    }

    #[test]
    fn lines_that_stay_scroll_away_above_those_that_change() {
        let mut block = Block::default();
        let written = [
            block.update("", lines(&["one", "two"]), SIZE),
            block.update("stays\n", lines(&["one", "2"]), SIZE),
            block.update("stays too", lines(&["only"]), SIZE),
            block.leave().to_owned(),
        ];
        assert_eq!(shown(&written), ["stays", "stays too", "only", ""]);
    }

    #[test]
    fn what_has_not_changed_is_not_written() {
        let mut block = Block::default();
        assert!(!block.update("", lines(&["one"]), SIZE).is_empty());
        assert_eq!(block.update("", lines(&["one"]), SIZE), "");
        assert!(!block.update("stays", lines(&["one"]), SIZE).is_empty());
    }

    #[test]
    fn a_narrower_terminal_has_wrapped_what_was_there() {
        let mut block = Block::default();
        let long = "\x1b[31m0123456789\x1b[0m";
        let _ = block.update("", lines(&[long, "ab"]), SIZE);
        let narrow = Size { columns: 4, rows: 10 };
        let written = block.update("", lines(&["x"]), narrow);
        assert_eq!(
            written.matches("\x1b[1A").count(),
            3,
            "10 in 4 are 3 rows, and one more"
        );
        let mut block = Block::default();
        let _ = block.update("", lines(&["a"; 9]), SIZE);
        let low = Size { columns: 20, rows: 5 };
        let written = block.update("", lines(&["x"]), low);
        assert_eq!(
            written.matches("\x1b[1A").count(),
            4,
            "no further than the screen"
        );
    }
}
