//! A picture of the wiring: which kinds and triggers wake which controllers, and what these write.
//!
//! One picture, two forms: [`mermaid`] is text that many Markdown viewers draw, [`svg`] is drawn already.

mod mermaid;
mod svg;

pub use mermaid::mermaid;
pub use svg::svg;

use super::{Declaration, RelationKind};

/// What is drawn, in the order in which it was declared.
struct Picture {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

#[derive(Debug, PartialEq, Eq)]
enum Node {
    Controller { name: String },
    Kind { kind: String, group: String },
    Trigger { text: String },
}

/// From a source to a controller, by their places among the nodes.
struct Edge {
    source: usize,
    controller: usize,
    label: String,
    sort: Sort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// The kind is what the controller reconciles.
    Primary,
    /// Its changes wake primaries.
    Wakes,
    /// The controller writes it.
    Writes,
}

impl Picture {
    fn of<'a>(declarations: impl IntoIterator<Item = &'a Declaration>) -> Self {
        let mut picture = Self {
            nodes: Vec::new(),
            edges: Vec::new(),
        };
        for declaration in declarations {
            picture.add(declaration);
        }
        picture
    }

    fn add(&mut self, declaration: &Declaration) {
        self.nodes.push(Node::Controller {
            name: declaration.name.clone(),
        });
        let controller = self.nodes.len() - 1;
        let primary = &declaration.primary.resource;
        let source = self.kind(&primary.group, &primary.kind);
        let label = label("reconciles", &declaration.predicates);
        self.edge(source, controller, label, Sort::Primary);
        for relation in &declaration.relations {
            let resource = &relation.target.resource;
            let source = self.kind(&resource.group, &resource.kind);
            let word = match relation.kind {
                RelationKind::Owns => "owned",
                RelationKind::Watches => "mapped",
                RelationKind::References => "referenced",
            };
            let label = self::label(word, &relation.predicates);
            self.edge(source, controller, label, Sort::Wakes);
            if relation.kind == RelationKind::Owns && declaration.uses.children {
                self.edge(source, controller, "writes".to_owned(), Sort::Writes);
            }
        }
        for trigger in &declaration.triggers {
            self.nodes.push(Node::Trigger {
                text: trigger.clone(),
            });
            self.edge(self.nodes.len() - 1, controller, String::new(), Sort::Wakes);
        }
    }

    /// A kind has one node, however often it is named.
    fn kind(&mut self, group: &str, kind: &str) -> usize {
        let group = if group.is_empty() { "core" } else { group };
        let node = Node::Kind {
            kind: kind.to_owned(),
            group: group.to_owned(),
        };
        self.nodes
            .iter()
            .position(|known| *known == node)
            .unwrap_or_else(|| {
                self.nodes.push(node);
                self.nodes.len() - 1
            })
    }

    fn edge(&mut self, source: usize, controller: usize, label: String, sort: Sort) {
        self.edges.push(Edge {
            source,
            controller,
            label,
            sort,
        });
    }
}

fn label(word: &str, predicates: &[String]) -> String {
    if predicates.is_empty() {
        return word.to_owned();
    }
    format!("{word}: {}", predicates.join(", "))
}

#[cfg(test)]
pub(super) mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};

    use crate::declare::{Declaration, RelationDeclaration, RelationKind, Watched};

    /// Two controllers with names and triggers that no format takes as they are.
    pub(super) fn declarations() -> [Declaration; 2] {
        let mut one = Declaration::new("one", Watched::new::<ConfigMap>(&()));
        one.predicates = vec!["generation".to_owned()];
        one.relations = vec![RelationDeclaration::new(
            RelationKind::Owns,
            Watched::new::<Secret>(&()),
        )];
        one.uses.children = true;
        let mut two = Declaration::new("a \"quoted\" name", Watched::new::<Secret>(&()));
        two.triggers = vec!["|x| ticks::<Every<5>>(x)".to_owned()];
        [one, two]
    }
}
