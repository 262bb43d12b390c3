//! Who may read what tells of objects by name: a person at the same machine, or behind `kubectl port-forward`, which comes from there.
//!
//! On loopback only, and only under a name of loopback: a page of someone else's in a browser must not read it by letting its own name
//! point here. And from no proxy: one that runs beside the operator in its Pod is on loopback, and whoever it asks for is not.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::{HeaderName, Request, header, uri::Authority};

/// By these a proxy says that it asks for another; the first is the standard's (RFC 7239).
const OF_PROXIES: [&str; 3] = ["forwarded", "via", "x-real-ip"];
/// And by what begins so; the second is how Envoy, most meshes' proxy, marks what it passes on.
const BEGINNINGS_OF_PROXIES: [&str; 2] = ["x-forwarded-", "x-envoy-"];

/// Whether a request comes from this machine and means it.
pub(super) fn is_from_here<B>(request: &Request<B>, peer: SocketAddr) -> bool {
    let host = request.headers().get(header::HOST);
    let names = |host: &header::HeaderValue| names_loopback(host.to_str().unwrap_or_default());
    is_loopback(peer.ip()) && host.is_none_or(names) && !request.headers().keys().any(is_of_a_proxy)
}

fn is_of_a_proxy(header: &HeaderName) -> bool {
    let name = header.as_str();
    OF_PROXIES.contains(&name) || BEGINNINGS_OF_PROXIES.iter().any(|begin| name.starts_with(begin))
}

/// Also the addresses of IPv4 that a socket of IPv6 shows.
fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn names_loopback(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    let address = name
        .parse::<IpAddr>()
        .or_else(|_| name.parse::<Ipv6Addr>().map(IpAddr::V6));
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever is not at this machine, and whatever is not named as it, gets nothing.
    #[test]
    fn only_loopback_under_a_name_of_loopback_is_from_here() {
        for (host, peer, expected) in [
            (Some("localhost:8080"), "127.0.0.1", true),
            (Some("127.0.0.1:8080"), "::ffff:127.0.0.1", true),
            (Some("[::1]:8080"), "::1", true),
            (None, "::1", true),
            (Some("localhost"), "10.0.0.7", false),
            (Some("evil.example:8080"), "127.0.0.1", false),
            (Some("localhost.evil.example"), "127.0.0.1", false),
            (Some("not a host"), "127.0.0.1", false),
        ] {
            let peer = SocketAddr::new(peer.parse().expect("an address"), 40_000);
            let mut request = Request::get("/");
            if let Some(host) = host {
                request = request.header(header::HOST, host);
            }
            let request = request.body(()).expect("a request");
            assert_eq!(is_from_here(&request, peer), expected, "{host:?} from {peer}");
        }
    }

    /// A proxy beside the operator passes on what others ask.
    #[test]
    fn what_a_proxy_passes_on_is_not_from_here() {
        let peer = SocketAddr::from(([127, 0, 0, 1], 40_000));
        for (header, expected) in [
            ("Forwarded", false),
            ("X-Forwarded-For", false),
            ("X-Forwarded-Proto", false),
            ("Via", false),
            ("X-Real-IP", false),
            ("X-Envoy-Peer-Metadata-Id", false),
            ("X-Request-Id", true),
            ("User-Agent", true),
        ] {
            let request = Request::get("/").header(header::HOST, "localhost");
            let request = request.header(header, "10.0.0.7").body(()).expect("a request");
            assert_eq!(is_from_here(&request, peer), expected, "{header}");
        }
    }
}
