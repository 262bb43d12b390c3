//! New inputs from old ones.

use serde_json::{Map, Value, json};

/// Makes inputs; the same ones for the same seed.
pub struct Mutator(fastrand::Rng);

impl Mutator {
    pub fn seeded(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// An input from a corpus.
    pub fn next(&mut self, corpus: &[String], dictionary: &[&str], is_json: bool) -> String {
        let mut input = self.one(corpus);
        for _ in 0..=self.0.usize(..3) {
            let tree = is_json && self.0.u8(..4) > 0;
            input = match input.split_once('\n').filter(|_| tree) {
                // The first line says what is done with the document below it.
                Some((head, document)) => match serde_json::from_str(document) {
                    Ok(value) => format!("{head}\n{}", self.grown(value, corpus, dictionary)),
                    Err(_) => self.edited(&input, corpus, dictionary),
                },
                None => self.edited(&input, corpus, dictionary),
            };
        }
        input.truncate(floor(&input, 20_000));
        input
    }

    fn one(&mut self, corpus: &[String]) -> String {
        corpus[self.0.usize(..corpus.len())].clone()
    }

    /// Changes the text.
    fn edited(&mut self, input: &str, corpus: &[String], dictionary: &[&str]) -> String {
        let at = floor(input, self.0.usize(..=input.len()));
        let to = floor(input, at + self.0.usize(..=(input.len() - at).min(12)));
        let (before, cut, after) = (&input[..at], &input[at..to], &input[to..]);
        let new = match self.0.u8(..7) {
            0 => String::new(),
            1 => cut.repeat(2 + self.0.usize(..40)),
            2 => char::from(self.0.u8(..)).to_string(),
            3 => {
                let other = self.one(corpus);
                let from = floor(&other, self.0.usize(..=other.len()));
                other[from..].to_owned()
            }
            _ => dictionary[self.0.usize(..dictionary.len())].to_owned(),
        };
        let kept = if self.0.bool() { cut } else { "" };
        format!("{before}{new}{kept}{after}")
    }

    /// Changes one place of a document.
    fn grown(&mut self, mut value: Value, corpus: &[String], dictionary: &[&str]) -> Value {
        let depth = self.0.usize(..8);
        let mut place = &mut value;
        for _ in 0..depth {
            let count = match &*place {
                Value::Object(map) => map.len(),
                Value::Array(items) => items.len(),
                _ => 0,
            };
            if count == 0 {
                break;
            }
            let choice = self.0.usize(..count);
            place = match place {
                Value::Object(map) => map.values_mut().nth(choice).unwrap(),
                Value::Array(items) => &mut items[choice],
                _ => unreachable!("it has members"),
            };
        }
        let word = dictionary[self.0.usize(..dictionary.len())].to_owned();
        let new = self.value(&word, corpus);
        match (place, self.0.u8(..4)) {
            (Value::Object(map), 0..=1) => {
                map.insert(word, new);
            }
            (Value::Object(map), 2) => {
                let gone = map.keys().nth(self.0.usize(..map.len().max(1))).cloned();
                gone.and_then(|key| map.remove(&key));
            }
            (Value::Array(items), 0..=1) => items.push(new),
            (place, 3) => *place = json!([place.take()]),
            (place, _) => *place = new,
        }
        value
    }

    fn value(&mut self, word: &str, corpus: &[String]) -> Value {
        match self.0.u8(..14) {
            0 => Value::Null,
            1 => self.0.bool().into(),
            2 => 0.into(),
            3 => (-1).into(),
            4 => json!(1.5),
            5 => i64::MAX.into(),
            6 => json!(1e300),
            7 => json!([]),
            8 => json!({}),
            9 => word.repeat(200).into(),
            10 => {
                let nested = (0..60).fold(json!(word), |value, _| json!([value]));
                json!({ word: nested })
            }
            11 => {
                let other = self.one(corpus);
                let document = other.split_once('\n').map_or("", |(_, document)| document);
                serde_json::from_str(document).unwrap_or_else(|_| Value::Object(Map::new()))
            }
            _ => word.into(),
        }
    }
}

/// The last boundary of a character at or before an index.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or_default()
}
