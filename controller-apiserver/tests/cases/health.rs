//! Health checks.

use controller_apiserver::Server;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use tower::ServiceExt as _;

/// Each check is named where that is asked for, in the words that people search for.
#[tokio::test(start_paused = true)]
async fn checks_are_named_where_that_is_asked() {
    let server = Server::new();
    let all = "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n[+]informer-sync ok\nreadyz check passed\n";
    for (path, expected) in [
        ("/livez", "ok"),
        ("/readyz?exclude=ping", "ok"),
        ("/livez/ping?verbose", "ok"),
        ("/readyz?verbose&exclude=etcd", all),
    ] {
        let request = Request::get(path).body(Empty::<bytes::Bytes>::new()).unwrap();
        let answer = server.service().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let text = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(text, expected, "{path}");
    }
}
