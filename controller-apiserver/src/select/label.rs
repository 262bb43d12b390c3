//! Label selectors, in their text form.
//!
//! Source: "Labels and Selectors" in the Kubernetes documentation; `<` and `>` compare integers.

use std::collections::BTreeSet;

use crate::registry::names;

/// A conjunction of requirements; the empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    Exists,
    DoesNotExist,
    In(BTreeSet<String>),
    /// Absent labels satisfy it.
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Reads a selector.
    ///
    /// # Errors
    ///
    /// What cannot be understood, in the words of the API server.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser {
            tokens: tokens(text),
            at: 0,
        };
        let mut requirements = Vec::new();
        loop {
            match parser.peek() {
                Token::End => break,
                Token::Not | Token::Word(_) => requirements.push(
                    parser
                        .requirement()
                        .map_err(|why| format!("unable to parse requirement: {why}"))?,
                ),
                other => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    ));
                }
            }
            match parser.next() {
                Token::End => break,
                Token::Comma => {
                    let next = parser.peek();
                    if !matches!(next, Token::Word(_) | Token::Not) {
                        return Err(format!("found '{}', expected: identifier after ','", next.text()));
                    }
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        other.text()
                    ));
                }
            }
        }
        Ok(Self(requirements))
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| {
            let value = label(&requirement.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.operator {
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
                Operator::In(values) => value.is_some_and(|value| values.contains(value)),
                Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Operator::Above(limit) => number().is_some_and(|n| n > *limit),
                Operator::Below(limit) => number().is_some_and(|n| n < *limit),
            }
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Not,
    /// `=` or `==`.
    Equal,
    NotEqual,
    Above,
    Below,
    Open,
    Close,
    Comma,
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Not => "!",
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Above => ">",
            Self::Below => "<",
            Self::Open => "(",
            Self::Close => ")",
            Self::Comma => ",",
            Self::End => "",
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(first) = rest.chars().next() else {
            return tokens;
        };
        let (token, length) = match first {
            '!' if rest.starts_with("!=") => (Token::NotEqual, 2),
            '=' if rest.starts_with("==") => (Token::Equal, 2),
            '!' => (Token::Not, 1),
            '=' => (Token::Equal, 1),
            '>' => (Token::Above, 1),
            '<' => (Token::Below, 1),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            _ => {
                let special = |c: char| " \t\r\n!=<>(),".contains(c);
                let end = rest.find(special).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), end)
            }
        };
        tokens.push(token);
        rest = &rest[length..];
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Token {
        self.tokens.get(self.at).cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek() == Token::Not;
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(word) => word,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        if let Some(problem) = names::qualified(&key).into_iter().next() {
            return Err(format!("<nil>: Invalid value: \"{key}\": {problem}"));
        }
        let operator = if negated {
            Operator::DoesNotExist
        } else {
            self.operator(&key)?
        };
        Ok(Requirement { key, operator })
    }

    fn operator(&mut self, key: &str) -> Result<Operator, String> {
        Ok(match self.peek() {
            Token::End | Token::Comma => Operator::Exists,
            token => {
                self.next();
                match token {
                    Token::Equal => Operator::In(self.value(key)?),
                    Token::NotEqual => Operator::NotIn(self.value(key)?),
                    Token::Above => Operator::Above(self.number()?),
                    Token::Below => Operator::Below(self.number()?),
                    Token::Word(word) if word == "in" => Operator::In(self.values(key)?),
                    Token::Word(word) if word == "notin" => Operator::NotIn(self.values(key)?),
                    other => {
                        return Err(format!(
                            "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                            other.text()
                        ));
                    }
                }
            }
        })
    }

    /// What follows `=`; nothing is the empty value.
    fn value(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        let value = match self.peek() {
            Token::End | Token::Comma => String::new(),
            Token::Word(word) => {
                self.next();
                word
            }
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        checked([value], key)
    }

    fn number(&mut self) -> Result<i64, String> {
        let token = self.next();
        let Token::Word(word) = token else {
            return Err(format!("found '{}', expected: identifier", token.text()));
        };
        word.parse().map_err(|_| {
            format!(
                "values[0]: Invalid value: \"{word}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
        })
    }

    /// `(a, b)`; an empty place in it is the empty value.
    fn values(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        let open = self.next();
        if open != Token::Open {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = Vec::new();
        loop {
            let value = match self.peek() {
                Token::Word(word) => {
                    self.next();
                    word
                }
                Token::Comma | Token::Close => String::new(),
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', ')' or identifier",
                        other.text()
                    ));
                }
            };
            values.push(value);
            match self.next() {
                Token::Close => return checked(values, key),
                Token::Comma => {}
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }
}

fn checked(values: impl IntoIterator<Item = String>, key: &str) -> Result<BTreeSet<String>, String> {
    let mut set = BTreeSet::new();
    for (index, value) in values.into_iter().enumerate() {
        if let Some(problem) = names::label_value(&value).into_iter().next() {
            return Err(format!(
                "values[{index}][{key}]: Invalid value: \"{value}\": {problem}"
            ));
        }
        set.insert(value);
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        LabelSelector::parse(selector)
            .unwrap()
            .matches(|key| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v))
    }

    #[test]
    fn every_operator() {
        let labels = [("a", "x"), ("n", "5"), ("e", "")];
        for selector in [
            "",
            "a",
            "a=x",
            "a==x",
            "a!=y",
            "b!=y",
            "!b",
            "a in (x,y)",
            "a notin (y)",
            "b notin (y)",
            "n>4",
            "n<6",
            "e=",
            "e in ()",
            "e in (,x)",
            " a = x , !b ",
            "a=x,n>4",
            "e!=x",
        ] {
            assert!(selects(selector, &labels), "{selector}");
        }
        for selector in [
            "b",
            "a=y",
            "a!=x",
            "!a",
            "a in (y)",
            "a notin (x)",
            "n>5",
            "n<5",
            "a>1",
            "b>1",
            "a in ()",
        ] {
            assert!(!selects(selector, &labels), "{selector}");
        }
    }

    #[test]
    fn what_is_no_selector_is_told_so() {
        for (selector, error) in [
            (
                "a in (b",
                "unable to parse requirement: found '', expected: ',' or ')'",
            ),
            (
                "a in (",
                "unable to parse requirement: found '', expected: ',', ')' or identifier",
            ),
            (
                "a ~ b",
                "unable to parse requirement: found '~', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            (
                "a===b",
                "unable to parse requirement: found '=', expected: identifier",
            ),
            (",", "found ',', expected: !, identifier, or 'end of string'"),
            ("a=b,", "found '', expected: identifier after ','"),
            (
                "a>b",
                "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
        ] {
            assert_eq!(LabelSelector::parse(selector).unwrap_err(), error);
        }
        assert!(LabelSelector::parse("bad/key/x=1").is_err());
        assert!(LabelSelector::parse(&format!("a={}", "x".repeat(64))).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,40}") {
            let _ = LabelSelector::parse(&text);
        }

        #[test]
        fn no_arrangement_of_tokens_does(tokens in proptest::collection::vec(
            prop::sample::select(vec!["a", "b/c", "in", "notin", "=", "==", "!=", "!", "(", ")", ",", "<", ">", " ", "5"]), 0..12)) {
            let _ = LabelSelector::parse(&tokens.concat());
        }
    }
}
