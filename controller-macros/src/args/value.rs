//! Single values: names, paths, types, durations and numbers.

use proc_macro2::{Span, TokenTree};
use syn::{
    Expr, Ident, Lit, LitStr, Path, Token, Type,
    parse::{Parse, ParseStream},
    spanned::Spanned,
};

use super::entries::{self, Entry, Form, Key};
use crate::errors::{self, Errors};

/// Parses one value; whatever is wrong with it, the answer is how the key is written.
pub(crate) fn parsed<T>(
    input: ParseStream<'_>,
    entry: &Entry,
    parse: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<T> {
    let span = entries::next(input).map_or(entry.span, |token| token.span());
    parse(input).map_err(|_| errors::wrong_form(span, entry.key))
}

pub(crate) fn text(input: ParseStream<'_>, entry: &Entry) -> syn::Result<LitStr> {
    parsed(input, entry, Parse::parse)
}

/// One name, and no path.
pub(crate) fn ident(input: ParseStream<'_>, entry: &Entry) -> syn::Result<Ident> {
    parsed(input, entry, |input| {
        let ident = input.parse()?;
        if input.peek(Token![::]) {
            return Err(input.error("a path"));
        }
        Ok(ident)
    })
}

pub(crate) fn path(input: ParseStream<'_>, entry: &Entry) -> syn::Result<Path> {
    parsed(input, entry, Parse::parse)
}

pub(crate) fn ty(input: ParseStream<'_>, entry: &Entry) -> syn::Result<Type> {
    parsed(input, entry, Parse::parse)
}

/// A function: a path or a closure.
pub(crate) fn function(input: ParseStream<'_>, entry: &Entry) -> syn::Result<Expr> {
    let expr: Expr = parsed(input, entry, Parse::parse)?;
    match expr {
        Expr::Path(_) | Expr::Closure(_) => Ok(expr),
        _ => Err(errors::wrong_form(expr.span(), entry.key)),
    }
}

/// A DNS label: it becomes a part of field managers, finalizers, leases and label values.
pub(crate) fn name(input: ParseStream<'_>, entry: &Entry) -> syn::Result<LitStr> {
    let literal = text(input, entry)?;
    let value = literal.value();
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    let allowed =
        |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    if bytes.len() <= 63 && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(allowed) {
        Ok(literal)
    } else {
        Err(errors::not_a_name(literal.span()))
    }
}

/// A duration, and where it was written.
#[derive(Clone, Copy)]
pub(crate) struct Millis {
    pub(crate) value: u64,
    pub(crate) span: Span,
}

/// A duration that is not zero.
pub(crate) fn duration(input: ParseStream<'_>, entry: &Entry) -> syn::Result<Millis> {
    let literal = text(input, entry)?;
    match parse_duration(&literal.value()) {
        Some(0) => Err(errors::zero(literal.span(), entry.key.name)),
        Some(value) => Ok(Millis {
            value,
            span: literal.span(),
        }),
        None => Err(errors::not_a_duration(literal.span())),
    }
}

/// Milliseconds of "500ms", "30s", "5m", "1h30m", "1d".
pub(crate) fn parse_duration(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at(digits);
        let unit_end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let scale: u64 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(scale)?)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(total)
}

const CONFIG_KEYS: &[Key] = &[
    Key::new("debounce", Form::Value, "debounce = \"500ms\""),
    Key::new("concurrency", Form::Value, "concurrency = 16"),
    Key::new("timeout", Form::Value, "timeout = \"30s\""),
    Key::new("resync", Form::Value, "resync = \"1h\""),
    Key::new("hot_loop_cycles", Form::Value, "hot_loop_cycles = 20"),
    Key::new("hot_loop_max", Form::Value, "hot_loop_max = \"5m\""),
];

/// `config(…)`
#[derive(Default)]
pub(crate) struct Config {
    pub(crate) debounce: Option<Millis>,
    pub(crate) concurrency: Option<u16>,
    pub(crate) timeout: Option<Millis>,
    pub(crate) resync: Option<Millis>,
    pub(crate) hot_loop_cycles: Option<u16>,
    pub(crate) hot_loop_max: Option<Millis>,
}

impl Config {
    pub(crate) fn parse(input: ParseStream<'_>, errors: &mut Errors) -> Self {
        let mut config = Self::default();
        entries::parse(input, CONFIG_KEYS, errors, &mut |entry, input, _| {
            match entry.key.name {
                "debounce" => config.debounce = Some(duration(input, entry)?),
                "concurrency" => config.concurrency = Some(count(input, entry)?),
                "timeout" => config.timeout = Some(duration(input, entry)?),
                "hot_loop_cycles" => config.hot_loop_cycles = Some(count(input, entry)?),
                "hot_loop_max" => config.hot_loop_max = Some(duration(input, entry)?),
                _ => config.resync = Some(duration(input, entry)?),
            }
            Ok(())
        });
        config
    }
}

fn count(input: ParseStream<'_>, entry: &Entry) -> syn::Result<u16> {
    let span = entries::next(input).map_or(entry.span, |token: TokenTree| token.span());
    match input.parse() {
        Ok(Lit::Int(number)) if matches!(number.suffix(), "" | "u16") => {
            number.base10_parse().map_err(|_| errors::not_a_count(span))
        }
        _ => Err(errors::not_a_count(span)),
    }
}

const BACKOFF_KEYS: &[Key] = &[
    Key::new("initial", Form::Value, "initial = \"1s\""),
    Key::new("max", Form::Value, "max = \"5m\""),
    Key::new("factor", Form::Value, "factor = 2.0"),
    Key::new("jitter", Form::Value, "jitter = 0.1"),
];

/// `backoff(…)`
#[derive(Default)]
pub(crate) struct Backoff {
    pub(crate) initial: Option<Millis>,
    pub(crate) max: Option<Millis>,
    pub(crate) factor: Option<f64>,
    pub(crate) jitter: Option<f64>,
}

impl Backoff {
    pub(crate) fn parse(input: ParseStream<'_>, errors: &mut Errors) -> Self {
        let mut backoff = Self::default();
        entries::parse(input, BACKOFF_KEYS, errors, &mut |entry, input, _| {
            match entry.key.name {
                "initial" => backoff.initial = Some(duration(input, entry)?),
                "max" => backoff.max = Some(duration(input, entry)?),
                "factor" => {
                    backoff.factor = Some(number(
                        input,
                        entry,
                        |n| (1.0..=100.0).contains(&n),
                        errors::factor_range,
                    )?);
                }
                _ => {
                    backoff.jitter = Some(number(
                        input,
                        entry,
                        |n| (0.0..=1.0).contains(&n),
                        errors::jitter_range,
                    )?);
                }
            }
            Ok(())
        });
        backoff
    }
}

fn number(
    input: ParseStream<'_>,
    entry: &Entry,
    allowed: fn(f64) -> bool,
    error: fn(Span) -> syn::Error,
) -> syn::Result<f64> {
    let span = entries::next(input).map_or(entry.span, |token: TokenTree| token.span());
    let digits = match input.parse() {
        Ok(Lit::Int(number)) if number.suffix().is_empty() => number.base10_digits().to_owned(),
        Ok(Lit::Float(number)) if number.suffix().is_empty() => number.base10_digits().to_owned(),
        _ => return Err(error(span)),
    };
    digits
        .parse()
        .ok()
        .filter(|&number| allowed(number))
        .ok_or_else(|| error(span))
}

#[cfg(test)]
mod tests {
    use super::parse_duration;

    #[test]
    fn durations_are_numbers_with_units() {
        assert_eq!(parse_duration("500ms"), Some(500));
        assert_eq!(parse_duration("1h30m"), Some(5_400_000));
        assert_eq!(parse_duration("1d"), Some(86_400_000));
        for wrong in [
            "",
            "5",
            "ms",
            "5 m",
            "-1s",
            "1.5s",
            "5min",
            "99999999999999999999d",
            "18446744073709551615d",
        ] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }
}
