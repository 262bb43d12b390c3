//! Patterns against Go's tables of what they mean and what is refused.

use proptest::prelude::*;

use super::*;

fn matches(pattern: &str, text: &str) -> bool {
    compile(pattern).expect(pattern).is_match(text)
}

#[test]
fn go_patterns_mean_what_they_mean_in_go() {
    for (pattern, yes, no) in [
        ("^[a-z]+$", "abc", "aBc"),
        (r"\Qa.b\E+", "a.bb", "axb"),
        (r"^\Qa.b\E$", "a.b", "axb"),
        (r"^\Qa\", r"a\b", "a"),
        ("[[a]", "[", "b"),
        ("[]a]", "]", "b"),
        ("[^]a]", "b", "]"),
        ("^[[:alpha:]_]+$", "a_b", "é"),
        ("^[[:^alpha:]]$", "é", "a"),
        (r"^\/[a-z]", "/a", "a"),
        (r"^(?:[^?]|\?)*\.\*$", "ab.*", "ab"),
        // Perl classes are of ASCII, in brackets and outside, and negated too.
        (r"^\d+$", "42", "٣"),
        (r"^[\d]$", "4", "٣"),
        (r"^\D$", "٣", "4"),
        (r"^[\D]$", "٣", "4"),
        (r"^[^\D]$", "4", "٣"),
        (r"^\w+$", "e_1", "é"),
        (r"^\W$", "é", "e"),
        (r"^[\w-]+$", "a-b", "é"),
        (r"^\s$", "\t", "\u{a0}"),
        (r"^\s$", "\u{c}", "\u{b}"),
        (r"^\S$", "\u{a0}", " "),
        (r"a\b", "aé", "ab"),
        // What means more to the `regex` crate.
        ("^[+--]$", ",", "."),
        ("^[a&&b]$", "&", "&b"),
        ("^[a~~b]$", "~", "x"),
        ("^[[a-z]]$", "[]", "b"),
        (r"^\<a\>$", "<a>", "a"),
        (r"^a\b{start}$", "a{start}", "a"),
        (r"^a\B[^a]?b", "ab", "aéb"),
        ("^a{,2}$", "a{,2}", "aa"),
        ("^{a}$", "{a}", "a"),
        ("^a{01}$", "a{01}", "a"),
        (r"^\101$", "A", "1"),
        (r"^\x41\x{42}$", "AB", "x"),
        (r"^[\x41-\x{43}]$", "B", "D"),
        (r"^[\-a]$", "-", "\\"),
        (r"^\p{Greek}\pL\P{Lu}$", "αbc", "abc"),
        (r"^\p{^Greek}$", "a", "α"),
        (r"^\PL$", "1", "a"),
        ("^(?P<year>[0-9]{4})-(?<month>[0-9]{2})$", "2026-11", "26-11"),
        ("(?i)^AbC$", "aBc", "abd"),
        ("^(?i:a)b$", "Ab", "AB"),
        ("(?s)^a.b$", "a\nb", "ab"),
        ("^a.b$", "axb", "a\nb"),
        ("^a??b*?$", "abb", "aa"),
        ("^(?:a{2}){500}$", &*"a".repeat(1000), "a"),
    ] {
        assert!(matches(pattern, yes), "{pattern} takes {yes:?}");
        assert!(!matches(pattern, no), "{pattern} does not take {no:?}");
    }
    assert!(matches("", "anything"));
}

#[test]
fn what_go_refuses_is_refused_with_its_words() {
    for (pattern, text) in [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("x[", "missing closing ]: `[`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?<!a)", "invalid named capture: `(?<!a)`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
        ("(?i-u:a)", "invalid or unsupported Perl syntax: `(?i-u`"),
        ("(?P<a-b>c)", "invalid named capture: `(?P<a-b>`"),
        (r"a\1", r"invalid escape sequence: `\1`"),
        (r"\u{41}", r"invalid escape sequence: `\u`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"[\b]", r"invalid escape sequence: `\b`"),
        (r"a\", "trailing backslash at end of expression: ``"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("(+)", "missing argument to repetition operator: `+`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{1001,}", "invalid repeat count: `{1001,}`"),
        ("a{99999999999}", "invalid repeat count: `{99999999999}`"),
        ("((a{100}){100}){100}", "invalid repeat count: `{100}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[a--]", "invalid character class range: `a--`"),
        ("[[:nothing:]]", "invalid character class range: `[:nothing:]`"),
        (r"\p{x=y}", r"invalid character class range: `\p{x=y}`"),
    ] {
        let refusal = compile(pattern).expect_err(pattern);
        assert_eq!(refusal.to_string(), format!("error parsing regexp: {text}"));
    }
}

#[test]
fn a_pattern_cannot_take_all_memory() {
    let long = r"\pL{900}".repeat(50);
    assert!(compile(&long).is_err());
}

/// What a Perl class takes, by Go's table.
fn takes(class: char, c: char) -> bool {
    let inside = match class.to_ascii_lowercase() {
        'd' => c.is_ascii_digit(),
        'w' => c.is_ascii_alphanumeric() || c == '_',
        _ => matches!(c, '\t' | '\n' | '\x0C' | '\r' | ' '),
    };
    inside != class.is_ascii_uppercase()
}

fn printable() -> prop::char::CharStrategy<'static> {
    prop::char::range(' ', '~')
}

proptest! {
    /// Whatever the character, a Perl class takes it as Go does, in brackets and outside, negated and not.
    #[test]
    fn perl_classes_are_of_ascii(class in prop::sample::select(vec!['d', 'D', 's', 'S', 'w', 'W']), c: char) {
        let text = c.to_string();
        let expected = takes(class, c);
        prop_assert_eq!(matches(&format!(r"\A\{class}\z"), &text), expected);
        prop_assert_eq!(matches(&format!(r"\A[\{class}]\z"), &text), expected);
        prop_assert_eq!(matches(&format!(r"\A[^\{class}]\z"), &text), !expected);
    }

    /// In brackets each escaped character is itself, and a range is a range.
    #[test]
    fn ranges_of_escaped_characters_are_ranges(a in printable(), b in printable(), c in printable()) {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_string() } else { format!("\\{c}") };
        let (low, high) = (a.min(b), a.max(b));
        let class = format!(r"\A[{}-{}]\z", plain(low), plain(high));
        prop_assert_eq!(matches(&class, &c.to_string()), (low..=high).contains(&c));
    }

    /// No pattern makes it panic, and what is written is not refused for its form.
    #[test]
    fn any_text_is_read_to_its_end(pattern in r"[\[\](){}|*+?.^$\\a-c0-2&~<>:=!,\-PQEdwpx]{0,20}") {
        let _ = compile(&pattern);
    }
}
