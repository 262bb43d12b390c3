//! An error with its causes, in one line.

use std::error::Error;

/// The text of an error and of its sources, joined by colons. A source that its error quotes already is not told twice.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Outer {
        #[error("cannot save")]
        Silent(#[source] std::fmt::Error),
        #[error("cannot save: {0}")]
        Quoting(#[from] std::fmt::Error),
    }

    #[test]
    fn each_source_is_told_once() {
        let source = std::fmt::Error;
        let expected = format!("cannot save: {source}");
        assert_eq!(chain(&Outer::Silent(source)), expected);
        assert_eq!(chain(&Outer::Quoting(source)), expected);
    }
}
