//! What every namespace of a cluster has, and what its accounts get.

use controller_apiserver::Server;
use controller_apiserver::tls::Authority;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

/// A ServiceAccount `default` and the CA of the server, in old and new namespaces; they come back.
#[tokio::test(start_paused = true)]
async fn every_namespace_has_an_account_and_the_authority_of_the_server() {
    let authority = Authority::generate().unwrap();
    let server = Server::builder()
        .service_accounts(true)
        .authority(&authority)
        .build();
    let client = server.client();
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "made"}})).unwrap();
    let namespaces = Api::all(client.clone());
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    server.settle().await.unwrap();
    for name in ["default", "kube-system", "made"] {
        let accounts = Api::<ServiceAccount>::namespaced(client.clone(), name);
        let maps = Api::<ConfigMap>::namespaced(client.clone(), name);
        for again in [false, true] {
            assert!(accounts.get("default").await.is_ok(), "{name}, again: {again}");
            let map = maps.get("kube-root-ca.crt").await.unwrap();
            assert_eq!(
                map.data.unwrap()["ca.crt"],
                authority.pem(),
                "{name}, again: {again}"
            );
            accounts
                .delete("default", &DeleteParams::default())
                .await
                .unwrap();
            maps.delete("kube-root-ca.crt", &DeleteParams::default())
                .await
                .unwrap();
            server.settle().await.unwrap();
        }
    }
    namespaces.delete("made", &DeleteParams::default()).await.unwrap();
    server.settle().await.unwrap();
    assert!(
        namespaces.get_opt("made").await.unwrap().is_none(),
        "what comes back does not hold it"
    );
}
