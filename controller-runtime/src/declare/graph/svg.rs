//! The picture as SVG: kinds and triggers on the left, controllers on the right.
//!
//! Each arrow leaves its kind at a height of its own and carries its label there, so that no label meets another.

use std::fmt::Write as _;

use super::{Edge, Node, Picture, Sort};
use crate::declare::Declaration;

/// Pixels: of one letter, between two arrows at a box, between boxes, around everything.
const LETTER: usize = 8;
const STEP: usize = 24;
const GAP: usize = 24;
const EDGE: usize = 16;
/// Room for the bend of an arrow beside its label.
const BEND: usize = 120;

/// The controllers and kinds of `declarations` as an SVG image.
///
/// ```
/// use controller_runtime::declare::{Declaration, Watched, graph};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let declaration = Declaration::new("janitor", Watched::new::<ConfigMap>(&()));
/// assert!(graph::svg([&declaration]).starts_with("<svg xmlns="));
/// ```
pub fn svg<'a>(declarations: impl IntoIterator<Item = &'a Declaration>) -> String {
    let picture = Picture::of(declarations);
    let is_controller = |node: &Node| matches!(node, Node::Controller { .. });
    let sources = Column::of(&picture, EDGE, |node| !is_controller(node), |edge| edge.source);
    let labels = picture.edges.iter().map(|edge| edge.label.chars().count());
    let channel = labels.max().unwrap_or_default() * LETTER + BEND;
    let left = EDGE + sources.width + channel;
    let controllers = Column::of(&picture, left, is_controller, |edge| edge.controller);
    let width = left + controllers.width + EDGE;
    let height = sources.height.max(controllers.height);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n{MARKER}"
    );
    for (place, edge) in picture.edges.iter().enumerate() {
        let from = (EDGE + sources.width, sources.ports[place]);
        let to = (left, controllers.ports[place]);
        text.push_str(&arrow(edge, from, to));
    }
    for column in [&sources, &controllers] {
        for (place, top, tall) in &column.boxes {
            text.push_str(&boxed(
                &picture.nodes[*place],
                column.left,
                *top,
                column.width,
                *tall,
            ));
        }
    }
    text.push_str("</svg>\n");
    text
}

/// The tip of an arrow, and a ground of its own, so that the image can be read on a dark page.
const MARKER: &str = "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
orient=\"auto-start-reverse\"><path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker></defs>\n\
<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";

/// Boxes one below the other.
struct Column {
    left: usize,
    width: usize,
    height: usize,
    /// A node's place in the picture, where its box begins, and how tall it is.
    boxes: Vec<(usize, usize, usize)>,
    /// At which height each edge of the picture meets this column.
    ports: Vec<usize>,
}

impl Column {
    fn of(
        picture: &Picture,
        left: usize,
        is_here: impl Fn(&Node) -> bool,
        end: impl Fn(&Edge) -> usize,
    ) -> Self {
        let here = |(_, node): &(usize, &Node)| is_here(node);
        let nodes = || picture.nodes.iter().enumerate().filter(here);
        let widest = nodes()
            .flat_map(|(_, node)| lines(node))
            .map(|line| line.chars().count());
        let mut column = Self {
            left,
            width: widest.max().unwrap_or_default() * LETTER + 2 * EDGE,
            height: EDGE,
            boxes: Vec::new(),
            ports: vec![0; picture.edges.len()],
        };
        for (place, _) in nodes() {
            let top = column.height;
            let mut ports = 0;
            for (port, edge) in column.ports.iter_mut().zip(&picture.edges) {
                if end(edge) == place {
                    *port = top + STEP / 2 + ports * STEP;
                    ports += 1;
                }
            }
            let tall = STEP * ports.max(2);
            column.boxes.push((place, top, tall));
            column.height += tall + GAP;
        }
        column
    }
}

fn lines(node: &Node) -> Vec<&str> {
    match node {
        Node::Controller { name } => vec![name],
        Node::Kind { kind, group } => vec![kind, group],
        Node::Trigger { text } => vec![text],
    }
}

fn boxed(node: &Node, left: usize, top: usize, width: usize, tall: usize) -> String {
    let (fill, round) = match node {
        Node::Controller { .. } => ("#dbe9ff", STEP),
        Node::Kind { .. } => ("#f4f4f4", 4),
        Node::Trigger { .. } => ("#fff3d6", 4),
    };
    let mut text = format!(
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{tall}\" rx=\"{round}\" fill=\"{fill}\" stroke=\"#555\"/>\n"
    );
    let lines = lines(node);
    let first = top + tall / 2 + 5 - (lines.len() - 1) * 8;
    for (number, line) in lines.iter().enumerate() {
        let (x, y) = (left + width / 2, first + number * 16);
        let small = if number > 0 {
            " font-size=\"11\" fill=\"#555\""
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\"{small}>{}</text>",
            escape(line)
        );
    }
    text
}

/// Straight below its label, then bent to the other side.
fn arrow(edge: &Edge, (x, y): (usize, usize), (to_x, to_y): (usize, usize)) -> String {
    let straight = x + edge.label.chars().count() * LETTER + EDGE;
    let middle = usize::midpoint(straight, to_x);
    let (style, tip) = match edge.sort {
        Sort::Primary => ("stroke-width=\"2.5\"", "marker-end"),
        Sort::Wakes => ("stroke-width=\"1.2\"", "marker-end"),
        Sort::Writes => ("stroke-width=\"1.2\" stroke-dasharray=\"5 4\"", "marker-start"),
    };
    let mut text = format!(
        "<path d=\"M{x} {y}H{straight}C{middle} {y} {middle} {to_y} {to_x} {to_y}\" fill=\"none\" stroke=\"#555\" {style} \
         {tip}=\"url(#tip)\"/>\n"
    );
    if !edge.label.is_empty() {
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{}\" font-size=\"11\">{}</text>",
            x + EDGE,
            y - 4,
            escape(&edge.label)
        );
    }
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{super::tests::declarations, *};

    #[test]
    fn everything_declared_is_drawn_and_nothing_breaks_the_markup() {
        let drawn = svg(&declarations());
        for text in [
            ">one</text>",
            ">a &quot;quoted&quot; name</text>",
            ">ConfigMap</text>",
            ">reconciles: generation</text>",
            ">writes</text>",
            ">|x| ticks::&lt;Every&lt;5&gt;&gt;(x)</text>",
        ] {
            assert_eq!(drawn.matches(text).count(), 1, "{text} in\n{drawn}");
        }
        assert_eq!(
            drawn.matches("<path d=\"M").count(),
            1 + 5,
            "an arrow for each edge"
        );
    }

    /// Two arrows at one height would lie on each other.
    #[test]
    fn each_arrow_has_a_port_of_its_own_at_both_ends() {
        let picture = Picture::of(&declarations());
        let sources = Column::of(
            &picture,
            0,
            |node| !matches!(node, Node::Controller { .. }),
            |edge| edge.source,
        );
        let mut ports = sources.ports.clone();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), picture.edges.len());
        assert!(ports.iter().all(|port| *port > 0 && *port < sources.height));
    }
}
