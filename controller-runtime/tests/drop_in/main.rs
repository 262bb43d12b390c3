//! An existing kube-rs controller moves over by its `use` line.
//!
//! `shapes.rs` is code as users have it, in the shapes they have it. It is compiled twice: against `kube::runtime`, so
//! that it is known to be kube's, and against `controller_runtime::compat`. Behaviour is tested elsewhere; the timing of
//! debounce differs on purpose.

#![expect(
    clippy::expect_used,
    clippy::unused_async,
    clippy::needless_pass_by_value,
    reason = "code as users have it, and a test"
)]

mod kubes {
    use kube::runtime;
    include!("shapes.rs");
}

mod ours {
    use controller_runtime::compat as runtime;
    include!("shapes.rs");
}

#[tokio::test(start_paused = true)]
async fn every_shape_runs_on_both_sides() {
    // stackabletech/secret-operator#45: a stop before the store is ready is waited for in vain.
    let _ended_with_kube = kubes::run_all(client()).await;
    assert!(
        ours::run_all(client()).await,
        "a stop ends a controller whose store is not ready"
    );
}

/// A client whose server refuses everything.
fn client() -> kube::Client {
    let refuse = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}"#;
        Ok::<_, std::io::Error>(
            http::Response::builder()
                .status(403)
                .header("content-type", "application/json")
                .body(kube::client::Body::from(status.as_bytes().to_vec()))
                .expect("a response"),
        )
    });
    kube::Client::new(refuse, "default")
}
