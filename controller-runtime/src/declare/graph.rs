//! A picture of the wiring, as Mermaid text.

use std::fmt::Write as _;

use super::{Declaration, RelationKind};

/// The controllers and kinds of `declarations` as a Mermaid flowchart, which many Markdown viewers draw.
///
/// ```
/// use controller_runtime::declare::{Declaration, Watched, graph};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let declaration = Declaration::new("janitor", Watched::new::<ConfigMap>(&()));
/// assert!(graph([&declaration]).contains("ConfigMap"));
/// ```
pub fn graph<'a>(declarations: impl IntoIterator<Item = &'a Declaration>) -> String {
    let mut picture = Picture {
        text: "flowchart LR\n".to_owned(),
        kinds: Vec::new(),
    };
    for (number, declaration) in declarations.into_iter().enumerate() {
        picture.controller(number, declaration);
    }
    picture.text
}

struct Picture {
    text: String,
    /// Kinds that have a node, by group and kind; a node's name is its place here.
    kinds: Vec<(String, String)>,
}

impl Picture {
    fn controller(&mut self, number: usize, declaration: &Declaration) {
        let controller = format!("c{number}");
        self.line(&format!("{controller}([\"{}\"])", escape(&declaration.name)));
        let primary = self.kind(
            &declaration.primary.resource.group,
            &declaration.primary.resource.kind,
        );
        let label = label("reconciles", &declaration.predicates);
        self.line(&format!("{primary} ==>|\"{label}\"| {controller}"));
        for relation in &declaration.relations {
            let resource = &relation.target.resource;
            let kind = self.kind(&resource.group, &resource.kind);
            let word = match relation.kind {
                RelationKind::Owns => "owned",
                RelationKind::Watches => "mapped",
                RelationKind::References => "referenced",
            };
            self.line(&format!(
                "{kind} -->|\"{}\"| {controller}",
                self::label(word, &relation.predicates)
            ));
            if relation.kind == RelationKind::Owns && declaration.uses.children {
                self.line(&format!("{controller} -.->|\"writes\"| {kind}"));
            }
        }
        for (place, trigger) in declaration.triggers.iter().enumerate() {
            let node = format!("{controller}t{place}");
            self.line(&format!("{node}[/\"{}\"/] --> {controller}", escape(trigger)));
        }
    }

    /// The name of the node of a kind, which is drawn when it is first named.
    fn kind(&mut self, group: &str, kind: &str) -> String {
        let wanted = (group.to_owned(), kind.to_owned());
        if let Some(place) = self.kinds.iter().position(|known| *known == wanted) {
            return format!("k{place}");
        }
        let node = format!("k{}", self.kinds.len());
        let group = if group.is_empty() { "core" } else { group };
        self.line(&format!(
            "{node}[\"{}<br/><small>{}</small>\"]",
            escape(kind),
            escape(group)
        ));
        self.kinds.push(wanted);
        node
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "    {line}");
    }
}

fn label(word: &str, predicates: &[String]) -> String {
    if predicates.is_empty() {
        return word.to_owned();
    }
    escape(&format!("{word}: {}", predicates.join(", ")))
}

/// Within quotes Mermaid takes everything but quotes and line ends.
fn escape(text: &str) -> String {
    text.replace('"', "#quot;").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};

    use super::*;
    use crate::declare::{RelationDeclaration, Watched};

    #[test]
    fn a_kind_has_one_node_however_often_it_is_named() {
        let mut one = Declaration::new("one", Watched::new::<ConfigMap>(&()));
        one.predicates = vec!["generation".to_owned()];
        one.relations = vec![RelationDeclaration::new(
            RelationKind::Owns,
            Watched::new::<Secret>(&()),
        )];
        one.uses.children = true;
        let mut two = Declaration::new("a \"quoted\" name", Watched::new::<Secret>(&()));
        two.triggers = vec!["|x| ticks(x)".to_owned()];
        assert_eq!(
            graph([&one, &two]),
            r#"flowchart LR
    c0(["one"])
    k0["ConfigMap<br/><small>core</small>"]
    k0 ==>|"reconciles: generation"| c0
    k1["Secret<br/><small>core</small>"]
    k1 -->|"owned"| c0
    c0 -.->|"writes"| k1
    c1(["a #quot;quoted#quot; name"])
    k1 ==>|"reconciles"| c1
    c1t0[/"|x| ticks(x)"/] --> c1
"#
        );
    }
}
