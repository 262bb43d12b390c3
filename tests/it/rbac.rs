//! The roles that an operator prints are what it uses: no right is missing, none is left over.
//!
//! The roles are applied as printed, and the operator runs as the account they are bound to, on a server with RBAC and with the admission
//! that asks for rights on owner references.

use std::{sync::Arc, time::Duration};

use controller_apiserver::{Fault, Server, When, access::User};
use controller_runtime::{
    Action, Operator, controller,
    declare::Namespaces,
    object::ObjectRef,
    operator::{ElectionOptions, ManifestOptions, RunOptions},
    reconcile::{Children, Recorder, Status},
    store::Store,
};
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount},
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api, Client, CustomResource, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Of the whole cluster: a ConfigMap in each of its namespaces.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Team", status = "TeamStatus")]
struct TeamSpec {
    namespaces: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct TeamStatus {
    members: i64,
}

/// In a namespace: a Secret for as long as it is asked for.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "App",
    namespaced,
    status = "AppStatus"
)]
#[serde(rename_all = "camelCase")]
struct AppSpec {
    settings: String,
    secret: bool,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct AppStatus {
    observed_generation: Option<i64>,
    conditions: Vec<Condition>,
}

#[controller(name = "teams", owns(ConfigMap), watches(Namespace, map(teams_of)))]
async fn team(
    team: Arc<Team>,
    children: Children,
    recorder: Recorder,
    status: Status,
) -> Result<Action, kube::Error> {
    let roster = |namespace: &String| ConfigMap {
        metadata: ObjectMeta {
            name: Some(team.name_any()),
            namespace: Some(namespace.clone()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    children.apply(team.spec.namespaces.iter().map(roster)).await?;
    recorder.normal("Enrolled", "the team is whole").await;
    status.set(TeamStatus {
        members: i64::try_from(team.spec.namespaces.len()).unwrap_or(i64::MAX),
    });
    Ok(Action::await_change())
}

fn teams_of(namespace: &Namespace) -> Option<ObjectRef<Team>> {
    let team = namespace.labels().get("team")?;
    Some(ObjectRef::new(team))
}

#[controller(
    name = "apps",
    owns(Secret),
    references(ConfigMap, |app| app.spec.settings.clone()),
    cleanup(release),
    status(conditions),
    rbac("core/serviceaccounts": get),
)]
async fn app(
    app: Arc<App>,
    client: Client,
    _settings: Store<ConfigMap>,
    children: Children,
) -> Result<Action, kube::Error> {
    let namespace = app.namespace().unwrap_or_default();
    let accounts = Api::<ServiceAccount>::namespaced(client, &namespace);
    accounts.get_opt("default").await?;
    let secret = app.spec.secret.then(|| Secret {
        metadata: ObjectMeta {
            name: Some(app.name_any()),
            ..ObjectMeta::default()
        },
        data: Some([("user".to_owned(), ByteString(app.name_any().into_bytes()))].into()),
        ..Secret::default()
    });
    children.apply(secret).await?;
    Ok(Action::await_change())
}

async fn release(_: Arc<App>) -> Result<(), kube::Error> {
    Ok(())
}

pub(crate) fn operator() -> Operator {
    Operator::new("staff")
        .crd::<Team>()
        .crd::<App>()
        .controller(team::controller())
        .controller(app::controller())
}

/// Everything that these controllers can do, in each of the namespaces.
async fn life(server: &Server) {
    let client = server.client_named("test");
    let merge = |patch| Patch::Merge(patch);
    let (created, patched) = (PostParams::default(), PatchParams::default());
    let teams = Api::<Team>::all(client.clone());
    let places = TeamSpec {
        namespaces: vec!["a".to_owned(), "b".to_owned()],
    };
    teams.create(&created, &Team::new("red", places)).await.unwrap();
    for place in ["a", "b"] {
        let apps = Api::<App>::namespaced(client.clone(), place);
        let spec = AppSpec {
            settings: "red".to_owned(),
            secret: true,
        };
        apps.create(&created, &App::new("web", spec)).await.unwrap();
    }
    // The lease is renewed meanwhile.
    server.advance(Duration::from_secs(20)).await.unwrap();
    let namespaces = Api::<Namespace>::all(client.clone());
    let joins = merge(json!({"metadata": {"labels": {"team": "red"}}}));
    namespaces.patch("a", &patched, &joins).await.unwrap();
    for place in ["a", "b"] {
        let secrets = Api::<Secret>::namespaced(client.clone(), place);
        for user in ["bm9ib2R5", "c29tZWJvZHk="] {
            let edit = merge(json!({"data": {"user": user}}));
            secrets.patch("web", &patched, &edit).await.unwrap();
            server.settle().await.unwrap();
        }
        let apps = Api::<App>::namespaced(client.clone(), place);
        let prunes = merge(json!({"spec": {"secret": false}}));
        apps.patch("web", &patched, &prunes).await.unwrap();
        server.settle().await.unwrap();
        assert_eq!(secrets.get_opt("web").await.unwrap().map(|_| ()), None);
        apps.delete("web", &Default::default()).await.unwrap();
        server.settle().await.unwrap();
        assert!(apps.get_opt("web").await.unwrap().is_none(), "it is cleaned up");
    }
    let shrinks = merge(json!({"spec": {"namespaces": []}}));
    teams.patch("red", &patched, &shrinks).await.unwrap();
    server.settle().await.unwrap();
    assert_eq!(teams.get("red").await.unwrap().status.unwrap().members, 0);
}

/// kubernetes-sigs/kubebuilder#1654, kubernetes-sigs/agent-sandbox#1079, operator-framework/operator-sdk#6649, and their like: a right too few,
/// too many, in the wrong group, or in the wrong place.
#[tokio::test(start_paused = true)]
async fn the_printed_roles_are_exact_wherever_the_operator_watches() {
    let only = |names: &[&str]| Namespaces::Only(names.iter().map(ToString::to_string).collect());
    for watched in [Namespaces::All, only(&["a", "b"])] {
        let server = Server::builder().enforce_owner_references(true).build();
        for name in ["a", "b"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            server.install([namespace]).await.unwrap();
        }
        let operator = operator();
        let options = ManifestOptions::new("operators", "staff:1").namespaces(watched.clone());
        server
            .install(operator.manifests(&options).unwrap())
            .await
            .unwrap();
        let roles = operator.roles(&options);
        let account = User::service_account("operators", "staff");
        // So that `list` is needed, as on servers that know no streaming lists.
        server.faults().inject(When::any(), Fault::RefuseStreamingLists);
        let run = RunOptions::new()
            .client(server.client_as(account.clone()))
            .namespaces(watched.clone())
            .elect(ElectionOptions::new().namespace("operators"));
        let running = tokio::spawn(operator.run(run));
        life(&server).await;
        let journal = server.journal().user(&account.name);
        let refused = journal.filter(|entry| entry.code == 403);
        assert!(refused.is_empty(), "{watched:?}: {refused}");
        roles
            .audit("the life of a team and of its apps", journal.rights())
            .assert_rbac_exact();
        running.abort();
    }
}
