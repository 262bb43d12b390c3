//! Access over the request path: who is let in, what he may do, and what his writes may grant.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

use std::time::Duration;

use controller_apiserver::Server;
use controller_apiserver::access::{Tokens, User};
use http::{Method, Request, header};
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

/// One who asks.
#[derive(Clone)]
struct Asker {
    server: Server,
    token: Option<String>,
    headers: Vec<(&'static str, String)>,
}

impl Asker {
    fn with(&self, name: &'static str, value: &str) -> Self {
        let mut asker = self.clone();
        asker.headers.push((name, value.to_owned()));
        asker
    }

    async fn send(&self, method: Method, path: &str, kind: &str, body: &Value) -> (u16, Value) {
        use http_body_util::BodyExt as _;
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, kind);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        // As over TCP: nothing but the headers tells who asks.
        let request = request
            .body(http_body_util::Full::new(bytes::Bytes::from(body)))
            .unwrap();
        let response = self.server.handle(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn get(&self, path: &str) -> u16 {
        self.send(Method::GET, path, "application/json", &Value::Null)
            .await
            .0
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::POST, path, "application/json", &body).await
    }

    async fn put(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::PUT, path, "application/json", &body).await
    }

    async fn patch(&self, path: &str, kind: &str, body: Value) -> (u16, Value) {
        self.send(Method::PATCH, path, kind, &body).await
    }

    async fn delete(&self, path: &str) -> u16 {
        self.send(Method::DELETE, path, "application/json", &Value::Null)
            .await
            .0
    }
}

struct World {
    server: Server,
    admin: Asker,
    dev: Asker,
    nobody: Asker,
}

impl World {
    fn of(server: Server) -> Self {
        let asker = |token: Option<&str>| Asker {
            server: server.clone(),
            token: token.map(str::to_owned),
            headers: Vec::new(),
        };
        let (admin, dev, nobody) = (asker(Some("admin")), asker(Some("dev")), asker(None));
        Self {
            server,
            admin,
            dev,
            nobody,
        }
    }

    fn new() -> Self {
        Self::of(Server::builder().tokens(tokens()).build())
    }

    /// Grants `rules` to dev in the namespace default.
    async fn grant(&self, rules: Value) {
        self.grant_to(json!({"kind": "User", "name": "dev"}), rules).await;
    }

    async fn grant_to(&self, subject: Value, rules: Value) {
        let role = json!({"metadata": {"name": "granted"}, "rules": rules});
        let (code, answer) = self.admin.put(&in_default("roles/granted"), role).await;
        assert!(code < 300, "{answer}");
        let binding = json!({"metadata": {"name": "granted"}, "subjects": [subject], "roleRef": role_ref("Role", "granted")});
        let (code, answer) = self.admin.put(&in_default("rolebindings/granted"), binding).await;
        assert!(code < 300, "{answer}");
    }
}

fn tokens() -> Tokens {
    Tokens::default()
        .with("admin", User::admin())
        .with("dev", User::new("dev", ["developers"]))
}

fn in_default(rest: &str) -> String {
    format!("{RBAC}/namespaces/default/{rest}")
}

fn role_ref(kind: &str, name: &str) -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name})
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test(start_paused = true)]
async fn a_wrong_token_is_401_everywhere_and_none_is_anonymous() {
    let world = World::new();
    let wrong = Asker {
        token: Some("wrong".to_owned()),
        ..world.dev.clone()
    };
    for path in ["/version", "/healthz", "/api", MAPS, "/nonsense", "/openapi/v3"] {
        let (code, status) = wrong
            .send(Method::GET, path, "application/json", &Value::Null)
            .await;
        assert_eq!(
            (code, status["reason"].as_str()),
            (401, Some("Unauthorized")),
            "{path}"
        );
        assert_eq!(status.get("details"), None);
        let public = matches!(path, "/version" | "/healthz");
        assert_eq!(
            world.nobody.get(path).await,
            if public { 200 } else { 403 },
            "{path}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tokens_is_open_but_knows_its_own() {
    let server = Server::new();
    let world = World::of(server);
    assert_eq!(world.nobody.get(MAPS).await, 200);
    assert_eq!(world.dev.get("/metrics").await, 200);
    let user = User::new("dev", ["developers"]);
    let api =
        kube::Api::<k8s_openapi::api::core::v1::ConfigMap>::default_namespaced(world.server.client_as(user));
    let Err(kube::Error::Api(status)) = api.list(&kube::api::ListParams::default()).await else {
        panic!("dev may list");
    };
    assert_eq!(status.code, 403);
    let journal = world.server.journal();
    let refused = journal.entries().last().unwrap();
    assert_eq!(
        (refused.user.as_str(), refused.verb, refused.code),
        ("dev", "list", 403)
    );
}

#[tokio::test(start_paused = true)]
async fn rights_come_and_go_with_the_write_that_grants_them() {
    let world = World::new();
    assert_eq!(world.dev.get(MAPS).await, 403);
    world
        .grant(json!([rule("", &["configmaps"], &["list", "delete"])]))
        .await;
    assert_eq!(world.dev.get(MAPS).await, 200);
    assert_eq!(world.dev.get("/api/v1/configmaps").await, 403);
    world.grant(json!([rule("", &["configmaps"], &["watch"])])).await;
    assert_eq!(world.dev.get(MAPS).await, 403);
    assert_eq!(
        world.dev.get(&format!("{MAPS}?watch=1&timeoutSeconds=1")).await,
        200
    );
    assert_eq!(world.admin.delete(&in_default("rolebindings/granted")).await, 200);
    assert_eq!(
        world.dev.get(&format!("{MAPS}?watch=1&timeoutSeconds=1")).await,
        403
    );
}

/// What makes an object needs `create`, by whatever verb it comes.
#[tokio::test(start_paused = true)]
async fn put_and_apply_of_a_new_object_need_create() {
    let world = World::new();
    world
        .grant(json!([
            rule("", &["configmaps"], &["patch"]),
            rule("coordination.k8s.io", &["leases"], &["update"])
        ]))
        .await;
    let apply = |name: &'static str| {
        let dev = world.dev.clone();
        async move {
            dev.patch(&format!("{MAPS}/{name}?fieldManager=m"), APPLY, config_map(name))
                .await
        }
    };
    let (code, status) = apply("a").await;
    assert_eq!(code, 403);
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains(r#"User "dev" cannot create resource "configmaps""#),
        "{message}"
    );
    world.admin.post(MAPS, config_map("a")).await;
    assert_eq!(apply("a").await.0, 200);
    let lease = json!({"metadata": {"name": "l"}});
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    assert_eq!(world.dev.put(path, lease.clone()).await.0, 403);
    world
        .grant(json!([rule(
            "coordination.k8s.io",
            &["leases"],
            &["update", "create"]
        )]))
        .await;
    assert_eq!(world.dev.put(path, lease).await.0, 201);
}

/// Each way to write a role or binding is checked, in namespaces and in the cluster.
#[tokio::test(start_paused = true)]
async fn no_way_of_writing_grants_more_than_one_has() {
    let world = World::new();
    let all = ["create", "update", "patch", "get"];
    world
        .grant(json!([
            rule("rbac.authorization.k8s.io", &["roles", "rolebindings"], &all),
            rule("", &["configmaps"], &["get"])
        ]))
        .await;
    let subjects = json!([{"kind": "User", "name": "dev"}]);
    let role = |verbs: &[&str]| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "r"}, "rules": [rule("", &["configmaps"], verbs)],
        })
    };
    let path = in_default("roles/r");
    let dev = &world.dev;
    assert_eq!(
        dev.post(&in_default("roles"), role(&["get", "list"])).await.0,
        403
    );
    assert_eq!(dev.put(&path, role(&["get", "list"])).await.0, 403);
    assert_eq!(
        dev.patch(&format!("{path}?fieldManager=m"), APPLY, role(&["*"]))
            .await
            .0,
        403
    );
    assert_eq!(dev.post(&in_default("roles"), role(&["get"])).await.0, 201);
    let widened = json!({"rules": [rule("", &["secrets"], &["get"])]});
    assert_eq!(dev.patch(&path, MERGE, widened.clone()).await.0, 403);
    let add = json!([{"op": "add", "path": "/rules/0/verbs/-", "value": "delete"}]);
    assert_eq!(dev.patch(&path, "application/json-patch+json", add).await.0, 403);
    assert_eq!(dev.put(&path, role(&["get", "list"])).await.0, 403);
    let labelled = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(
        dev.patch(&path, MERGE, labelled).await.0,
        200,
        "metadata grants nothing"
    );
    world.admin.patch(&path, MERGE, widened).await;
    let binding = |kind: &str, name: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "b"}, "subjects": subjects, "roleRef": role_ref(kind, name),
        })
    };
    let place = in_default("rolebindings");
    for (kind, name, code) in [
        ("Role", "r", 403),
        ("Role", "none", 404),
        ("ClusterRole", "view", 403),
        ("ClusterRole", "none", 404),
        ("Role", "granted", 201),
    ] {
        assert_eq!(
            dev.post(&place, binding(kind, name)).await.0,
            code,
            "{kind} {name}"
        );
    }
    let moved = json!({"roleRef": role_ref("Role", "r")});
    assert_eq!(
        dev.patch(&format!("{place}/b"), MERGE, moved.clone()).await.0,
        403
    );
    assert_eq!(
        world.admin.patch(&format!("{place}/b"), MERGE, moved).await.0,
        422,
        "roleRef is immutable"
    );
    let cluster =
        json!({"metadata": {"name": "c"}, "subjects": subjects, "roleRef": role_ref("ClusterRole", "view")});
    assert_eq!(
        dev.post(&format!("{RBAC}/clusterrolebindings"), cluster).await.0,
        403
    );
}

#[tokio::test(start_paused = true)]
async fn one_may_act_as_another_with_that_right_only() {
    let world = World::new();
    let anna = world.admin.with("impersonate-user", "anna");
    assert_eq!(anna.get(MAPS).await, 403);
    assert_eq!(
        anna.with("impersonate-group", "system:masters").get(MAPS).await,
        200
    );
    assert_eq!(world.admin.with("impersonate-uid", "1").get(MAPS).await, 400);
    assert_eq!(world.dev.with("impersonate-user", "admin").get(MAPS).await, 403);
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let account = world
        .admin
        .with("impersonate-user", "system:serviceaccount:default:sa");
    let (code, answer) = account
        .post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
        .await;
    assert_eq!(code, 201);
    assert_eq!(
        answer["status"]["userInfo"]["groups"],
        json!([
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated"
        ])
    );
    let entry = world.server.journal().entries().last().unwrap().user.clone();
    assert_eq!(entry, "system:serviceaccount:default:sa");
}

#[tokio::test(start_paused = true)]
async fn a_service_account_token_lives_as_long_as_its_time_and_its_account() {
    let world = World::new();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    world
        .admin
        .post(accounts, json!({"metadata": {"name": "sa"}}))
        .await;
    let request = json!({"spec": {"expirationSeconds": 600}});
    let issue = async || {
        let (code, answer) = world
            .admin
            .post(&format!("{accounts}/sa/token"), request.clone())
            .await;
        assert_eq!(code, 201, "{answer}");
        let token = answer["status"]["token"].as_str().unwrap().to_owned();
        Asker {
            token: Some(token),
            ..world.nobody.clone()
        }
    };
    let pod = issue().await;
    assert_eq!(pod.get(MAPS).await, 403);
    world
        .grant_to(
            json!({"kind": "ServiceAccount", "name": "sa"}),
            json!([rule("", &["configmaps"], &["list"])]),
        )
        .await;
    assert_eq!(pod.get(MAPS).await, 200);
    let review = json!({"spec": {"token": pod.token}});
    let (_, answer) = world
        .admin
        .post("/apis/authentication.k8s.io/v1/tokenreviews", review)
        .await;
    assert_eq!(
        answer["status"]["user"]["username"],
        "system:serviceaccount:default:sa"
    );
    tokio::time::advance(Duration::from_secs(601)).await;
    assert_eq!(pod.get(MAPS).await, 401);
    let pod = issue().await;
    assert_eq!(pod.get(MAPS).await, 200);
    world.admin.delete(&format!("{accounts}/sa")).await;
    world
        .admin
        .post(accounts, json!({"metadata": {"name": "sa"}}))
        .await;
    assert_eq!(pod.get(MAPS).await, 401, "an account of that name, but another");
}

#[tokio::test(start_paused = true)]
async fn aggregated_roles_follow_their_sources() {
    let world = World::new();
    let label = json!({"rbac.authorization.k8s.io/aggregate-to-view": "true"});
    let role = json!({"metadata": {"name": "widgets", "labels": label}, "rules": [rule("x.dev", &["widgets"], &["get"])]});
    world.admin.post(&format!("{RBAC}/clusterroles"), role).await;
    world.server.settle().await.unwrap();
    let binding = json!({"metadata": {"name": "b"}, "subjects": [{"kind": "User", "name": "dev"}], "roleRef": role_ref("ClusterRole", "admin")});
    assert_eq!(
        world.admin.post(&in_default("rolebindings"), binding).await.0,
        201
    );
    let path = "/apis/x.dev/v1/namespaces/default/widgets/w";
    assert_eq!(
        world.dev.get(path).await,
        404,
        "view is in edit, and edit in admin"
    );
    world.admin.delete(&format!("{RBAC}/clusterroles/widgets")).await;
    world.server.settle().await.unwrap();
    assert_eq!(world.dev.get(path).await, 403);
    world.server.settle().await.unwrap();
    let revision = world.server.revision();
    world.server.advance(Duration::from_secs(60)).await.unwrap();
    assert_eq!(world.server.revision(), revision, "nothing is left to do");
}

/// kubernetes-sigs/kubebuilder#1654: on clusters with that admission, and only there.
#[tokio::test(start_paused = true)]
async fn owner_references_are_enforced_where_that_is_on() {
    for enforced in [false, true] {
        let world = World::of(
            Server::builder()
                .tokens(tokens())
                .enforce_owner_references(enforced)
                .build(),
        );
        world.admin.post(MAPS, config_map("owner")).await;
        let mut child = config_map("child");
        child["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "u", "blockOwnerDeletion": true}]);
        let rights = ["get", "create", "patch", "update", "delete"];
        world.grant(json!([rule("", &["configmaps"], &rights)])).await;
        let path = format!("{MAPS}/child");
        let expected = |code: u16| if enforced { 403 } else { code };
        assert_eq!(world.dev.post(MAPS, child.clone()).await.0, expected(201));
        assert_eq!(
            world
                .dev
                .patch(&format!("{path}?fieldManager=m"), APPLY, child.clone())
                .await
                .0,
            expected(200)
        );
        world
            .grant(json!([
                rule("", &["configmaps"], &rights),
                rule("", &["configmaps/finalizers"], &["update"])
            ]))
            .await;
        let (code, answer) = world
            .dev
            .patch(&format!("{path}?fieldManager=m"), APPLY, child)
            .await;
        assert!(code < 300, "{answer}");
    }
}

/// What would have to be asked of others is refused where it is set up, never passed over.
#[tokio::test(start_paused = true)]
async fn admission_webhooks_and_policies_are_refused() {
    let world = World::new();
    let group = "/apis/admissionregistration.k8s.io/v1";
    for (plural, kind) in [
        (
            "validatingwebhookconfigurations",
            "ValidatingWebhookConfiguration",
        ),
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
        (
            "validatingadmissionpolicybindings",
            "ValidatingAdmissionPolicyBinding",
        ),
    ] {
        let object =
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "x"}});
        let (code, status) = world
            .admin
            .post(&format!("{group}/{plural}"), object.clone())
            .await;
        assert_eq!(code, 501, "{status}");
        let message = status["message"].as_str().unwrap();
        assert!(message.contains("calls no admission webhooks"), "{message}");
        let (code, _) = world
            .admin
            .patch(&format!("{group}/{plural}/x?fieldManager=m"), APPLY, object)
            .await;
        assert_eq!(code, 501);
        assert_eq!(world.admin.get(&format!("{group}/{plural}")).await, 200);
    }
}
