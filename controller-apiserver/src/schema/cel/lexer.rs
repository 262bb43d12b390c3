//! From the text of a CEL expression to tokens.
//!
//! Source: Common Expression Language, language definition, "Syntax".

use kube_cel::cel::Value;

/// A word of an expression.
#[derive(Clone, Debug)]
pub(super) enum Token {
    /// A name, or a keyword.
    Name(String),
    /// A field name in backquotes.
    Quoted(String),
    /// A literal.
    Literal(Value),
    /// An operator or a bracket.
    Symbol(&'static str),
}

/// Operators and brackets; longer ones first.
const SYMBOLS: [&str; 26] = [
    "&&", "||", "==", "!=", "<=", ">=", ".?", "[?", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".",
    ",", "(", ")", "[", "]", "{", "}",
];

/// Splits an expression into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut rest = text;
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
            continue;
        }
        let Some(first) = rest.chars().next() else {
            return Ok(tokens);
        };
        let (token, after) = if let Some(found) = string(rest) {
            found?
        } else if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            number(rest)?
        } else if first == '_' || first.is_ascii_alphabetic() {
            let end = rest
                .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            (Token::Name(rest[..end].to_owned()), &rest[end..])
        } else if first == '`' {
            let end = rest[1..].find('`').ok_or("unterminated '`'")?;
            (Token::Quoted(rest[1..=end].to_owned()), &rest[end + 2..])
        } else {
            let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
            let symbol = symbol.ok_or_else(|| format!("token recognition error at: '{first}'"))?;
            (Token::Symbol(symbol), &rest[symbol.len()..])
        };
        tokens.push(token);
        rest = after;
    }
}

type Found<'a> = Result<(Token, &'a str), String>;

fn number(text: &str) -> Found<'_> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        return integer(&hex[..end], 16, &hex[end..]);
    }
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(text);
    let mut end = whole;
    if text[end..].starts_with('.') && digits(&text[end + 1..]) > 0 {
        end += 1 + digits(&text[end + 1..]);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(&text[end + 1 + sign..]);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    if end == whole {
        return integer(&text[..end], 10, &text[end..]);
    }
    let value = text[..end]
        .parse()
        .map_err(|_| format!("invalid double literal: {}", &text[..end]))?;
    Ok((Token::Literal(Value::Float(value)), &text[end..]))
}

/// An integer, with what follows it: a `u` makes it unsigned.
fn integer<'a>(digits: &str, radix: u32, after: &'a str) -> Found<'a> {
    let value = u64::from_str_radix(digits, radix).map_err(|_| "invalid int literal".to_owned())?;
    if let Some(after) = after.strip_prefix(['u', 'U']) {
        return Ok((Token::Literal(Value::UInt(value)), after));
    }
    // The smallest integer is written with a minus, which is an operator: it is let through as
    // unsigned, and the parser puts the two together.
    Ok((
        Token::Literal(i64::try_from(value).map_or(Value::UInt(value), Value::Int)),
        after,
    ))
}

/// A string or bytes literal, if the text starts with one.
fn string(text: &str) -> Option<Found<'_>> {
    let prefix = text.bytes().take(3).position(|b| matches!(b, b'"' | b'\''))?;
    if !text[..prefix].chars().all(|c| matches!(c, 'r' | 'R' | 'b' | 'B')) {
        return None;
    }
    let (raw, bytes) = (
        text[..prefix].contains(['r', 'R']),
        text[..prefix].contains(['b', 'B']),
    );
    let body = &text[prefix..];
    let quote = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|quote| body.starts_with(quote))?;
    Some(quoted(&body[quote.len()..], quote, raw, bytes))
}

fn quoted<'a>(body: &'a str, quote: &str, raw: bool, bytes: bool) -> Found<'a> {
    let mut out = Vec::new();
    let mut rest = body;
    loop {
        if let Some(after) = rest.strip_prefix(quote) {
            if bytes {
                return Ok((Token::Literal(Value::Bytes(out.into())), after));
            }
            let text = String::from_utf8(out).map_err(|_| "invalid string literal".to_owned())?;
            return Ok((Token::Literal(Value::String(text.into())), after));
        }
        let mut chars = rest.chars();
        match chars.next() {
            None | Some('\n' | '\r') if quote.len() == 1 => {
                return Err("unterminated string literal".to_owned());
            }
            None => return Err("unterminated string literal".to_owned()),
            Some('\\') if raw => {
                out.push(b'\\');
                rest = chars.as_str();
            }
            Some('\\') => rest = escape(chars.as_str(), bytes, &mut out)?,
            Some(c) => {
                push(c, &mut out);
                rest = chars.as_str();
            }
        }
    }
}

fn push(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// One escape sequence, after its backslash; returns what follows it.
fn escape<'a>(text: &'a str, bytes: bool, out: &mut Vec<u8>) -> Result<&'a str, String> {
    let invalid = || "invalid escape sequence in string literal".to_owned();
    let mut chars = text.chars();
    let (start, digits, radix) = match chars.next().ok_or_else(invalid)? {
        c @ ('\\' | '\'' | '"' | '`' | '?') => {
            push(c, out);
            return Ok(chars.as_str());
        }
        'x' | 'X' => (1, 2, 16),
        'u' => (1, 4, 16),
        'U' => (1, 8, 16),
        '0'..='3' => (0, 3, 8),
        c => {
            let code = match c {
                'a' => 0x07,
                'b' => 0x08,
                'f' => 0x0c,
                'n' => b'\n',
                'r' => b'\r',
                't' => b'\t',
                'v' => 0x0b,
                _ => return Err(invalid()),
            };
            out.push(code);
            return Ok(chars.as_str());
        }
    };
    let code = text.get(start..start + digits).ok_or_else(invalid)?;
    let code = u32::from_str_radix(code, radix).map_err(|_| invalid())?;
    match u8::try_from(code) {
        Ok(byte) if bytes => out.push(byte),
        _ => push(char::from_u32(code).ok_or_else(invalid)?, out),
    }
    Ok(&text[start + digits..])
}
