//! From tokens to an expression.
//!
//! Our own, because a rule comes from anyone who may write a CRD: its length and its nesting are
//! bounded here, before any recursion.

use kube_cel::cel::Value;

use super::ast::{Access, Binary, Expr, Unary};
use super::escape::RESERVED;
use super::lexer::{self, Token};
use super::macros;

/// The longest expression, as on the server.
const LONGEST: usize = 100_000;

/// The deepest nesting. The server allows 250; rules in practice have less than 20.
const DEEPEST: usize = 80;

/// Parses an expression.
pub(super) fn parse(text: &str) -> Result<Expr, String> {
    if text.chars().count() > LONGEST {
        return Err(format!("expression code point size exceeds limit: {LONGEST}"));
    }
    let mut tokens = lexer::tokens(text)?;
    tokens.reverse();
    let mut parser = Parser { tokens, depth: 0 };
    let expr = parser.expr()?;
    match parser.tokens.last() {
        None => Ok(expr),
        Some(token) => Err(format!("Syntax error: extraneous input {}", shown(token))),
    }
}

struct Parser {
    /// What is left, last first.
    tokens: Vec<Token>,
    depth: usize,
}

type Parsed = Result<Expr, String>;

impl Parser {
    fn peek(&self) -> Option<&str> {
        match self.tokens.last()? {
            Token::Symbol(symbol) => Some(symbol),
            Token::Name(name) if name == "in" => Some("in"),
            _ => None,
        }
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.peek() == Some(symbol);
        if found {
            self.tokens.pop();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.take(symbol) {
            return Ok(());
        }
        let found = self.tokens.last().map_or_else(|| "<EOF>".to_owned(), shown);
        Err(format!(
            "Syntax error: mismatched input {found} expecting '{symbol}'"
        ))
    }

    /// One level deeper: everything that can nest comes through here.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("expression recursion limit exceeded: {DEEPEST}"));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn expr(&mut self) -> Parsed {
        self.nested(|parser| {
            let condition = parser.or()?;
            if !parser.take("?") {
                return Ok(condition);
            }
            let then = parser.or()?;
            parser.expect(":")?;
            let otherwise = parser.expr()?;
            Ok(Expr::If(Box::new(condition), Box::new(then), Box::new(otherwise)))
        })
    }

    fn or(&mut self) -> Parsed {
        let first = self.and()?;
        if self.peek() != Some("||") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.take("||") {
            all.push(self.and()?);
        }
        Ok(Expr::Or(all))
    }

    fn and(&mut self) -> Parsed {
        let first = self.chain(0)?;
        if self.peek() != Some("&&") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.take("&&") {
            all.push(self.chain(0)?);
        }
        Ok(Expr::And(all))
    }

    /// Comparisons, sums and products, weakest first.
    fn chain(&mut self, strength: usize) -> Parsed {
        let operand = |parser: &mut Self| {
            if strength == 2 {
                parser.unary()
            } else {
                parser.chain(strength + 1)
            }
        };
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = self.peek().and_then(|symbol| binary(symbol, strength)) {
            self.tokens.pop();
            rest.push((operator, operand(self)?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            Expr::Chain(Box::new(first), rest)
        })
    }

    fn unary(&mut self) -> Parsed {
        for (symbol, operator) in [("!", Unary::Not), ("-", Unary::Negate)] {
            let mut count = 0;
            while self.take(symbol) {
                count += 1;
            }
            if count > 0 {
                let operand = self.nested(Self::unary)?;
                return Ok(negated(operator, count, operand));
            }
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Parsed {
        let mut expr = self.primary()?;
        let before = self.depth;
        while let Some(symbol @ ("." | ".?" | "[" | "[?")) = self.peek() {
            let access = if symbol.ends_with('?') {
                Access::Optional
            } else {
                Access::Plain
            };
            let select = symbol.starts_with('.');
            self.tokens.pop();
            // A chain of members nests on its left side.
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(format!("expression recursion limit exceeded: {DEEPEST}"));
            }
            expr = if select {
                self.member(expr, access)?
            } else {
                self.index(expr, access)?
            };
        }
        self.depth = before;
        Ok(expr)
    }

    fn index(&mut self, target: Expr, access: Access) -> Parsed {
        let index = self.expr()?;
        self.expect("]")?;
        Ok(Expr::Index(Box::new(target), Box::new(index), access))
    }

    fn member(&mut self, target: Expr, access: Access) -> Parsed {
        let name = match self.tokens.pop() {
            Some(Token::Name(name) | Token::Quoted(name)) => name,
            other => {
                return Err(format!(
                    "Syntax error: no viable alternative at input {}",
                    end(other.as_ref())
                ));
            }
        };
        if access == Access::Plain && self.take("(") {
            let args = self.list(")", Self::expr)?;
            return macros::method(target, name, args);
        }
        Ok(Expr::Select(Box::new(target), name, access))
    }

    fn primary(&mut self) -> Parsed {
        match self.tokens.pop() {
            Some(Token::Literal(Value::UInt(value))) if i64::try_from(value).is_err() => {
                // Only `-9223372036854775808` may be this large without a `u`; see `negated`.
                Ok(Expr::Literal(Value::UInt(value)))
            }
            Some(Token::Literal(value)) => Ok(Expr::Literal(value)),
            Some(Token::Name(name)) => self.name(name),
            Some(Token::Symbol("(")) => {
                let inner = self.expr()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Symbol("[")) => self.elements(),
            Some(Token::Symbol("[?")) => {
                self.tokens.push(Token::Symbol("?"));
                self.elements()
            }
            Some(Token::Symbol("{")) => Ok(Expr::Map(self.list("}", |parser| {
                let access = parser.access();
                let key = parser.expr()?;
                parser.expect(":")?;
                Ok((key, parser.expr()?, access))
            })?)),
            Some(Token::Symbol(".")) => match self.tokens.pop() {
                Some(Token::Name(name)) => self.name(name),
                other => Err(format!("Syntax error: mismatched input {}", end(other.as_ref()))),
            },
            other => Err(format!("Syntax error: mismatched input {}", end(other.as_ref()))),
        }
    }

    /// A list, after its bracket.
    fn elements(&mut self) -> Parsed {
        let elements = self.list("]", |parser| {
            let access = parser.access();
            Ok((parser.expr()?, access))
        })?;
        Ok(Expr::List(elements))
    }

    fn access(&mut self) -> Access {
        if self.take("?") {
            Access::Optional
        } else {
            Access::Plain
        }
    }

    fn name(&mut self, name: String) -> Parsed {
        match name.as_str() {
            "true" => return Ok(Expr::Literal(Value::Bool(true))),
            "false" => return Ok(Expr::Literal(Value::Bool(false))),
            "null" => return Ok(Expr::Literal(Value::Null)),
            "in" => return Err("Syntax error: mismatched input 'in'".to_owned()),
            reserved if RESERVED.contains(&reserved) => {
                return Err(format!("reserved identifier: {reserved}"));
            }
            _ => {}
        }
        if self.take("(") {
            let args = self.list(")", Self::expr)?;
            return macros::function(name, args);
        }
        if self.peek() == Some("{") {
            return Err(format!("undeclared reference to '{name}' (in container '')"));
        }
        Ok(Expr::Name(name))
    }

    /// Elements up to `end`, separated by commas; a last comma is allowed, but not in calls.
    fn list<T>(
        &mut self,
        end: &str,
        element: impl Fn(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let mut all = Vec::new();
        while !self.take(end) {
            all.push(element(self)?);
            if !self.take(",") {
                self.expect(end)?;
                break;
            }
            if end == ")" && self.peek() == Some(")") {
                return Err("Syntax error: extraneous input ','".to_owned());
            }
        }
        Ok(all)
    }
}

fn negated(operator: Unary, count: usize, operand: Expr) -> Expr {
    let odd = count % 2 == 1;
    match (operator, operand) {
        (_, operand) if !odd => operand,
        (Unary::Negate, Expr::Literal(Value::Int(value))) => Expr::Literal(Value::Int(-value)),
        (Unary::Negate, Expr::Literal(Value::UInt(value))) if value == i64::MIN.unsigned_abs() => {
            Expr::Literal(Value::Int(i64::MIN))
        }
        (Unary::Negate, Expr::Literal(Value::Float(value))) => Expr::Literal(Value::Float(-value)),
        (operator, operand) => Expr::Unary(operator, Box::new(operand)),
    }
}

fn binary(symbol: &str, strength: usize) -> Option<Binary> {
    Some(match (strength, symbol) {
        (0, "==") => Binary::Equal,
        (0, "!=") => Binary::Different,
        (0, "<") => Binary::Less,
        (0, "<=") => Binary::AtMost,
        (0, ">") => Binary::Greater,
        (0, ">=") => Binary::AtLeast,
        (0, "in") => Binary::In,
        (1, "+") => Binary::Add,
        (1, "-") => Binary::Subtract,
        (2, "*") => Binary::Multiply,
        (2, "/") => Binary::Divide,
        (2, "%") => Binary::Modulo,
        _ => return None,
    })
}

fn shown(token: &Token) -> String {
    match token {
        Token::Name(name) | Token::Quoted(name) => format!("'{name}'"),
        Token::Literal(_) => "a literal".to_owned(),
        Token::Symbol(symbol) => format!("'{symbol}'"),
    }
}

fn end(token: Option<&Token>) -> String {
    token.map_or_else(|| "'<EOF>'".to_owned(), shown)
}
