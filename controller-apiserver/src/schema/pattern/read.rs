//! Reads a pattern outside of brackets.

use std::fmt::Write as _;

use super::{Refusal, class};

/// Go repeats nothing more often, in all nested repetitions together.
const MOST: u32 = 1000;

/// A pattern as the `regex` crate takes it.
pub(super) fn rewrite(pattern: &str) -> Result<String, Refusal> {
    let mut reader = Reader {
        whole: pattern,
        rest: pattern,
        out: String::with_capacity(pattern.len() + 8),
        groups: Vec::new(),
        inner: 1,
        atom: None,
        repeated: None,
    };
    while !reader.rest.is_empty() {
        reader.step()?;
    }
    if reader.groups.is_empty() {
        Ok(reader.out)
    } else {
        Err(Refusal::new("missing closing )", pattern))
    }
}

struct Reader<'a> {
    whole: &'a str,
    rest: &'a str,
    out: String,
    /// How often what is repeated most in each open group is repeated, before the group that is read.
    groups: Vec<u32>,
    /// The same of the group that is read.
    inner: u32,
    /// How often what was read last is repeated, if it can be repeated.
    atom: Option<u32>,
    /// The repetition that was read last, if nothing came after it.
    repeated: Option<&'a str>,
}

/// The first character of a text, and what follows it.
pub(super) fn split(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    chars.next().map(|first| (first, chars.as_str()))
}

impl<'a> Reader<'a> {
    fn step(&mut self) -> Result<(), Refusal> {
        let before = self.rest;
        let Some((first, after)) = split(before) else {
            return Ok(());
        };
        let repeated = self.repeated.take();
        match first {
            '(' => self.open(after),
            ')' => self.close(after),
            '[' => {
                self.rest = class::read(before, &mut self.out)?;
                self.done(1);
                Ok(())
            }
            '*' | '+' | '?' => self.repeat(before, after, None, repeated),
            '{' => {
                if let Some((counts, after)) = counts(after) {
                    return self.repeat(before, after, Some(counts), repeated);
                }
                self.literal('{', after);
                Ok(())
            }
            '\\' => self.escape(after),
            '|' => {
                self.out.push('|');
                self.rest = after;
                self.atom = None;
                Ok(())
            }
            '.' | '^' | '$' => {
                self.out.push(first);
                self.rest = after;
                self.done(1);
                Ok(())
            }
            _ => {
                self.literal(first, after);
                Ok(())
            }
        }
    }

    /// An atom was read that holds `times` repetitions.
    fn done(&mut self, times: u32) {
        self.atom = Some(times);
        self.inner = self.inner.max(times);
    }

    fn literal(&mut self, c: char, after: &'a str) {
        self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
        self.rest = after;
        self.done(1);
    }

    fn open(&mut self, after: &'a str) -> Result<(), Refusal> {
        let whole = self.rest;
        self.out.push('(');
        self.rest = after;
        if let Some(flags) = after.strip_prefix('?') {
            let named = ["P<", "<"].iter().find_map(|start| flags.strip_prefix(start));
            if let Some(name) = named {
                self.name(whole, name)?;
            } else if self.flags(whole, flags)? {
                return Ok(());
            }
        }
        self.groups.push(std::mem::replace(&mut self.inner, 1));
        self.atom = None;
        Ok(())
    }

    fn name(&mut self, whole: &str, name: &'a str) -> Result<(), Refusal> {
        let Some((name, after)) = name.split_once('>') else {
            return Err(Refusal::new("invalid named capture", whole));
        };
        let word = |c: char| c == '_' || c.is_ascii_alphanumeric();
        if name.is_empty() || !name.chars().all(word) {
            let end = whole.len() - after.len();
            return Err(Refusal::new("invalid named capture", &whole[..end]));
        }
        // Names are of no use here, and those of the crate do not begin with a digit.
        self.rest = after;
        Ok(())
    }

    /// The flags of a group; `true` when they stand alone, as in `(?i)`.
    fn flags(&mut self, whole: &str, flags: &'a str) -> Result<bool, Refusal> {
        let (mut negated, mut some) = (false, true);
        for (at, flag) in flags.char_indices() {
            match flag {
                'i' | 'm' | 's' | 'U' => some = true,
                '-' if !negated => (negated, some) = (true, false),
                ':' | ')' if some => {
                    let after = &flags[at + 1..];
                    let alone = flag == ')';
                    if alone && at == 0 {
                        self.out.push(')');
                    } else {
                        self.out.push('?');
                        self.out.push_str(&flags[..=at]);
                    }
                    self.rest = after;
                    return Ok(alone);
                }
                _ => {
                    let end = whole.len() - flags.len() + at + flag.len_utf8();
                    return Err(Refusal::new("invalid or unsupported Perl syntax", &whole[..end]));
                }
            }
        }
        Err(Refusal::new("invalid or unsupported Perl syntax", whole))
    }

    fn close(&mut self, after: &'a str) -> Result<(), Refusal> {
        let Some(outer) = self.groups.pop() else {
            return Err(Refusal::new("unexpected )", self.whole));
        };
        let times = std::mem::replace(&mut self.inner, outer);
        self.out.push(')');
        self.rest = after;
        self.done(times);
        Ok(())
    }

    fn repeat(
        &mut self,
        before: &'a str,
        after: &'a str,
        counts: Option<(u32, Option<u32>)>,
        repeated: Option<&'a str>,
    ) -> Result<(), Refusal> {
        let after = after.strip_prefix('?').unwrap_or(after);
        let operator = &before[..before.len() - after.len()];
        let Some(atom) = self.atom else {
            return Err(Refusal::new("missing argument to repetition operator", operator));
        };
        if let Some(repeated) = repeated {
            let both = &repeated[..repeated.len() - after.len()];
            return Err(Refusal::new("invalid nested repetition operator", both));
        }
        if let Some((least, most)) = counts {
            let times = most.unwrap_or(least);
            let all = atom.saturating_mul(times.max(1));
            if least > MOST || times > MOST || times < least || all > MOST {
                return Err(Refusal::new("invalid repeat count", operator));
            }
            self.done(all);
        }
        self.out.push_str(operator);
        self.rest = after;
        self.repeated = Some(before);
        Ok(())
    }

    fn escape(&mut self, after: &'a str) -> Result<(), Refusal> {
        let whole = self.rest;
        let Some((kind, behind)) = split(after) else {
            return Err(Refusal::new("trailing backslash at end of expression", ""));
        };
        match kind {
            'Q' => {
                let (quoted, behind) = behind.split_once("\\E").unwrap_or((behind, ""));
                for c in quoted.chars() {
                    self.literal(c, behind);
                }
                self.rest = behind;
                return Ok(());
            }
            'A' | 'z' => {
                self.out.push_str(&whole[..2]);
                self.rest = behind;
            }
            'b' | 'B' => {
                // Words are of ASCII there.
                let _ = write!(self.out, "(?-u:\\{kind})");
                self.rest = behind;
            }
            _ => {
                let Some((group, behind)) = class::group(whole)? else {
                    let (c, behind) = class::escaped(whole)?;
                    self.literal(c, behind);
                    return Ok(());
                };
                let _ = write!(self.out, "[{group}]");
                self.rest = behind;
            }
        }
        self.done(1);
        Ok(())
    }
}

/// `2}`, `2,}`, `2,5}`: how often, and what follows. Anything else is a plain bracket.
fn counts(text: &str) -> Option<((u32, Option<u32>), &str)> {
    let (inside, after) = text.split_once('}')?;
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        // What is too large for the type is too large for Go.
        let canonical = digits == "0" || !digits.starts_with('0');
        (plain && canonical).then(|| digits.parse().unwrap_or(u32::MAX))
    };
    let counts = match inside.split_once(',') {
        None => {
            let times = number(inside)?;
            (times, Some(times))
        }
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    Some((counts, after))
}
