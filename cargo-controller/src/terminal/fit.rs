//! Texts in columns: how wide they are, and what is left of them in less room. Pure.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns that a text takes: two for 界, none for a combining accent.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text in exactly `columns`: filled with spaces, or cut, with `…` to say so.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let whole = width(text);
    if whole <= columns {
        return format!("{text}{}", " ".repeat(columns - whole));
    }
    let mut kept = String::new();
    let mut taken = 0;
    for c in text.chars() {
        let next = c.width().unwrap_or(0);
        if taken + next >= columns {
            break;
        }
        taken += next;
        kept.push(c);
    }
    if columns > 0 {
        kept.push('…');
        taken += 1;
    }
    format!("{kept}{}", " ".repeat(columns.saturating_sub(taken)))
}

/// The text in one line, without what would steer the terminal.
pub(crate) fn clean(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_control() || c.is_whitespace()) {
        if !word.is_empty() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_filled_or_cut_by_what_it_takes_on_the_screen() {
        assert_eq!(fit("ab", 4), "ab  ");
        assert_eq!(fit("abcde", 4), "abc…");
        assert_eq!(fit("abcde", 1), "…");
        assert_eq!(fit("abcde", 0), "");
        assert_eq!(fit("世界地図", 5), "世界…");
        assert_eq!(fit("世界地図", 4), "世… ", "half a character is none");
        assert_eq!(fit("e\u{301}e\u{301}", 2), "e\u{301}e\u{301}");
        for columns in 0..12 {
            for text in ["", "plain", "世界地図", "🦀 crab 🦀", "a\u{301}b\u{301}c\u{301}"] {
                assert_eq!(width(&fit(text, columns)), columns, "{text:?} in {columns}");
            }
        }
    }

    #[test]
    fn nothing_in_a_text_steers_the_terminal() {
        assert_eq!(clean("a\nb\t\x1b[31mc\r\n  d\u{7}"), "a b [31mc d");
    }
}
