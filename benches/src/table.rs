//! Medians, spread and ratios, as rows of Markdown.

use std::fmt::Write as _;

/// The figures of one benchmark: for each metric and side, one for each round.
pub(crate) struct Figures(Vec<(String, String, Vec<f64>)>);

impl Figures {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn add(&mut self, metric: &str, side: &str, value: f64) {
        match self
            .0
            .iter_mut()
            .find(|(known, of, _)| known == metric && of == side)
        {
            Some((_, _, values)) => values.push(value),
            None => self.0.push((metric.to_owned(), side.to_owned(), vec![value])),
        }
    }

    /// One row for each metric: median and spread of each side, and the last side against each other.
    pub(crate) fn rows(&self, name: &str, size: usize, sides: &[&str]) -> String {
        let mut text = String::new();
        let mut metrics: Vec<&str> = self.0.iter().map(|(metric, ..)| metric.as_str()).collect();
        metrics.sort_unstable();
        metrics.dedup();
        for metric in metrics {
            let of = |side: &str| {
                self.0
                    .iter()
                    .find(|(known, of, _)| known == metric && of == side)
                    .map(|entry| &entry.2)
            };
            let _ = write!(text, "| {name} | {size} | {metric} |");
            for side in ["tokio", "kube-rs", "ours"] {
                let cell = of(side).map_or_else(|| "–".to_owned(), |values| cell(values));
                let _ = write!(text, " {cell} |");
            }
            for other in ["tokio", "kube-rs"] {
                let ratio = sides
                    .last()
                    .and_then(|last| Some(median(of(last)?) / median(of(other)?)));
                let _ = match ratio {
                    Some(ratio) => write!(text, " {ratio:.2} |"),
                    None => write!(text, " – |"),
                };
            }
            text.push('\n');
        }
        text
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn cell(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{} ({}–{})", short(median(values)), short(least), short(most))
}

fn short(value: f64) -> String {
    match value.abs() {
        1_000.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
