//! From YAML text to objects: several documents a file, `List`s taken apart, each mistake with its place.

use serde_json::Value;
use serde_saphyr::Spanned;

use super::{Place, Problem};

/// One object of a file, known to carry what every object must.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) place: Place,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) object: Value,
}

impl Manifest {
    /// `Document default/hello`.
    pub(crate) fn title(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {namespace}/{}", self.kind, self.name),
            None => format!("{} {}", self.kind, self.name),
        }
    }

    /// Group, kind, namespace and name: the same object, whatever version it is written in.
    pub(crate) fn identity(&self) -> [&str; 4] {
        let group = self.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        [
            group,
            &self.kind,
            self.namespace.as_deref().unwrap_or_default(),
            &self.name,
        ]
    }
}

/// Reads all documents of one file. A mistake in one document leaves the others readable, unless the text is no YAML
/// at all from there on.
pub(crate) fn read(file: &str, text: &str) -> (Vec<Manifest>, Vec<Problem>) {
    let mut manifests = Vec::new();
    let mut problems = Vec::new();
    let mut bytes = text.as_bytes();
    let documents = serde_saphyr::read::<_, Spanned<Value>>(&mut bytes);
    for (index, document) in documents.enumerate() {
        let mut place = Place {
            file: file.to_owned(),
            document: index + 1,
            line: 0,
        };
        match document {
            Ok(document) => {
                place.line = document.referenced.line();
                for object in unlist(document.value) {
                    match manifest(&place, object) {
                        Ok(manifest) => manifests.push(manifest),
                        Err(problem) => problems.push(problem),
                    }
                }
            }
            Err(error) => {
                place.line = error.location().map_or(0, |location| location.line());
                problems.push(Problem {
                    place,
                    object: None,
                    text: format!("not readable as YAML: {}", error.without_snippet()),
                });
            }
        }
    }
    (manifests, problems)
}

/// `kind: List` of `v1` is a wrapper of clients, which no server stores.
fn unlist(mut object: Value) -> Vec<Value> {
    if object["kind"] == "List" && object["apiVersion"] == "v1" {
        match object["items"].take() {
            Value::Array(items) => return items,
            other => object["items"] = other,
        }
    }
    vec![object]
}

fn manifest(place: &Place, object: Value) -> Result<Manifest, Problem> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let kind = text(&object["kind"]);
    let name = text(&object["metadata"]["name"]);
    let problem = |text: &str| Problem {
        place: place.clone(),
        object: match (&kind, &name) {
            (Some(kind), Some(name)) => Some(format!("{kind} {name}")),
            (Some(kind), None) => Some(kind.clone()),
            _ => None,
        },
        text: text.to_owned(),
    };
    if !object.is_object() {
        return Err(problem(
            "not an object: a manifest starts with apiVersion, kind and metadata",
        ));
    }
    let Some(api_version) = text(&object["apiVersion"]) else {
        return Err(problem("apiVersion is missing"));
    };
    let (Some(kind), Some(name)) = (kind.clone(), name.clone()) else {
        return Err(problem(if kind.is_none() {
            "kind is missing"
        } else {
            "metadata.name is missing"
        }));
    };
    Ok(Manifest {
        place: place.clone(),
        api_version,
        kind,
        namespace: text(&object["metadata"]["namespace"]),
        name,
        object,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(text: &str) -> Vec<String> {
        let (manifests, problems) = read("a.yaml", text);
        assert_eq!(problems, []);
        manifests.iter().map(Manifest::title).collect()
    }

    fn only_problem(text: &str) -> String {
        let (_, problems) = read("a.yaml", text);
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems[0].to_string()
    }

    #[test]
    fn documents_come_in_order_and_lists_are_taken_apart() {
        let text = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n# nothing\n---\n\
                    apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s, namespace: a}\n";
        assert_eq!(titles(text), ["Namespace a", "Secret a/s"]);
    }

    #[test]
    fn json_is_read_as_well() {
        assert_eq!(
            titles(r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}"#),
            ["Secret s"]
        );
    }

    #[test]
    fn each_mistake_names_file_document_and_object() {
        let good = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\n";
        let at = |text: &str| only_problem(&format!("{good}{text}"));
        assert_eq!(
            at("kind: Secret\nmetadata: {name: x}\n"),
            "a.yaml:5 (document 2): Secret x: apiVersion is missing"
        );
        assert_eq!(
            at("apiVersion: v1\nmetadata: {name: x}\n"),
            "a.yaml:5 (document 2): kind is missing"
        );
        assert_eq!(
            at("apiVersion: v1\nkind: Secret\n"),
            "a.yaml:5 (document 2): Secret: metadata.name is missing"
        );
        assert!(at("- a\n- b\n").contains("not an object"));
        let text = at("apiVersion: v1\nkind: {\n");
        assert!(
            text.contains("document 2") && text.contains("not readable as YAML"),
            "{text}"
        );
    }

    #[test]
    fn a_wrong_document_leaves_its_neighbours_alone() {
        let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\nkind: Nothing\n---\n\
                    apiVersion: v1\nkind: Secret\nmetadata: {name: b}\n";
        let (manifests, problems) = read("a.yaml", text);
        assert_eq!((manifests.len(), problems.len()), (2, 1));
    }
}
