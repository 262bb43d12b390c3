//! Properties and recorded sentences of the access rules.

use super::*;
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use serde_json::{Value, json};

mod owners;
mod review;

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

fn role(namespace: &str, name: &str, rules: &[Value]) -> Value {
    json!({"kind": "Role", "metadata": {"namespace": namespace, "name": name}, "rules": rules})
}

fn cluster_role(name: &str, rules: &[Value]) -> Value {
    json!({"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
}

fn binding(namespace: &str, name: &str, role_kind: &str, role: &str, subjects: &Value) -> Value {
    let (kind, metadata) = match namespace {
        "" => ("ClusterRoleBinding", json!({"name": name})),
        _ => ("RoleBinding", json!({"name": name, "namespace": namespace})),
    };
    json!({
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": role_kind, "name": role},
        "subjects": subjects,
    })
}

fn dev() -> User {
    User::new("dev", ["developers"])
}

fn to_dev() -> Value {
    json!([{"kind": "User", "name": "dev"}])
}

fn dev_with(rules: &[Value]) -> Policy {
    let mut objects = default_objects();
    objects.extend([role("ns", "r", rules), binding("ns", "b", "Role", "r", &to_dev())]);
    Policy::of(&objects)
}

fn allowed(policy: &Policy, user: &User, method: &str, path: &str, query: &str) -> bool {
    policy
        .authorize(user, &Attributes::of(method, path, query))
        .is_allowed()
}

#[test]
fn a_refusal_says_what_the_server_says() {
    let policy = Policy::of(&default_objects());
    let refusals = [
        (
            "GET",
            "/api/v1/namespaces/ns/configmaps/a",
            r#"cannot get resource "configmaps" in API group "" in the namespace "ns""#,
        ),
        (
            "GET",
            "/api/v1/configmaps",
            r#"cannot list resource "configmaps" in API group "" at the cluster scope"#,
        ),
        (
            "DELETE",
            "/api/v1/namespaces/ns/configmaps",
            r#"cannot deletecollection resource "configmaps" in API group "" in the namespace "ns""#,
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/ns/deployments/web/scale",
            r#"cannot patch resource "deployments/scale" in API group "apps" in the namespace "ns""#,
        ),
        ("GET", "/nonsense", r#"cannot get path "/nonsense""#),
        (
            "GET",
            "/apis/apps/v1/watch/deployments",
            r#"cannot watch resource "deployments" in API group "apps" at the cluster scope"#,
        ),
    ];
    for (method, path, sentence) in refusals {
        let denial = policy
            .check(&dev(), &Attributes::of(method, path, ""))
            .unwrap_err();
        assert_eq!(denial.to_string(), format!(r#"User "dev" {sentence}"#));
    }
}

#[test]
fn everybody_may_discover_and_only_strangers_may_not() {
    let policy = Policy::of(&default_objects());
    for path in [
        "/api",
        "/apis",
        "/apis/apps/v1",
        "/openapi/v3",
        "/version",
        "/healthz",
    ] {
        assert!(allowed(&policy, &dev(), "GET", path, ""), "{path}");
        let public = matches!(path, "/version" | "/healthz");
        assert_eq!(
            allowed(&policy, &User::anonymous(), "GET", path, ""),
            public,
            "{path}"
        );
    }
    assert!(!allowed(&policy, &dev(), "GET", "/metrics", ""));
    assert!(allowed(&policy, &User::admin(), "GET", "/metrics", ""));
}

#[test]
fn names_restrict_lists_to_a_selector_of_that_name() {
    let named =
        json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"], "resourceNames": ["a"]});
    let policy = dev_with(&[named]);
    let path = "/api/v1/namespaces/ns/configmaps";
    for (method, path, query, expected) in [
        ("GET", format!("{path}/a"), "", true),
        ("GET", format!("{path}/b"), "", false),
        ("GET", path.to_owned(), "", false),
        ("GET", path.to_owned(), "fieldSelector=metadata.name%3Da", true),
        (
            "GET",
            path.to_owned(),
            "watch=true&fieldSelector=metadata.name=a",
            true,
        ),
        ("GET", path.to_owned(), "fieldSelector=metadata.name!=a", false),
        ("GET", path.to_owned(), "fieldSelector=metadata.name%3Db", false),
        ("POST", path.to_owned(), "", false),
        ("DELETE", path.to_owned(), "fieldSelector=metadata.name=a", false),
        ("PATCH", format!("{path}/c"), "", false),
    ] {
        assert_eq!(
            allowed(&policy, &dev(), method, &path, query),
            expected,
            "{method} {path}?{query}"
        );
    }
}

#[test]
fn subresources_are_rights_of_their_own() {
    let may = |resources: &[&str], path: &str| {
        allowed(
            &dev_with(&[rule(&["apps"], resources, &["patch"])]),
            &dev(),
            "PATCH",
            path,
            "",
        )
    };
    let main = "/apis/apps/v1/namespaces/ns/deployments/web";
    let scale = "/apis/apps/v1/namespaces/ns/deployments/web/scale";
    assert!(may(&["deployments"], main) && !may(&["deployments"], scale));
    assert!(!may(&["deployments/scale"], main) && may(&["deployments/scale"], scale));
    assert!(!may(&["*/scale"], main) && may(&["*/scale"], scale));
    assert!(may(&["*"], main) && may(&["*"], scale));
    assert!(!may(&["*/status"], scale) && !may(&["deployments/*"], scale));
}

#[test]
fn a_service_account_subject_takes_the_namespace_of_its_binding() {
    let rules = [rule(&[""], &["pods"], &["get"])];
    let subjects = json!([{"kind": "ServiceAccount", "name": "sa"}, {"kind": "ServiceAccount", "name": "sb", "namespace": "other"}]);
    let policy = Policy::of(&[
        role("ns", "r", &rules),
        cluster_role("c", &rules),
        binding("ns", "b", "Role", "r", &subjects),
        binding("", "cb", "ClusterRole", "c", &subjects),
    ]);
    let may = |namespace: &str, name: &str, path: &str| {
        allowed(&policy, &User::service_account(namespace, name), "GET", path, "")
    };
    assert!(may("ns", "sa", "/api/v1/namespaces/ns/pods/p"));
    assert!(!may("ns", "sa", "/api/v1/namespaces/other/pods/p"));
    assert!(!may("other", "sa", "/api/v1/namespaces/ns/pods/p"));
    assert!(may("other", "sb", "/api/v1/namespaces/any/pods/p"));
}

#[test]
fn a_binding_to_a_missing_role_is_told_in_the_refusal() {
    let policy = Policy::of(&[binding("ns", "b", "Role", "gone", &to_dev())]);
    let denial = policy
        .check(&dev(), &Attributes::of("GET", "/api/v1/namespaces/ns/pods", ""))
        .unwrap_err();
    assert!(
        denial
            .message
            .ends_with(r#": RBAC: role.rbac.authorization.k8s.io "gone" not found"#),
        "{denial}"
    );
}

#[test]
fn what_is_taken_out_grants_no_more() {
    let rules = [rule(&[""], &["configmaps"], &["get"])];
    let path = "/api/v1/namespaces/ns/configmaps/x";
    for (resource, name) in [("roles", "r"), ("rolebindings", "b")] {
        let mut policy = dev_with(&rules);
        policy.remove(resource, "other", name);
        assert!(allowed(&policy, &dev(), "GET", path, ""));
        policy.remove(resource, "ns", name);
        assert!(!allowed(&policy, &dev(), "GET", path, ""));
    }
}

#[test]
fn the_guard_knows_the_peer_before_the_headers() {
    let guard = Guard {
        policy: Policy::of(&default_objects()),
        ..Guard::new(Authenticator::with_tokens(
            Signer::new(&[7; 32]),
            Tokens::default().with("t", dev()),
        ))
    };
    let admit = |peer: Option<Peer>, headers: &[(&str, &str)], path: &str| {
        let mut request = http::Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        parts.extensions.extend(
            peer.map(|peer| {
                let mut extensions = http::Extensions::new();
                extensions.insert(peer);
                extensions
            })
            .unwrap_or_default(),
        );
        let user = guard.identify(&parts, 0, |_| true)?;
        guard
            .admit(user, &parts.headers, &Attributes::of_request(&parts))
            .map(|user| user.name)
    };
    let token = [("authorization", "Bearer t")];
    assert_eq!(admit(None, &token, "/version"), Ok("dev".to_owned()));
    assert_eq!(admit(None, &[], "/version"), Ok(ANONYMOUS.to_owned()));
    assert_eq!(
        admit(None, &[("authorization", "Bearer u")], "/version"),
        Err(Refusal::Unauthorized(Unauthorized))
    );
    assert_eq!(
        admit(Some(Peer::User(User::admin())), &token, "/metrics"),
        Ok("kubernetes-admin".to_owned())
    );
    let acting = [("impersonate-user", "dev")];
    assert!(matches!(
        admit(Some(Peer::User(User::admin())), &acting, "/metrics"),
        Err(Refusal::Forbidden(_))
    ));
    assert!(matches!(
        admit(None, &token, "/api/v1/namespaces/a%2Fb"),
        Err(Refusal::Forbidden(_))
    ));
    assert!(matches!(
        admit(None, &[("impersonate-uid", "1")], "/version"),
        Err(Refusal::BadRequest(_))
    ));
}

#[test]
fn an_access_review_names_the_binding() {
    let policy = dev_with(&[rule(&[""], &["configmaps"], &["get"])]);
    let attributes = Attributes::of("GET", "/api/v1/namespaces/ns/configmaps/x", "");
    assert_eq!(
        policy.authorize(&dev(), &attributes).reason(),
        r#"RBAC: allowed by RoleBinding "b/ns" of Role "r" to User "dev""#
    );
    assert_eq!(policy.authorize(&User::admin(), &attributes).reason(), "");
}

mod escalation {
    use super::*;

    fn writes(policy: &Policy, resource: &str, old: Option<&Value>, new: &Value) -> Result<(), Escalation> {
        let namespace = new
            .pointer("/metadata/namespace")
            .and_then(Value::as_str)
            .unwrap_or_default();
        PolicyWrite {
            user: &dev(),
            resource,
            namespace,
            old,
            new,
        }
        .check(policy)
    }

    fn policy() -> Policy {
        dev_with(&[
            rule(
                &[RBAC_GROUP],
                &["roles", "rolebindings"],
                &["create", "update", "patch", "get"],
            ),
            rule(&[""], &["configmaps"], &["get", "list"]),
        ])
    }

    #[test]
    fn lists_what_is_not_held_as_the_server_does() {
        let more = role(
            "ns",
            "more",
            &[rule(&[""], &["configmaps", "secrets"], &["get", "delete"])],
        );
        assert_eq!(
            writes(&policy(), "roles", None, &more),
            Err(Escalation::Forbidden(
                "user \"dev\" (groups=[\"developers\" \"system:authenticated\"]) is attempting to grant RBAC \
                 permissions not currently held:\n\
                 {APIGroups:[\"\"], Resources:[\"configmaps\"], Verbs:[\"delete\"]}\n\
                 {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"delete\"]}"
                    .to_owned()
            ))
        );
        let own = role("ns", "own", &[rule(&[""], &["configmaps"], &["get"])]);
        assert_eq!(writes(&policy(), "roles", None, &own), Ok(()));
        let same = role(
            "ns",
            "more",
            &[rule(&[""], &["configmaps", "secrets"], &["get", "delete"])],
        );
        assert_eq!(writes(&policy(), "roles", Some(&more), &same), Ok(()));
    }

    #[test]
    fn a_binding_needs_the_permissions_of_its_role() {
        let to = |kind: &str, name: &str| binding("ns", "b2", kind, name, &to_dev());
        assert_eq!(writes(&policy(), "rolebindings", None, &to("Role", "r")), Ok(()));
        assert_eq!(
            writes(&policy(), "rolebindings", None, &to("Role", "gone")),
            Err(Escalation::MissingRole("gone".to_owned()))
        );
        let Err(Escalation::Forbidden(text)) = writes(
            &policy(),
            "rolebindings",
            None,
            &to("ClusterRole", "cluster-admin"),
        ) else {
            panic!("bound to cluster-admin");
        };
        assert!(
            text.ends_with(
                "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}"
            ),
            "{text}"
        );
    }

    #[test]
    fn the_verbs_bind_and_escalate_lift_it() {
        let strong = role("ns", "strong", &[rule(&[""], &["secrets"], &["*"])]);
        for (verb, resource, lifted) in [
            ("escalate", "roles", true),
            ("escalate", "clusterroles", false),
            ("bind", "roles", false),
        ] {
            let policy = dev_with(&[rule(&[RBAC_GROUP], &[resource], &[verb])]);
            assert_eq!(
                writes(&policy, "roles", None, &strong).is_ok(),
                lifted,
                "{verb} {resource}"
            );
        }
        let mut policy = dev_with(&[json!({
            "apiGroups": [RBAC_GROUP], "resources": ["clusterroles"], "verbs": ["bind"], "resourceNames": ["view"],
        })]);
        policy.put("roles", &strong);
        let to = |name: &str| binding("ns", "b2", "ClusterRole", name, &to_dev());
        assert_eq!(writes(&policy, "rolebindings", None, &to("view")), Ok(()));
        assert!(writes(&policy, "rolebindings", None, &to("edit")).is_err());
    }

    #[test]
    fn an_aggregation_rule_needs_everything() {
        let mut wide = cluster_role("wide", &[]);
        wide["aggregationRule"] = json!({"clusterRoleSelectors": [{}]});
        assert!(writes(&policy(), "clusterroles", None, &wide).is_err());
        assert_eq!(writes(&policy(), "clusterroles", Some(&wide), &wide), Ok(()));
    }
}

mod acting_as {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_bytes(name.as_bytes()).unwrap(),
                    HeaderValue::from_bytes(value.as_bytes()).unwrap(),
                )
            })
            .collect()
    }

    fn act(policy: &Policy, user: &User, pairs: &[(&str, &str)]) -> Result<User, String> {
        let wanted = requested(&headers(pairs))?.expect("somebody");
        let attributes = Attributes::of("GET", "/api/v1/namespaces/ns/configmaps", "");
        impersonate(policy, user, &wanted, &attributes).map_err(|denial| denial.to_string())
    }

    #[test]
    fn the_administrator_may_be_anybody() {
        let policy = Policy::default();
        let user = act(
            &policy,
            &User::admin(),
            &[
                ("Impersonate-User", "z"),
                ("Impersonate-Group", "g"),
                ("Impersonate-Extra-Color", "red"),
            ],
        )
        .unwrap();
        assert_eq!(
            user.to_user_info(),
            json!({"username": "z", "groups": ["g", AUTHENTICATED], "extra": {"color": ["red"]}})
        );
        let account = act(
            &policy,
            &User::admin(),
            &[("Impersonate-User", "system:serviceaccount:ns:sa")],
        )
        .unwrap();
        assert_eq!(account, User::service_account("ns", "sa"));
        let nobody = act(&policy, &User::admin(), &[("Impersonate-User", ANONYMOUS)]).unwrap();
        assert_eq!(nobody, User::anonymous());
    }

    #[test]
    fn groups_alone_are_a_bad_request() {
        assert_eq!(
            requested(&headers(&[("Impersonate-Group", MASTERS)])).unwrap_err(),
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"system:masters\"}, \
             Extra:map[string][]string(nil)} without impersonating a user name"
        );
        assert_eq!(requested(&HeaderMap::new()), Ok(None));
    }

    #[test]
    fn a_refusal_is_that_of_the_constrained_mode() {
        let policy = Policy::of(&default_objects());
        assert_eq!(
            act(&policy, &dev(), &[("Impersonate-User", "admin")]).unwrap_err(),
            "User \"dev\" cannot impersonate-on:user-info:list resource \"configmaps\" in API group \"\" in the namespace \"ns\""
        );
    }

    #[test]
    fn the_old_verb_goes_by_user_group_and_account() {
        let policy = dev_with(&[rule(&[""], &["serviceaccounts"], &["impersonate"])]);
        assert!(
            act(
                &policy,
                &dev(),
                &[("Impersonate-User", "system:serviceaccount:ns:sa")]
            )
            .is_ok()
        );
        assert!(
            act(
                &policy,
                &dev(),
                &[("Impersonate-User", "system:serviceaccount:other:sa")]
            )
            .is_err()
        );
        assert!(act(&policy, &dev(), &[("Impersonate-User", "anna")]).is_err());
        let policy = Policy::of(&[
            cluster_role("c", &[rule(&[""], &["users"], &["impersonate"])]),
            binding("", "cb", "ClusterRole", "c", &to_dev()),
        ]);
        assert!(act(&policy, &dev(), &[("Impersonate-User", "anna")]).is_ok());
        assert!(
            act(
                &policy,
                &dev(),
                &[("Impersonate-User", "anna"), ("Impersonate-Group", "g")]
            )
            .is_err()
        );
    }

    #[test]
    fn constrained_modes_need_identity_and_action() {
        let identity = json!({
            "apiGroups": ["authentication.k8s.io"], "resources": ["users"], "resourceNames": ["anna"],
            "verbs": ["impersonate:user-info"],
        });
        let action = rule(&[""], &["configmaps"], &["impersonate-on:user-info:list"]);
        for (rules, expected) in [
            (vec![identity.clone(), action.clone()], true),
            (vec![identity], false),
            (vec![action], false),
        ] {
            let policy = Policy::of(&[
                cluster_role("c", &rules),
                binding("", "cb", "ClusterRole", "c", &to_dev()),
            ]);
            assert_eq!(
                act(&policy, &dev(), &[("Impersonate-User", "anna")]).is_ok(),
                expected
            );
            assert!(act(&policy, &dev(), &[("Impersonate-User", "bert")]).is_err());
            let masters = [("Impersonate-User", "anna"), ("Impersonate-Group", MASTERS)];
            assert!(act(&policy, &dev(), &masters).is_err());
        }
    }
}

mod token_file {
    use super::*;

    #[test]
    fn reads_columns_and_quoted_groups() {
        let text = "# users\n\nabc,dev,7,\"developers, testers\"\r\ndef,anna\n";
        let tokens = Tokens::parse("tokens.csv", text).unwrap();
        let dev = tokens.user("abc").unwrap();
        assert_eq!((dev.name.as_str(), dev.uid.as_str()), ("dev", "7"));
        assert_eq!(dev.groups, ["developers", "testers", AUTHENTICATED]);
        assert_eq!(tokens.user("def").unwrap().groups, [AUTHENTICATED]);
        assert_eq!(tokens.user("ABC"), None);
    }

    #[test]
    fn a_malformed_line_is_named_without_its_token() {
        for (text, line) in [
            ("secret-1\n", 1),
            ("\nsecret-1,\n", 2),
            (",dev\n", 1),
            ("secret-1,dev,1,\"a\n", 1),
            ("secret-1,dev,1,a\"b\n", 1),
            ("secret-1,dev,1,a,b\n", 1),
            ("secret-1,dev\nsecret-1,anna\n", 2),
        ] {
            let error = Tokens::parse("tokens.csv", text).unwrap_err().to_string();
            assert!(error.contains(&format!("tokens.csv, line {line}:")), "{error}");
            assert!(!error.contains("secret-1"), "{error}");
        }
        let tokens = Tokens::parse("t", "secret-1,dev").unwrap();
        assert!(!format!("{tokens:?}").contains("secret-1"));
    }
}

#[test]
fn the_default_roles_aggregate_upwards() {
    let policy = Policy::of(&default_objects());
    let rules = |name: &str| {
        let reference = RoleRef {
            kind: "ClusterRole".to_owned(),
            name: name.to_owned(),
            ..RoleRef::default()
        };
        policy.rules_behind(&reference, "").unwrap().to_vec()
    };
    let owned = rules("admin");
    let owned: Vec<&Rule> = owned.iter().collect();
    for weaker in ["edit", "view"] {
        assert_eq!(missing(&owned, &rules(weaker)), [], "{weaker}");
    }
    assert!(!missing(&rules("view").iter().collect::<Vec<_>>(), &rules("edit")).is_empty());
    let secrets = Attributes::of("GET", "/api/v1/namespaces/ns/secrets/s", "");
    assert!(!rules("view").iter().any(|rule| rule.allows(&secrets)));
    assert!(rules("edit").iter().any(|rule| rule.allows(&secrets)));
}

#[test]
fn an_aggregated_role_unites_what_its_selectors_match() {
    let labelled = |name: &str, label: &str, resource: &str| {
        let mut role = cluster_role(name, &[rule(&["x"], &[resource], &["get"])]);
        role["metadata"]["labels"] = json!({"into": label});
        role
    };
    let mut union = cluster_role("union", &[]);
    union["aggregationRule"] = json!({"clusterRoleSelectors": [
        {"matchLabels": {"into": "a"}},
        {"matchExpressions": [{"key": "into", "operator": "In", "values": ["b"]}]},
    ]});
    let all = [
        labelled("1", "a", "as"),
        labelled("2", "b", "bs"),
        labelled("3", "c", "cs"),
        union.clone(),
    ];
    let rules = aggregated(&union, &all).unwrap();
    assert_eq!(
        rules
            .iter()
            .map(|rule| rule.resources[0].as_str())
            .collect::<Vec<_>>(),
        ["as", "bs"]
    );
    union["rules"] = rules.iter().map(rule_value).collect();
    assert_eq!(aggregated(&union, &all), None);
    assert_eq!(aggregated(&all[0], &all), None);
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(words).prop_map(str::to_owned), 0..3)
}

prop_compose! {
    fn any_rule()(
        verbs in word(&["*", "get", "list", "create"]),
        api_groups in word(&["*", "", "apps"]),
        resources in word(&["*", "pods", "deployments", "deployments/scale", "*/scale", "*/status"]),
        resource_names in word(&["a", "b"]),
        non_resource_urls in word(&["*", "/metrics", "/logs/*"]),
    ) -> Rule {
        Rule { verbs, api_groups, resources, resource_names, non_resource_urls }
    }
}

/// Every request that the small vocabulary of `any_rule` can tell apart.
fn universe() -> Vec<Attributes> {
    let mut all = Vec::new();
    for verb in ["get", "list", "create", "escalate"] {
        for path in ["/metrics", "/logs/a", "/logs", "/x"] {
            all.push(Attributes::path(verb, path));
        }
        for group in ["", "apps", "other"] {
            for resource in ["pods", "deployments", "jobs"] {
                for subresource in ["", "scale", "status", "log"] {
                    for name in ["", "a", "b", "c"] {
                        all.push(Attributes::resource(
                            verb,
                            ResourceTarget {
                                group: group.to_owned(),
                                resource: resource.to_owned(),
                                subresource: subresource.to_owned(),
                                name: name.to_owned(),
                                namespace: "ns".to_owned(),
                                ..ResourceTarget::default()
                            },
                        ));
                    }
                }
            }
        }
    }
    all
}

/// The documentation's sentences, one comparison each, with no sharing.
fn naive(rule: &Rule, attributes: &Attributes) -> bool {
    let verb = rule
        .verbs
        .iter()
        .any(|verb| *verb == attributes.verb || verb == "*");
    verb && match &attributes.target {
        Target::Path(path) => rule.non_resource_urls.iter().any(|url| match url.as_str() {
            "*" => true,
            "/logs/*" => path.starts_with("/logs/"),
            exact => exact == path,
        }),
        Target::Resource(target) => {
            rule.api_groups
                .iter()
                .any(|group| group == "*" || *group == target.group)
                && rule.resources.iter().any(|resource| match resource.as_str() {
                    "*" => true,
                    "*/scale" => target.subresource == "scale",
                    "*/status" => target.subresource == "status",
                    "deployments/scale" => target.resource == "deployments" && target.subresource == "scale",
                    plain => target.resource == plain && target.subresource.is_empty(),
                })
                && (rule.resource_names.is_empty() || rule.resource_names.contains(&target.name))
        }
    }
}

proptest! {
    #[test]
    fn a_rule_allows_what_the_documentation_says(rule in any_rule()) {
        for attributes in universe() {
            prop_assert_eq!(rule.allows(&attributes), naive(&rule, &attributes), "{:?}", attributes);
        }
    }

    /// No escalation: rules that are covered allow nothing that the owned ones do not.
    #[test]
    fn covered_rules_allow_nothing_new(owned in prop::collection::vec(any_rule(), 0..3), wanted in any_rule()) {
        let references: Vec<&Rule> = owned.iter().collect();
        let missing = missing(&references, std::slice::from_ref(&wanted));
        for attributes in universe() {
            if wanted.allows(&attributes) {
                let held = owned.iter().any(|rule| rule.allows(&attributes));
                let reported = missing.iter().any(|rule| rule.allows(&attributes));
                prop_assert!(held || reported, "{:?}", attributes);
            }
        }
        // The API refuses rules that mix names and paths, and a name restricts no path.
        let mixed = !wanted.resource_names.is_empty() && !wanted.non_resource_urls.is_empty();
        prop_assert!(mixed || super::missing(&[&wanted], std::slice::from_ref(&wanted)).is_empty());
    }

    #[test]
    fn bindings_grant_in_their_namespace_and_to_their_subjects_only(
        rules in prop::collection::vec(any_rule(), 1..3),
        namespace in prop::sample::select(&["", "ns", "other"][..]),
        subject in prop::sample::select(&["dev", "developers", "anna"][..]),
        kind in prop::sample::select(&["User", "Group"][..]),
    ) {
        let values: Vec<Value> = rules.iter().map(rule_value).collect();
        let subjects = json!([{"kind": kind, "name": subject}]);
        let policy = Policy::of(&[cluster_role("c", &values), binding(namespace, "b", "ClusterRole", "c", &subjects)]);
        let subject_fits = matches!((kind, subject), ("User", "dev") | ("Group", "developers"));
        for attributes in universe() {
            let scope_fits = namespace.is_empty() || namespace == attributes.namespace();
            let expected = subject_fits && scope_fits && rules.iter().any(|rule| naive(rule, &attributes));
            prop_assert_eq!(policy.authorize(&dev(), &attributes).is_allowed(), expected, "{:?}", attributes);
        }
    }

    #[test]
    fn any_request_line_has_attributes(method in "[A-Z]{0,7}", path in "(/|api|apis|watch|proxy|namespaces|v1|é|%|\\PC){0,12}", query in "\\PC{0,40}") {
        let attributes = Attributes::of(&method, &path, &query);
        Policy::of(&default_objects()).authorize(&dev(), &attributes).is_allowed();
    }

    #[test]
    fn any_token_file_is_read_or_refused(text in "(\\PC|\n|,|\"){0,80}") {
        if let Err(error) = Tokens::parse("f", &text) {
            prop_assert!(error.to_string().starts_with("token file f, line "));
        }
    }

    #[test]
    fn any_object_can_be_put_into_a_policy(
        kind in prop::sample::select(&["Role", "ClusterRoleBinding", "X"][..]),
        member in prop::sample::select(&["rules", "subjects", "roleRef", "metadata"][..]),
        junk in prop::sample::select(&["null", "7", "[7]", "[null]", "{}", r#"[{"verbs": null}]"#][..]),
    ) {
        let value: Value = serde_json::from_str(junk).unwrap();
        Policy::of(&[json!({"kind": kind, member: value})]);
    }
}
