//! Discovery at the start: whether the server serves each declared kind, in the declared version.
//!
//! Asked once per group and version, until it is answered. What is not served is said of the sources of the kind, and taken back by them: a kind
//! that is installed later shows there, and nobody has to ask again.

use std::collections::{BTreeMap, BTreeSet};

use kube::{Client, discovery::ApiResource};

use super::rights::pauses;
use crate::{declare::Declaration, patience::patiently};

/// The declared kinds, by group and version.
#[derive(Debug)]
pub(crate) struct Kinds(BTreeMap<(String, String), BTreeSet<Kind>>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    plural: String,
    kind: String,
}

/// A declared kind that the server does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unserved {
    /// As the sources name it.
    pub(crate) kind: String,
    /// What is wrong, and what to do.
    pub(crate) message: String,
}

/// The kinds of all controllers, each once.
pub(crate) fn kinds<'a>(declarations: impl IntoIterator<Item = &'a Declaration>) -> Kinds {
    let mut kinds = BTreeMap::<_, BTreeSet<_>>::new();
    for declaration in declarations {
        for watched in declaration.watched() {
            let ApiResource {
                group,
                version,
                kind,
                plural,
                ..
            } = watched.resource.clone();
            kinds
                .entry((group, version))
                .or_default()
                .insert(Kind { plural, kind });
        }
    }
    Kinds(kinds)
}

/// Asks until each group has answered; `told` gets each kind that is not served.
pub(crate) async fn discover(
    client: Client,
    kinds: Kinds,
    mut rng: fastrand::Rng,
    mut told: impl FnMut(&Unserved),
) {
    let pauses = pauses();
    let Kinds(mut open) = kinds;
    for round in 1.. {
        let mut unanswered = BTreeMap::new();
        for ((group, version), kinds) in open {
            match unserved(&client, &group, &version, &kinds).await {
                Ok(unserved) => unserved.iter().for_each(&mut told),
                Err(error) => {
                    tracing::debug!(%error, group, version, "discovery was not answered");
                    unanswered.insert((group, version), kinds);
                }
            }
        }
        if unanswered.is_empty() {
            return;
        }
        open = unanswered;
        tokio::time::sleep(pauses.delay(round, rng.f64())).await;
    }
}

async fn unserved(
    client: &Client,
    group: &str,
    version: &str,
    kinds: &BTreeSet<Kind>,
) -> kube::Result<Vec<Unserved>> {
    let listed = patiently(async {
        if group.is_empty() {
            client.list_core_api_resources(version).await
        } else {
            let group = format!("{group}/{version}");
            client.list_api_group_resources(&group).await
        }
    })
    .await;
    let served: BTreeSet<_> = match listed {
        Ok(listed) => listed
            .resources
            .into_iter()
            .map(|resource| resource.name)
            .collect(),
        Err(kube::Error::Api(status)) if status.code == 404 => BTreeSet::new(),
        // Who may not look learns it from the first list.
        Err(kube::Error::Api(status)) if status.code == 403 => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let absent: Vec<_> = kinds
        .iter()
        .filter(|kind| !served.contains(&kind.plural))
        .collect();
    if absent.is_empty() {
        return Ok(Vec::new());
    }
    let versions = versions(client, group).await?;
    let say = |kind: &Kind| Unserved {
        kind: kind.kind.clone(),
        message: say(kind, group, version, &versions),
    };
    Ok(absent.into_iter().map(say).collect())
}

/// The versions of a group that are served.
async fn versions(client: &Client, group: &str) -> kube::Result<Vec<String>> {
    let groups = client.list_api_groups().await?.groups;
    let versions = groups.into_iter().filter(|served| served.name == group);
    Ok(versions
        .flat_map(|served| served.versions)
        .map(|served| served.version)
        .collect())
}

fn say(kind: &Kind, group: &str, version: &str, versions: &[String]) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    let name = format!("{}{dot}{group}", kind.plural);
    let other: Vec<_> = versions
        .iter()
        .filter(|served| *served != version)
        .map(String::as_str)
        .collect();
    let hint = if other.is_empty() {
        String::new()
    } else {
        format!(" (of {group} it serves {})", other.join(", "))
    };
    format!("{name} is not served in version {version}{hint}: install its CRD, or another version of it")
}

#[cfg(test)]
mod tests {
    use controller_apiserver::Server;
    use k8s_openapi::api::core::v1::{ConfigMap, Node};

    use super::*;
    use crate::{
        clock,
        declare::{RelationDeclaration, RelationKind, Watched},
        manager::{Board, Readiness},
    };

    fn of(group: &str, version: &str, kind: &str) -> Watched {
        let resource = ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(group, version, kind));
        let mut watched = Watched::new::<ConfigMap>(&());
        watched.resource = resource;
        watched
    }

    fn declaration() -> Declaration {
        let mut declaration = Declaration::new("one", of("example.com", "v1", "Document"));
        let related = [
            Watched::new::<Node>(&()),
            of("apps", "v1beta1", "Deployment"),
            of("", "v1", "Gadget"),
        ];
        declaration
            .relations
            .extend(related.map(|watched| RelationDeclaration::new(RelationKind::Watches, watched)));
        declaration
    }

    /// Of all declared kinds those are named, once, that are not served: of no group, in another version, in a group that has others.
    #[tokio::test(start_paused = true)]
    async fn what_is_not_served_is_named_with_what_to_do() {
        let server = Server::new();
        let declaration = declaration();
        let mut told = Vec::new();
        let kinds = kinds([&declaration, &declaration]);
        discover(server.client(), kinds, clock::rng(None), |unserved| {
            told.push(unserved.message.clone());
        })
        .await;
        let install = "install its CRD, or another version of it";
        assert_eq!(
            told,
            [
                format!("gadgets is not served in version v1: {install}"),
                format!(
                    "deployments.apps is not served in version v1beta1 (of apps it serves v1): {install}"
                ),
                format!("documents.example.com is not served in version v1: {install}"),
            ]
        );
    }

    /// Before sync readiness says it beside the state of the watch; the first list that comes takes it back.
    #[tokio::test(start_paused = true)]
    async fn readiness_says_it_until_a_list_has_come() {
        use crate::runner::{Event, Observer};
        let board = Board::new("documents");
        let declaration = declaration();
        board.expect(&declaration, &crate::declare::Namespaces::All);
        discover(
            Server::new().client(),
            kinds([&declaration]),
            clock::rng(None),
            |unserved| {
                board.unserved(unserved);
            },
        )
        .await;
        let Readiness::NotReady(lines) = board.readiness() else {
            panic!("{:?}", board.readiness())
        };
        let said = |line: &&String| line.contains("documents.example.com is not served in version v1");
        assert_eq!(lines.iter().filter(said).count(), 1, "{lines:?}");
        let status = serde_json::to_value(board.status()).expect("JSON");
        assert!(
            status.to_string().contains("is not served in version v1"),
            "{status}"
        );
        board.observe("one", &Event::Synced);
        assert_eq!(board.readiness(), Readiness::Ready);
    }
}
