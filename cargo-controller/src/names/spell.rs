//! One name, in the spellings that Rust, Kubernetes and people want.

/// `my-website` and `my_website` are `MyWebsite`; capitals stay.
pub(crate) fn camel(name: &str) -> String {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .flat_map(|word| {
            let mut chars = word.chars();
            chars
                .next()
                .map(|c| c.to_ascii_uppercase())
                .into_iter()
                .chain(chars)
        })
        .skip_while(char::is_ascii_digit)
        .collect()
}

/// `HTTPRoute` is `http_route`, `DNS` is `dns`, `DNSes` is `dnses`.
pub(crate) fn snake(kind: &str) -> String {
    let (stem, ending) = match kind.strip_suffix("es").or_else(|| kind.strip_suffix('s')) {
        // The ending of a plural is no word of its own.
        Some(stem) if stem.ends_with(|c: char| c.is_ascii_uppercase()) => (stem, &kind[stem.len()..]),
        _ => (kind, ""),
    };
    let chars: Vec<_> = stem.chars().collect();
    let mut name = String::new();
    for (index, c) in chars.iter().enumerate() {
        let after_lower = index > 0 && !chars[index - 1].is_ascii_uppercase();
        let before_lower = index > 0 && chars.get(index + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (after_lower || before_lower) {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name + ending
}

/// English, as far as it has rules.
pub(crate) fn pluralize(word: &str) -> String {
    let vowel = |c: char| "aeiou".contains(c);
    let before_last = word.chars().rev().nth(1);
    if word.ends_with('y') && before_last.is_some_and(|c| !vowel(c)) {
        format!("{}ies", &word[..word.len() - 1])
    } else if ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end)) {
        format!("{word}es")
    } else {
        format!("{word}s")
    }
}
