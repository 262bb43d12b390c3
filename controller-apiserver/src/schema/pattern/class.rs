//! Reads what stands in brackets, and escapes.

use std::fmt::Write as _;

use super::{Refusal, read::split};

/// The Perl classes as Go has them: of ASCII.
const PERL: [(char, &str); 6] = [
    ('d', "0-9"),
    ('D', "[^0-9]"),
    ('s', "\\t\\n\\f\\r "),
    ('S', "[^\\t\\n\\f\\r ]"),
    ('w', "0-9A-Za-z_"),
    ('W', "[^0-9A-Za-z_]"),
];

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Reads the class that a pattern begins with, writes it, and gives what follows.
///
/// Characters are written by their numbers, so that nothing is left that means more to the `regex` crate.
pub(super) fn read<'a>(pattern: &'a str, out: &mut String) -> Result<&'a str, Refusal> {
    let missing = || Refusal::new("missing closing ]", pattern);
    let mut rest = &pattern[1..];
    out.push('[');
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut first = true;
    loop {
        let (next, after) = split(rest).ok_or_else(missing)?;
        if next == ']' && !first {
            out.push(']');
            return Ok(after);
        }
        first = false;
        if let Some(after) = posix(rest, out)? {
            rest = after;
            continue;
        }
        if let Some((group, after)) = group(rest)? {
            out.push_str(&group);
            rest = after;
            continue;
        }
        let (low, after) = one(rest).and_then(|one| one.ok_or_else(missing))?;
        let _ = write!(out, "\\x{{{:X}}}", u32::from(low));
        let begin = rest;
        rest = after;
        let Some(behind) = rest.strip_prefix('-').filter(|behind| !behind.starts_with(']')) else {
            continue;
        };
        let (high, after) = one(behind).and_then(|one| one.ok_or_else(missing))?;
        if high < low {
            let range = &begin[..begin.len() - after.len()];
            return Err(Refusal::new("invalid character class range", range));
        }
        let _ = write!(out, "-\\x{{{:X}}}", u32::from(high));
        rest = after;
    }
}

/// One character of a class, plain or escaped; `None` at the end of the text.
fn one(text: &str) -> Result<Option<(char, &str)>, Refusal> {
    if text.starts_with('\\') {
        return escaped(text).map(Some);
    }
    Ok(split(text))
}

/// `[:alpha:]`, `[:^alpha:]`.
fn posix<'a>(text: &'a str, out: &mut String) -> Result<Option<&'a str>, Refusal> {
    let Some((name, after)) = text.strip_prefix("[:").and_then(|inside| inside.split_once(":]")) else {
        return Ok(None);
    };
    let whole = &text[..text.len() - after.len()];
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(Refusal::new("invalid character class range", whole));
    }
    out.push_str(whole);
    Ok(Some(after))
}

/// `\d` and its like, and `\p{…}`, as they stand in a class of the `regex` crate.
pub(super) fn group(text: &str) -> Result<Option<(String, &str)>, Refusal> {
    let Some((kind, after)) = text.strip_prefix('\\').and_then(split) else {
        return Ok(None);
    };
    if let Some((_, class)) = PERL.iter().find(|(name, _)| *name == kind) {
        return Ok(Some(((*class).to_owned(), after)));
    }
    if kind != 'p' && kind != 'P' {
        return Ok(None);
    }
    let invalid = |end: usize| Refusal::new("invalid character class range", &text[..end]);
    let (name, behind) = if let Some(inside) = after.strip_prefix('{') {
        inside.split_once('}').ok_or_else(|| invalid(text.len()))?
    } else {
        let (_, behind) = split(after).ok_or_else(|| invalid(text.len()))?;
        (&after[..after.len() - behind.len()], behind)
    };
    let (flipped, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
    let word = |c: char| c == '_' || c.is_ascii_alphabetic();
    if name.is_empty() || !name.chars().all(word) || !name.starts_with(|c: char| c.is_ascii_uppercase()) {
        return Err(invalid(text.len() - behind.len()));
    }
    if name == "Any" {
        // The crate knows it by this name only in braces.
        let all = if flipped == (kind == 'p') {
            "[^\\x{0}-\\x{10FFFF}]"
        } else {
            "\\x{0}-\\x{10FFFF}"
        };
        return Ok(Some((all.to_owned(), behind)));
    }
    let kind = if flipped == (kind == 'p') { 'P' } else { 'p' };
    Ok(Some((format!("\\{kind}{{{name}}}"), behind)))
}

/// The character that an escape stands for.
pub(super) fn escaped(text: &str) -> Result<(char, &str), Refusal> {
    let Some((kind, after)) = text.strip_prefix('\\').and_then(split) else {
        return Err(Refusal::new("trailing backslash at end of expression", ""));
    };
    let invalid = |behind: &str| {
        let end = text.len() - behind.len();
        Refusal::new("invalid escape sequence", &text[..end])
    };
    match kind {
        // A single digit would be a backreference.
        '1'..='7' if !after.starts_with(|c: char| ('0'..='7').contains(&c)) => Err(invalid(after)),
        '0'..='7' => {
            let digits = text[1..]
                .bytes()
                .take(3)
                .take_while(|digit| (b'0'..=b'7').contains(digit))
                .count();
            let (digits, behind) = text[1..].split_at(digits);
            number(digits, 8)
                .map(|c| (c, behind))
                .ok_or_else(|| invalid(behind))
        }
        'x' => {
            let (digits, behind) = match after.strip_prefix('{') {
                Some(inside) => inside.split_once('}').ok_or_else(|| invalid(""))?,
                None if after.is_char_boundary(2) && after.len() >= 2 => after.split_at(2),
                None => return Err(invalid("")),
            };
            number(digits, 16)
                .map(|c| (c, behind))
                .ok_or_else(|| invalid(behind))
        }
        'a' => Ok(('\x07', after)),
        'f' => Ok(('\x0C', after)),
        'n' => Ok(('\n', after)),
        'r' => Ok(('\r', after)),
        't' => Ok(('\t', after)),
        'v' => Ok(('\x0B', after)),
        // Escaped punctuation stands for itself.
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok((c, after)),
        _ => Err(invalid(after)),
    }
}

fn number(digits: &str, radix: u32) -> Option<char> {
    let plain = digits.chars().all(|digit| digit.is_digit(radix));
    u32::from_str_radix(digits, radix)
        .ok()
        .filter(|_| plain)
        .and_then(char::from_u32)
}
