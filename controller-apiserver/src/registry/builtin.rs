//! The built-in kinds, read from `data/resources.txt`.

use super::{NameRule, Resource, Rules, Subresource};

const TABLE: &str = include_str!("../../data/resources.txt");

const ALL_VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// Every line of the table.
pub(super) fn all() -> impl Iterator<Item = Resource> {
    TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter_map(|line| read(&line.split_whitespace().collect::<Vec<_>>()))
}

fn read(cells: &[&str]) -> Option<Resource> {
    let [
        group,
        version,
        kind,
        plural,
        short,
        categories,
        scope,
        verbs,
        subresources,
        rules,
    ] = *cells
    else {
        debug_assert!(false, "a line of the table has not ten columns: {cells:?}");
        return None;
    };
    let group = if group == "core" { "" } else { group };
    Some(Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        short_names: list(short, ','),
        categories: list(categories, ','),
        namespaced: scope == "namespaced",
        verbs: if verbs == "*" {
            ALL_VERBS.map(str::to_owned).to_vec()
        } else {
            list(verbs, ',')
        },
        subresources: list(subresources, ',')
            .iter()
            .map(|text| subresource(text))
            .collect(),
        rules: parse_rules(rules),
        collection: collection(group, plural).into(),
        custom: None,
    })
}

fn list(cell: &str, separator: char) -> Vec<String> {
    if cell == "-" {
        return Vec::new();
    }
    cell.split(separator).map(str::to_owned).collect()
}

/// `name[:verb+verb][=group/version/kind]`.
fn subresource(text: &str) -> Subresource {
    let (text, kind) = text
        .split_once('=')
        .map_or((text, None), |(text, kind)| (text, Some(kind)));
    let (name, verbs) = text
        .split_once(':')
        .map_or((text, "get+patch+update"), |(name, verbs)| (name, verbs));
    Subresource {
        name: name.to_owned(),
        verbs: list(verbs, '+'),
        kind: kind.map(|kind| match *kind.split('/').collect::<Vec<_>>() {
            [group, version, kind] => (group.to_owned(), version.to_owned(), kind.to_owned()),
            [version, kind] => (String::new(), version.to_owned(), kind.to_owned()),
            _ => (String::new(), String::new(), kind.to_owned()),
        }),
    }
}

fn parse_rules(cell: &str) -> Rules {
    let has = |rule| cell.split(',').any(|r| r == rule);
    Rules {
        put_creates: has("put-creates"),
        needs_version: has("needs-version"),
        generation: has("generation"),
        returns_deleted: has("returns-deleted"),
        names: match () {
            () if has("label-name") => NameRule::Label,
            () if has("path-name") => NameRule::Path,
            () => NameRule::Subdomain,
        },
    }
}

/// Events of both groups are one collection: two views of one store.
fn collection(group: &str, plural: &str) -> String {
    match (group, plural) {
        ("" | "events.k8s.io", plural) => plural.to_owned(),
        (group, plural) => format!("{group}/{plural}"),
    }
}
