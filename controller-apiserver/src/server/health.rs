//! Health: `/healthz`, `/livez`, `/readyz`. A server in a process is healthy as long as it answers.
//!
//! Source: "Kubernetes API health endpoints" in the reference documentation.

use super::query::Query;

/// What is checked; `/livez/ping` asks for one alone.
pub(super) const CHECKS: [&str; 4] = ["ping", "log", "etcd", "informer-sync"];

/// The text of an answer: `ok`, or each check where `verbose` asks for them.
pub(super) fn text(path: &str, query: &Query) -> String {
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    let endpoint = segments.next().unwrap_or_default();
    if segments.next().is_some() || query.first("verbose").is_none() {
        return "ok".to_owned();
    }
    let checks = CHECKS.iter().map(|check| {
        let excluded = query.all("exclude").any(|name| name == *check);
        let how = if excluded { "excluded: ok" } else { "ok" };
        format!("[+]{check} {how}\n")
    });
    checks.collect::<String>() + &format!("{endpoint} check passed\n")
}
