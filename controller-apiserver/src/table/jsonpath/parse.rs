//! From text to steps.

use std::{iter::Peekable, str::Chars};

use serde_json::{Value, json};

use super::{End, Filter, Slice, Step};

/// How deep filters and unions may contain one another.
const MAX_DEPTH: usize = 16;

pub(super) fn parse(text: &str) -> Result<Vec<Step>, String> {
    Parser::new(text, 0)?.steps()
}

struct Parser<'t> {
    rest: Peekable<Chars<'t>>,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, depth: usize) -> Result<Self, String> {
        if depth > MAX_DEPTH {
            return Err("filters are nested too deep".to_owned());
        }
        Ok(Self {
            rest: text.chars().peekable(),
            depth,
        })
    }

    fn inner(&self, text: &str) -> Result<Vec<Step>, String> {
        Parser::new(text, self.depth + 1)?.steps()
    }

    fn steps(&mut self) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        while let Some(next) = self.rest.next() {
            match next {
                ' ' | '@' | '$' => {}
                '.' if self.rest.peek() == Some(&'.') => {
                    self.rest.next();
                    if steps.last() == Some(&Step::Descend) {
                        return Err("invalid multiple recursive descent".to_owned());
                    }
                    steps.push(Step::Descend);
                    if self.rest.peek().is_some_and(|c| is_word(*c)) {
                        steps.push(self.field());
                    }
                }
                '.' => steps.push(self.field()),
                '[' => self.bracket(&mut steps)?,
                '"' | '\'' => steps.push(Step::Constant(json!(self.quoted(next)?))),
                '+' | '-' | '0'..='9' => steps.push(self.number(next)?),
                c if is_word(c) => steps.push(self.word(c)?),
                other => return Err(format!("unrecognized character in action: {other:?}")),
            }
        }
        Ok(steps)
    }

    fn field(&mut self) -> Step {
        let mut name = String::new();
        while let Some(c) = self.rest.next_if(|c| !is_end(*c)) {
            match c {
                '\\' => name.extend(self.rest.next()),
                c => name.push(c),
            }
        }
        match name.as_str() {
            "*" => Step::Wildcard,
            _ => Step::Field(name),
        }
    }

    fn word(&mut self, first: char) -> Result<Step, String> {
        let mut word = String::from(first);
        while let Some(c) = self.rest.next_if(|c| !is_end(*c)) {
            word.push(c);
        }
        match word.as_str() {
            "true" => Ok(Step::Constant(json!(true))),
            "false" => Ok(Step::Constant(json!(false))),
            _ => Err(format!("unrecognized identifier {word}")),
        }
    }

    fn number(&mut self, first: char) -> Result<Step, String> {
        let mut text = String::from(first);
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_digit() || *c == '.') {
            text.push(c);
        }
        let integer = text.parse::<i64>().map(Value::from);
        let number = integer.or_else(|_| text.parse::<f64>().map(Value::from));
        number
            .map(Step::Constant)
            .map_err(|_| format!("cannot parse number {text}"))
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        loop {
            match self.rest.next() {
                None | Some('\n') => return Err("unterminated quoted string".to_owned()),
                Some(c) if c == quote => return Ok(text),
                Some('\\') => text.extend(self.rest.next()),
                Some(c) => text.push(c),
            }
        }
    }

    fn bracket(&mut self, steps: &mut Vec<Step>) -> Result<(), String> {
        if self.rest.peek() == Some(&'?') {
            steps.push(self.filter()?);
            return Ok(());
        }
        let mut text = String::new();
        loop {
            match self.rest.next() {
                None | Some('\n') => return Err("unterminated array".to_owned()),
                Some(']') => break,
                Some(c) => text.push(c),
            }
        }
        if text.contains(',') {
            let parts = text
                .split(',')
                .map(|part| self.inner(&format!("[{}]", part.trim())));
            steps.push(Step::Union(parts.collect::<Result<_, _>>()?));
            return Ok(());
        }
        if let Some(key) = text.strip_prefix('\'').and_then(|key| key.strip_suffix('\'')) {
            steps.extend(self.inner(&format!(".{key}"))?);
            return Ok(());
        }
        steps.push(Step::Slice(slice(&text)?));
        Ok(())
    }

    /// `[?(left op right)]`, of which `[` is gone.
    fn filter(&mut self) -> Result<Step, String> {
        self.rest.next();
        if self.rest.next() != Some('(') {
            return Err("a filter begins with [?(".to_owned());
        }
        let mut text = String::new();
        let mut quote = None;
        loop {
            let Some(c) = self.rest.next().filter(|c| *c != '\n') else {
                return Err("unterminated filter".to_owned());
            };
            match (c, quote) {
                (')', None) => break,
                ('"' | '\'', None) => quote = Some(c),
                (c, Some(open)) if c == open && !text.ends_with('\\') => quote = None,
                _ => {}
            }
            text.push(c);
        }
        if self.rest.next() != Some(']') {
            return Err("unclosed array expect ]".to_owned());
        }
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let filter = match text.find(is_operator) {
            Some(start) if start > 0 => {
                let (left, rest) = text.split_at(start);
                let length = rest.chars().take_while(|c| is_operator(*c)).count();
                let (operator, right) = rest.split_at(length);
                Filter {
                    left: self.inner(left)?,
                    right: Some((operator.to_owned(), self.inner(right)?)),
                }
            }
            _ => Filter {
                left: self.inner(&text)?,
                right: None,
            },
        };
        Ok(Step::Filter(Box::new(filter)))
    }
}

fn slice(text: &str) -> Result<Slice, String> {
    if text == "*" {
        return slice(":");
    }
    let wrong = || format!("invalid array index {text}");
    let number = |part: &str| match part {
        "" => Ok(None),
        part => part.parse::<i64>().map(Some).map_err(|_| wrong()),
    };
    let parts: Vec<&str> = text.split(':').collect();
    let (start, end, step) = match parts.as_slice() {
        [one] => (number(one)?, End::One, None),
        [start, end] => (number(start)?, open(number(end)?), None),
        [start, end, step] => (number(start)?, open(number(end)?), number(step)?),
        _ => return Err(wrong()),
    };
    if end == End::One && start.is_none() {
        return Err(wrong());
    }
    Ok(Slice { start, end, step })
}

fn open(end: Option<i64>) -> End {
    end.map_or(End::Open, End::At)
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn is_end(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}
