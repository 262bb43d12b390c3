//! The picture as Mermaid text.

use std::fmt::Write as _;

use super::{Node, Picture, Sort};
use crate::declare::Declaration;

/// The controllers and kinds of `declarations` as a Mermaid flowchart, which many Markdown viewers draw.
///
/// ```
/// use controller_runtime::declare::{Declaration, Watched, graph};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let declaration = Declaration::new("janitor", Watched::new::<ConfigMap>(&()));
/// assert!(graph::mermaid([&declaration]).contains("ConfigMap"));
/// ```
pub fn mermaid<'a>(declarations: impl IntoIterator<Item = &'a Declaration>) -> String {
    let picture = Picture::of(declarations);
    let mut text = "flowchart LR\n".to_owned();
    for (id, node) in picture.nodes.iter().enumerate() {
        let shape = match node {
            Node::Controller { name } => format!("([\"{}\"])", escape(name)),
            Node::Kind { kind, group } => {
                format!("[\"{}<br/><small>{}</small>\"]", escape(kind), escape(group))
            }
            Node::Trigger { text } => format!("[/\"{}\"/]", escape(text)),
        };
        let _ = writeln!(text, "    n{id}{shape}");
    }
    for edge in &picture.edges {
        let (from, arrow, to) = match edge.sort {
            Sort::Primary => (edge.source, "==>", edge.controller),
            Sort::Wakes => (edge.source, "-->", edge.controller),
            Sort::Writes => (edge.controller, "-.->", edge.source),
        };
        let label = match &*edge.label {
            "" => String::new(),
            label => format!("|\"{}\"|", escape(label)),
        };
        let _ = writeln!(text, "    n{from} {arrow}{label} n{to}");
    }
    text
}

/// Within quotes Mermaid takes everything but quotes, marks of HTML and line ends.
fn escape(text: &str) -> String {
    text.replace('"', "#quot;")
        .replace('<', "#lt;")
        .replace('>', "#gt;")
        .replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::declarations;

    #[test]
    fn a_kind_has_one_node_however_often_it_is_named() {
        assert_eq!(
            super::mermaid(&declarations()),
            r#"flowchart LR
    n0(["one"])
    n1["ConfigMap<br/><small>core</small>"]
    n2["Secret<br/><small>core</small>"]
    n3(["a #quot;quoted#quot; name"])
    n4[/"|x| ticks::#lt;Every#lt;5#gt;#gt;(x)"/]
    n1 ==>|"reconciles: generation"| n0
    n2 -->|"owned"| n0
    n0 -.->|"writes"| n2
    n2 ==>|"reconciles"| n3
    n4 --> n3
"#
        );
    }
}
