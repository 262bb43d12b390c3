//! What cargo writes to its standard error: progress, which changes in place, and lines, which stay. Pure.
//!
//! Cargo ends a state of its progress bar by a carriage return, and a line by a line feed. Lines such as `Compiling serde` say
//! the same as the bar, so they are progress as well; what is left are warnings and errors.

/// A piece of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Where the build is: `12/34: serde, tokio`.
    Progress(String),
    /// A line for the reader, with its colours.
    Line(String),
}

/// The words that cargo begins a line about its own work with.
const WORK: &[&str] = &[
    "Adding",
    "Blocking",
    "Building",
    "Checking",
    "Compiling",
    "Dirty",
    "Downgrading",
    "Downloaded",
    "Downloading",
    "Fetch",
    "Finished",
    "Fresh",
    "Locking",
    "Removing",
    "Updating",
    "Upgrading",
];

/// Cuts the stream into pieces, wherever its reads end.
#[derive(Debug, Default)]
pub(super) struct Ear {
    pending: Vec<u8>,
}

impl Ear {
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Vec<Said> {
        let mut said = Vec::new();
        for byte in bytes {
            if matches!(byte, b'\r' | b'\n') {
                said.extend(self.end());
            } else {
                self.pending.push(*byte);
            }
        }
        said
    }

    /// What stands there without an end.
    pub(super) fn end(&mut self) -> Option<Said> {
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned();
        understand(text.strip_prefix("\x1b[K").unwrap_or(&text))
    }
}

fn understand(text: &str) -> Option<Said> {
    let plain = without_escapes(text);
    let words = plain.trim();
    if words.is_empty() {
        return None;
    }
    let first = words.split(' ').next().unwrap_or_default();
    if !plain.starts_with(' ') || !WORK.contains(&first) {
        return Some(Said::Line(text.trim_end().to_owned()));
    }
    let progress = match words.split_once(']') {
        Some((bar, behind)) if bar.contains('[') => behind.trim(),
        _ => words,
    };
    Some(Said::Progress(progress.to_owned()))
}

/// Cargo writes none but those that end in a letter.
fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split('\x1b');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(part.len(), |at| at + 1);
        plain.push_str(&part[end..]);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As cargo 1.95 wrote it to a pipe, with a bar and colours asked for.
    const WRITTEN: &str = "\x1b[1m\x1b[92m   Compiling\x1b[0m winnow v1.0.5\n\
        \x1b[1m\x1b[96m    Building\x1b[0m [=>      ] 1/10: equivalent, winnow     \r\x1b[K\
        \x1b[1m\x1b[91merror[E0308]\x1b[0m\x1b[1m: mismatched types\x1b[0m\n\
        \x20\x1b[1m\x1b[94m--> \x1b[0msrc/main.rs:1:24\n\n\
        \x1b[1m\x1b[96m    Building\x1b[0m [=====>  ] 9/10: tryadd(bin)     \r\x1b[K\
        \x1b[1m\x1b[91merror\x1b[0m: could not compile";

    #[test]
    fn progress_and_lines_are_told_apart() {
        let progress = |text: &str| Said::Progress(text.to_owned());
        let line = |text: &str| Said::Line(text.to_owned());
        let expected = [
            progress("Compiling winnow v1.0.5"),
            progress("1/10: equivalent, winnow"),
            line("\x1b[1m\x1b[91merror[E0308]\x1b[0m\x1b[1m: mismatched types\x1b[0m"),
            line(" \x1b[1m\x1b[94m--> \x1b[0msrc/main.rs:1:24"),
            progress("9/10: tryadd(bin)"),
            line("\x1b[1m\x1b[91merror\x1b[0m: could not compile"),
        ];
        for size in [1, 2, 3, 7, 64, WRITTEN.len()] {
            let mut ear = Ear::default();
            let mut said: Vec<_> = WRITTEN
                .as_bytes()
                .chunks(size)
                .flat_map(|bytes| ear.hear(bytes))
                .collect();
            said.extend(ear.end());
            assert_eq!(said, expected, "in reads of {size}");
        }
    }
}
