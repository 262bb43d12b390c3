//! The static token file: one bearer token a line, `token,user,uid,"group1,group2"`.
//!
//! Format: Kubernetes documentation, "Static Token File" (CSV; uid and groups may be missing).
//! Tokens never appear in errors or in debug output.

use super::User;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Known bearer tokens.
#[derive(Clone, Default)]
pub struct Tokens(BTreeMap<String, User>);

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.0.values().map(|user| &user.name))
            .finish()
    }
}

/// Why a token file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The file cannot be read.
    #[error("token file {file}: {error}")]
    Read {
        /// The path given.
        file: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A line is malformed.
    #[error("token file {file}, line {line}: {problem}; write token,user,uid,\"group1,group2\"")]
    Line {
        /// The path given.
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it, without the token.
        problem: &'static str,
    },
}

impl Tokens {
    /// Reads a token file.
    ///
    /// # Errors
    /// The file cannot be read, or a line is malformed; the text names file and line.
    pub fn read(path: &Path) -> Result<Self, TokenFileError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&file, &text),
            Err(error) => Err(TokenFileError::Read { file, error }),
        }
    }

    /// Reads the text of a token file; `file` is its name in errors.
    ///
    /// # Errors
    /// A line is malformed.
    pub fn parse(file: &str, text: &str) -> Result<Self, TokenFileError> {
        let mut tokens = Self::default();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            tokens.line(line).map_err(|problem| TokenFileError::Line {
                file: file.to_owned(),
                line: index + 1,
                problem,
            })?;
        }
        Ok(tokens)
    }

    fn line(&mut self, line: &str) -> Result<(), &'static str> {
        let columns = columns(line)?;
        let column = |index: usize| columns.get(index).map_or("", |text| text.trim());
        if column(0).is_empty() {
            return Err("the token is empty");
        }
        if column(1).is_empty() {
            return Err("the user name is missing");
        }
        if columns.len() > 4 {
            return Err("too many columns; several groups go into one quoted column");
        }
        let groups = column(3)
            .split(',')
            .map(str::trim)
            .filter(|group| !group.is_empty());
        let user = User {
            uid: column(2).to_owned(),
            ..User::new(column(1), groups)
        };
        match self.0.insert(column(0).to_owned(), user) {
            None => Ok(()),
            Some(_) => Err("the token is there already"),
        }
    }

    /// Adds a token. A token known already changes its user.
    #[must_use]
    pub fn with(mut self, token: impl Into<String>, user: User) -> Self {
        self.0.insert(token.into(), user);
        self
    }

    /// Whether no token is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The user of a token.
    pub fn user(&self, token: &str) -> Option<&User> {
        self.0.get(token)
    }
}

/// The columns of a CSV line: quoted ones may hold commas, `""` in them is a quotation mark.
fn columns(line: &str) -> Result<Vec<String>, &'static str> {
    let mut columns = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let empty = columns.last().is_some_and(|column| column.trim().is_empty());
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                push(&mut columns, '"');
            }
            '"' if quoted => quoted = false,
            '"' if empty => quoted = true,
            '"' => return Err("a quotation mark stands inside an unquoted column"),
            ',' if !quoted => columns.push(String::new()),
            other => push(&mut columns, other),
        }
    }
    if quoted {
        return Err("a quotation mark is not closed");
    }
    Ok(columns)
}

fn push(columns: &mut [String], character: char) {
    if let Some(column) = columns.last_mut() {
        column.push(character);
    }
}
