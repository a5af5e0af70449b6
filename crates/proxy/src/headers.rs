//! Headers of requests and answers on their way through the proxy (RFC 9110 §7.6).

use hyper::header::{
    ACCEPT_ENCODING, ACCESS_CONTROL_ALLOW_ORIGIN, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH,
    CONTENT_LOCATION, CONTENT_SECURITY_POLICY, COOKIE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, LINK, LOCATION, ORIGIN, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    REFERER, REFRESH, SEC_WEBSOCKET_EXTENSIONS, SET_COOKIE, STRICT_TRANSPORT_SECURITY, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};

use crate::cookies;
use crate::links::Links;
use crate::upstream::Upstream;

/// Headers of one connection, which end there (RFC 9110 §7.6.1).
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];
/// Headers that the proxy speaks for the client. An answer without a body (304) would leave nothing to look
/// values up in, and what must be rewritten must not be compressed. Without extensions, frames of WebSockets
/// can be read as they pass.
const NOT_ASKED: [HeaderName; 5] =
    [ACCEPT_ENCODING, IF_MODIFIED_SINCE, IF_NONE_MATCH, EXPECT, SEC_WEBSOCKET_EXTENSIONS];
/// Headers of answers in which links stand.
const LINKED: [HeaderName; 7] = [
    LOCATION,
    CONTENT_LOCATION,
    REFRESH,
    LINK,
    ACCESS_CONTROL_ALLOW_ORIGIN,
    CONTENT_SECURITY_POLICY,
    HeaderName::from_static("content-security-policy-report-only"),
];
/// The part of a policy by which a browser asks for TLS, which the proxy has not.
const UPGRADES: &str = "upgrade-insecure-requests";

/// Returns whether a request asks for a WebSocket (RFC 6455 §4.1).
pub(crate) fn asks_for_socket(headers: &HeaderMap) -> bool {
    text(headers, &UPGRADE).is_some_and(|value| value.trim().eq_ignore_ascii_case("websocket"))
}

/// A header's value, if it is text.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    std::str::from_utf8(headers.get(name)?.as_bytes()).ok()
}

/// The headers of a request for the server, from a client that knows the proxy as `own`.
pub(crate) fn of_request(headers: &HeaderMap, own: &str, upstream: &Upstream) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(headers.len());
    let of_connection = of_connection(headers);
    // First, as RFC 9112 §3.2 asks.
    out.insert(HOST, value(upstream.authority().to_owned()));
    let is_passed =
        |name: &HeaderName| !of_connection.contains(name) && !NOT_ASKED.contains(name) && *name != HOST;
    for (name, given) in headers.iter().filter(|(name, _)| is_passed(name)) {
        let rewritten = std::str::from_utf8(given.as_bytes()).ok().and_then(|text| match *name {
            ORIGIN => (text == format!("http://{own}")).then(|| upstream.origin()),
            REFERER => {
                let rest = text.strip_prefix(&format!("http://{own}"))?;
                Some(format!("{}{rest}", upstream.origin()))
            }
            COOKIE => Some(cookies::cookie(text)),
            _ => None,
        });
        out.append(name, rewritten.map_or_else(|| given.clone(), value));
    }
    out.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if asks_for_socket(headers) {
        out.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        out.insert(UPGRADE, HeaderValue::from_static("websocket"));
    }
    out
}

/// The headers of an answer for the client; `is_changed` says that the body is another than the server's.
pub(crate) fn of_answer(headers: &HeaderMap, links: &Links, is_changed: bool) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(headers.len());
    let of_connection = of_connection(headers);
    let is_passed = |name: &HeaderName| {
        !of_connection.contains(name)
            // It would hold for all that listens on this name.
            && *name != STRICT_TRANSPORT_SECURITY
            && !(is_changed && (*name == CONTENT_LENGTH || *name == CONTENT_ENCODING))
    };
    for (name, given) in headers.iter().filter(|(name, _)| is_passed(name)) {
        let rewritten = std::str::from_utf8(given.as_bytes()).ok().and_then(|text| {
            if *name == SET_COOKIE {
                return Some(cookies::set_cookie(text));
            }
            let linked = LINKED.contains(name).then(|| links.replaced(text.as_bytes()))?;
            let linked = String::from_utf8(linked).ok()?;
            Some(if linked.contains(UPGRADES) { without_upgrades(&linked) } else { linked })
        });
        out.append(name, rewritten.map_or_else(|| given.clone(), value));
    }
    out
}

/// A policy without the part that asks for TLS.
fn without_upgrades(policy: &str) -> String {
    let parts = policy.split(';').filter(|part| !part.trim().eq_ignore_ascii_case(UPGRADES));
    parts.collect::<Vec<_>>().join(";")
}

/// The headers that end at the proxy: those of the connection, and those that `Connection` names.
fn of_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok());
    HOP_BY_HOP.into_iter().chain(named).collect()
}

/// A value that came out of one by replacing hosts and names.
fn value(text: String) -> HeaderValue {
    HeaderValue::from_maybe_shared(text.into_bytes()).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::upstream;

    const OWN: &str = "localhost:4000";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let parsed = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        };
        pairs.iter().map(parsed).collect()
    }

    fn request(pairs: &[(&'static str, &str)]) -> HeaderMap {
        of_request(&headers(pairs), OWN, &upstream("https://app.test"))
    }

    fn answer(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let links = Links::to_proxy(&upstream("https://app.test"), OWN);
        of_answer(&headers(pairs), &links, true)
    }

    #[test]
    fn requests_name_the_server() {
        let out = request(&[
            ("host", OWN),
            ("origin", "http://localhost:4000"),
            ("referer", "http://localhost:4000/a?b"),
            ("cookie", "throng__Host-s=1; é=2"),
            ("accept-encoding", "br"),
            ("if-none-match", "x"),
            ("connection", "keep-alive, X-Hop"),
            ("x-hop", "1"),
            ("x-stays", "1"),
        ]);
        let expected = [
            ("host", "app.test"),
            ("origin", "https://app.test"),
            ("referer", "https://app.test/a?b"),
            ("cookie", "__Host-s=1; é=2"),
            ("accept-encoding", "identity"),
            ("x-stays", "1"),
        ];
        assert_eq!(out, headers(&expected));
    }

    #[test]
    fn origins_of_others_stay() {
        for origin in ["https://evil.test", "null", "http://localhost:40001"] {
            let out = request(&[("origin", origin), ("referer", "https://evil.test/")]);
            assert_eq!(
                (text(&out, &ORIGIN), text(&out, &REFERER)),
                (Some(origin), Some("https://evil.test/"))
            );
        }
    }

    #[test]
    fn sockets_are_asked_for_without_extensions() {
        let asked = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-extensions", "permessage-deflate"),
            ("sec-websocket-key", "x"),
        ];
        let out = request(&asked);
        assert_eq!((text(&out, &CONNECTION), text(&out, &UPGRADE)), (Some("Upgrade"), Some("websocket")));
        assert!(!out.contains_key(SEC_WEBSOCKET_EXTENSIONS) && out.contains_key("sec-websocket-key"));
        assert!(!request(&[("connection", "Upgrade"), ("upgrade", "h2c")]).contains_key(UPGRADE));
    }

    #[test]
    fn answers_lead_back() {
        let out = answer(&[
            ("location", "https://app.test/login?a"),
            ("set-cookie", "s=1; Secure; Domain=app.test"),
            ("strict-transport-security", "max-age=1"),
            ("content-security-policy", "upgrade-insecure-requests; connect-src wss://app.test"),
            ("content-length", "7"),
            ("content-encoding", "gzip"),
            ("transfer-encoding", "chunked"),
        ]);
        let expected = [
            ("location", "http://localhost:4000/login?a"),
            ("set-cookie", "s=1"),
            ("content-security-policy", " connect-src ws://localhost:4000"),
        ];
        assert_eq!(out, headers(&expected));
        assert_eq!(
            answer(&[("location", "https://sso.test/")]),
            headers(&[("location", "https://sso.test/")])
        );
    }
}
