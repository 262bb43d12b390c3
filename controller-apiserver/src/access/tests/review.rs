//! The review kinds and tokens: what is answered, and what is refused.

use super::*;

fn causes(result: Result<Value, ReviewError>) -> Vec<(String, String)> {
    match result {
        Err(ReviewError::Invalid(causes)) => causes
            .into_iter()
            .map(|cause| (cause.field, cause.message))
            .collect(),
        other => panic!("not invalid: {other:?}"),
    }
}

fn asked(spec: &Value) -> Result<Value, ReviewError> {
    let policy = dev_with(&[rule(&[""], &["configmaps"], &["get"])]);
    self_subject_access_review(&json!({"spec": spec}), &dev(), &policy)
}

#[test]
fn a_self_review_answers_and_echoes() {
    let attributes = json!({"namespace": "ns", "verb": "get", "resource": "configmaps", "name": "x"});
    let answer = asked(&json!({"resourceAttributes": attributes})).unwrap();
    assert_eq!(answer["metadata"], json!({}));
    assert_eq!(answer["spec"]["resourceAttributes"], attributes);
    assert_eq!(
        answer["status"],
        json!({"allowed": true, "reason": "RBAC: allowed by RoleBinding \"b/ns\" of Role \"r\" to User \"dev\""})
    );
    let everywhere = json!({"verb": "get", "resource": "configmaps"});
    assert_eq!(
        asked(&json!({"resourceAttributes": everywhere})).unwrap()["status"],
        json!({"allowed": false})
    );
    let path = json!({"path": "/version", "verb": "get"});
    assert_eq!(
        asked(&json!({"nonResourceAttributes": path})).unwrap()["status"]["allowed"],
        json!(true)
    );
}

#[test]
fn a_self_review_asks_exactly_one_question() {
    let both = json!({"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/x", "verb": "get"}});
    assert_eq!(
        causes(asked(&both)),
        [(
            "spec.nonResourceAttributes".to_owned(),
            "Invalid value: {\"Path\":\"/x\",\"Verb\":\"get\"}: cannot be specified in combination with \
             resourceAttributes"
                .to_owned()
        )]
    );
    for neither in [json!({}), json!(null), json!({"resourceAttributes": null})] {
        assert_eq!(
            causes(asked(&neither)),
            [(
                "spec.resourceAttributes".to_owned(),
                "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
                    .to_owned()
            )]
        );
    }
    let named =
        json!({"metadata": {"name": "x"}, "spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}});
    let fields = causes(self_subject_access_review(&named, &dev(), &Policy::default()));
    assert_eq!(fields[0].0, "metadata");
}

#[test]
fn a_review_of_another_names_him() {
    let policy = dev_with(&[rule(&[""], &["configmaps"], &["get"])]);
    let attributes = json!({"namespace": "ns", "verb": "get", "resource": "configmaps"});
    let body = json!({"spec": {"user": "dev", "resourceAttributes": attributes}});
    assert_eq!(
        subject_access_review(&body, &policy).unwrap()["status"]["allowed"],
        json!(true)
    );
    let body = json!({"spec": {"groups": [MASTERS], "resourceAttributes": attributes}});
    assert_eq!(
        subject_access_review(&body, &policy).unwrap()["status"],
        json!({"allowed": true})
    );
    let body = json!({"spec": {"resourceAttributes": attributes}});
    assert_eq!(causes(subject_access_review(&body, &policy))[0].0, "spec.user");
}

#[test]
fn a_local_review_stays_in_its_namespace() {
    let policy = dev_with(&[rule(&[""], &["configmaps"], &["get"])]);
    let of = |spec: Value| local_subject_access_review(&json!({"spec": spec}), "ns", &policy);
    let attributes =
        |namespace: &str| json!({"namespace": namespace, "verb": "get", "resource": "configmaps"});
    let answer = of(json!({"user": "dev", "resourceAttributes": attributes("ns")})).unwrap();
    assert_eq!(
        (&answer["metadata"], &answer["status"]["allowed"]),
        (&json!({"namespace": "ns"}), &json!(true))
    );
    assert_eq!(
        causes(of(
            json!({"user": "dev", "resourceAttributes": attributes("other")})
        ))[0]
            .0,
        "spec.resourceAttributes.namespace"
    );
    assert_eq!(
        causes(of(
            json!({"user": "dev", "nonResourceAttributes": {"path": "/x", "verb": "get"}})
        ))[0]
            .0,
        "spec.nonResourceAttributes"
    );
}

#[test]
fn a_rules_review_lists_rules_and_needs_a_namespace() {
    let named = json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"], "resourceNames": ["web"]});
    let policy = dev_with(std::slice::from_ref(&named));
    let answer = self_subject_rules_review(&json!({"spec": {"namespace": "ns"}}), &dev(), &policy).unwrap();
    let rules = answer["status"]["resourceRules"].as_array().unwrap();
    assert!(rules.contains(&named), "{rules:?}");
    assert_eq!(
        (answer["spec"].clone(), answer["status"]["incomplete"].clone()),
        (json!({}), json!(false))
    );
    let elsewhere = self_subject_rules_review(&json!({"spec": {"namespace": "x"}}), &dev(), &policy).unwrap();
    assert!(
        !elsewhere["status"]["resourceRules"]
            .as_array()
            .unwrap()
            .contains(&named)
    );
    assert_eq!(
        self_subject_rules_review(&json!({"spec": {}}), &dev(), &policy),
        Err(ReviewError::BadRequest("no namespace on request".to_owned()))
    );
}

fn issued(signer: &Signer, spec: &Value, now: i64) -> (TokenRequest, Claims, String) {
    let request = TokenRequest::of(&json!({"spec": spec})).unwrap();
    let to = BoundTo {
        namespace: "ns".to_owned(),
        serviceaccount: Identity {
            name: "sa".to_owned(),
            uid: "u1".to_owned(),
        },
        ..BoundTo::default()
    };
    let claims = request.claims(to, "id-1".to_owned(), now);
    let token = signer.sign(&claims);
    (request, claims, token)
}

#[test]
fn a_token_is_answered_as_the_server_does_and_authenticates() {
    let signer = Signer::new(&[7; 32]);
    let (request, claims, token) = issued(&signer, &json!({}), 1_000);
    let answer = request.answer(&claims, &token, "created", "expires");
    assert_eq!(
        answer["spec"],
        json!({"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": null})
    );
    assert_eq!(answer["metadata"]["uid"], json!("u1"));
    let authenticator = Authenticator::with_tokens(signer.clone(), Tokens::default().with("t", dev()));
    let (user, _) = authenticator
        .token(&token, &[], 2_000, |claims| {
            claims.kubernetes.serviceaccount.uid == "u1"
        })
        .unwrap();
    assert_eq!(user.name, "system:serviceaccount:ns:sa");
    assert_eq!(user.groups, User::service_account("ns", "sa").groups);
    assert_eq!(authenticator.token(&token, &[], 4_600, |_| true), None, "expired");
    assert_eq!(
        authenticator.token(&token, &[], 2_000, |_| false),
        None,
        "account deleted"
    );
    let (_, _, foreign) = issued(&Signer::new(&[8; 32]), &json!({}), 1_000);
    assert_eq!(
        authenticator.token(&foreign, &[], 2_000, |_| true),
        None,
        "another server's"
    );
    let (_, _, elsewhere) = issued(&signer, &json!({"audiences": ["vault"]}), 1_000);
    assert_eq!(
        authenticator.token(&elsewhere, &[], 2_000, |_| true),
        None,
        "for somebody else"
    );
    let vault = ["vault".to_owned(), "other".to_owned()];
    let meant = |token: &str| {
        authenticator
            .token(token, &vault, 2_000, |_| true)
            .map(|(_, audiences)| audiences)
    };
    assert_eq!(meant(&elsewhere), Some(vec!["vault".to_owned()]));
    assert_eq!(meant("t"), None);
}

#[test]
fn a_lifetime_has_bounds() {
    for (seconds, expected) in [
        (
            5,
            Some("Invalid value: 5: may not specify a duration less than 10 minutes"),
        ),
        (
            599,
            Some("Invalid value: 599: may not specify a duration less than 10 minutes"),
        ),
        (600, None),
        (1_i64 << 32, None),
        (
            (1_i64 << 32) + 1,
            Some("Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"),
        ),
    ] {
        let result = TokenRequest::of(&json!({"spec": {"expirationSeconds": seconds}}));
        let problem = match result {
            Ok(_) => None,
            Err(ReviewError::Invalid(causes)) => Some(causes[0].message.clone()),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(problem.as_deref(), expected, "{seconds}");
    }
}

#[test]
fn a_token_review_tells_the_user_of_a_token() {
    let review = |token: &str| {
        token_review(&json!({"spec": {"token": token}}), |token, _| {
            (token == "good").then(|| (dev(), vec![ISSUER.to_owned()]))
        })
    };
    let status = review("good").unwrap()["status"].clone();
    assert_eq!(status["user"]["username"], json!("dev"));
    assert_eq!(
        review("bad").unwrap()["status"],
        json!({"user": {}, "error": "invalid bearer token"})
    );
    assert!(matches!(review(""), Err(ReviewError::BadRequest(_))));
}

#[test]
fn credentials_decide_who_asks() {
    let signer = Signer::new(&[7; 32]);
    let closed = Authenticator::with_tokens(signer.clone(), Tokens::default().with("t", dev()));
    let open = Authenticator::open(signer.clone());
    let user = |authenticator: &Authenticator, header: Option<&str>| {
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert("authorization", HeaderValue::from_str(header).unwrap());
        }
        authenticator
            .user(&headers, None, 2_000, |_| true)
            .map(|user| user.name)
    };
    assert_eq!(user(&closed, Some("Bearer t")), Ok("dev".to_owned()));
    assert_eq!(user(&closed, Some("bearer  t ")), Ok("dev".to_owned()));
    assert_eq!(user(&closed, None), Ok(ANONYMOUS.to_owned()));
    for wrong in ["Bearer u", "Bearer ", "Bearer", "t", "Basic dDp0"] {
        assert_eq!(user(&closed, Some(wrong)), Err(Unauthorized), "{wrong}");
        assert_eq!(
            user(&open, Some(wrong)),
            Ok("kubernetes-admin".to_owned()),
            "{wrong}"
        );
    }
    let (_, _, token) = issued(&signer, &json!({}), 1_000);
    assert_eq!(
        user(&open, Some(&format!("Bearer {token}"))),
        Ok("system:serviceaccount:ns:sa".to_owned())
    );
    let (_, _, expired) = issued(&signer, &json!({}), -9_000);
    assert_eq!(user(&open, Some(&format!("Bearer {expired}"))), Err(Unauthorized));
}

proptest! {
    #[test]
    fn any_bytes_are_a_certificate_or_not(bytes in prop::collection::vec(any::<u8>(), 0..64), cut in 0usize..64) {
        subject(&bytes);
        let mut nested = vec![0x30, 0x82, 0xff, 0xff];
        nested.extend(&bytes[..cut.min(bytes.len())]);
        subject(&nested);
    }

    #[test]
    fn only_an_untouched_token_verifies(at in 0usize..400, byte in any::<u8>(), junk in "\\PC{0,40}") {
        let signer = Signer::new(&[7; 32]);
        let (_, claims, token) = issued(&signer, &json!({}), 1_000);
        prop_assert_eq!(signer.verify(&token), Some(claims.clone()));
        prop_assert_eq!(signer.verify(&junk), None);
        let mut bytes = token.into_bytes();
        let at = at % bytes.len();
        if bytes[at] != byte && let Ok(touched) = { bytes[at] = byte; String::from_utf8(bytes) } {
            prop_assert_eq!(signer.verify(&touched), None);
        }
    }

    #[test]
    fn any_review_body_is_answered_or_refused(
        member in prop::sample::select(&["spec", "metadata"][..]),
        junk in prop::sample::select(&[
            "null",
            "7",
            "[7]",
            r#""x""#,
            r#"{"resourceAttributes": {"verb": null}, "user": 7, "groups": [7]}"#,
            r#"{"nonResourceAttributes": {}, "extra": {"k": 7}, "expirationSeconds": 1e99}"#,
            r#"{"token": [], "audiences": {}, "name": {}}"#,
        ][..]),
    ) {
        let value: Value = serde_json::from_str(junk).unwrap();
        let body = json!({member: value});
        let policy = Policy::default();
        let _ = self_subject_access_review(&body, &dev(), &policy);
        let _ = subject_access_review(&body, &policy);
        let _ = local_subject_access_review(&body, "ns", &policy);
        let _ = self_subject_rules_review(&body, &dev(), &policy);
        let _ = token_review(&body, |_, _| None);
        let _ = TokenRequest::of(&body);
    }
}
