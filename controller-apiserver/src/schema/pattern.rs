//! Regular expressions of schemas.
//!
//! The server compiles them with Go's RE2 syntax. The syntax of the `regex` crate is nearly the
//! same; what it has beyond RE2 (set operations in classes) is not used in practice, and
//! what Go has beyond it is translated here.

use regex::{Regex, RegexBuilder};

/// The largest compiled program: a pattern is bounded by memory, not by trust.
const SIZE: usize = 1 << 20;

/// Compiles a pattern; an empty one matches everything.
pub(crate) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&translate(pattern)).size_limit(SIZE).build()
}

/// Rewrites what Go allows and the `regex` crate does not: `\/` and other escapes of punctuation
/// are literals there too, `\Q…\E` quotes, and `[[a]` holds a bare bracket.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('Q') => quote(&mut chars, &mut out),
                Some(next) => {
                    out.push('\\');
                    out.push(next);
                }
                None => out.push('\\'),
            },
            '[' if class && chars.peek() != Some(&':') => out.push_str("\\["),
            '[' if class => {
                // A named class such as `[:alpha:]` goes through whole.
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' => {
                class = true;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    out.push('^');
                    chars.next();
                }
                if chars.peek() == Some(&']') {
                    out.push_str("\\]");
                    chars.next();
                }
            }
            ']' => {
                class = false;
                out.push(']');
            }
            // Set operations of the `regex` crate are plain characters in Go.
            '&' | '~' if class && chars.peek() == Some(&c) => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

fn quote(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    let mut quoted = String::new();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.peek() == Some(&'E') {
            chars.next();
            break;
        }
        quoted.push(c);
    }
    out.push_str(&regex::escape(&quoted));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        compile(pattern).expect(pattern).is_match(text)
    }

    #[test]
    fn go_patterns_mean_what_they_mean_in_go() {
        assert!(matches("^[a-z]+$", "abc"));
        assert!(matches(r"\Qa.b\E+", "a.bb"));
        assert!(!matches(r"^\Qa.b\E$", "axb"));
        assert!(matches("[[a]", "["));
        assert!(matches("[]a]", "]"));
        assert!(matches("^[[:alpha:]_]+$", "a_b"));
        assert!(matches("[a&&b]", "&"));
        assert!(matches(r"^\/[a-z]", "/a"));
        assert!(matches(r"^(?:[^?]|\?)*\.\*$", "ab.*"));
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in ["(", "[a", "(?=a)", "(?!a)", r"a\1", "*", "a{2,1}"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_cannot_take_all_memory() {
        assert!(compile("((a{100}){100}){100}").is_err());
    }
}
