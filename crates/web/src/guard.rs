//! The requests that are answered.
//!
//! Other users of this machine reach 127.0.0.1 as well as its owner does; a page on the web can make a browser send
//! requests there, and a name that an attacker resolves to 127.0.0.1 (DNS rebinding) makes the answers readable to that
//! page. Hence, in this order:
//!
//! 1. on the loopback interface, the Host must be where we listen, or localhost;
//! 2. the token must be presented, in a cookie, or once as `?token=`, which sets the cookie and leads on by a page of
//!    our own: a browser that comes from elsewhere, as from the page of `--open`, would not send the cookie along a
//!    redirect (SameSite, RFC 6265bis §5.2);
//! 3. a request that changes something must come from a page of ours: its Origin is its Host (Fetch Standard,
//!    "Origin").

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, COOKIE, HOST, ORIGIN, REFERRER_POLICY, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use url::form_urlencoded;

use crate::app::App;
use crate::serving;

/// Scripts, styles and connections of this server only. A report has a stricter policy of its own in itself.
const POLICY: &str = include_str!("policy.txt");

/// Lets a request through, or says why not.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = match objection(&app, &request) {
        Some(objection) => objection,
        None => match serving::whole(request).await {
            Ok(request) => next.run(request).await,
            Err(refusal) => refusal,
        },
    };
    harden(response.headers_mut());
    response
}

/// Refuses a request, or redirects it; `None` if it may pass.
fn objection(app: &App, request: &Request) -> Option<Response> {
    if app.address.ip().is_loopback() && !is_own_host(request.headers(), app.address) {
        return Some(refuse("this server answers to the address that throng ui printed, and to localhost"));
    }
    let (token, cookie) = (&app.options.token, cookie_name(app.address));
    match admit(token, &cookie, request) {
        Admission::Known => {}
        Admission::New(location) => return Some(welcome(token, &cookie, &location)),
        Admission::Refused => {
            return Some(refuse("open the address that throng ui printed, with its token"));
        }
    }
    // GET and HEAD are safe (RFC 9110, section 9.2.1): no handler of them changes anything.
    let changes = request.method() != Method::GET && request.method() != Method::HEAD;
    (changes && !is_own_page(request.headers()))
        .then(|| refuse("this request did not come from a page of throng ui"))
}

enum Admission {
    Known,
    /// The token was in the address, which is this without it.
    New(String),
    Refused,
}

/// Cookies belong to a host, whatever the port, so each `throng ui` has one with a name of its own.
fn cookie_name(address: SocketAddr) -> String {
    format!("throng_token_{}", address.port())
}

fn admit(token: &str, cookie: &str, request: &Request) -> Admission {
    let cookies = request.headers().get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut presented =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    if presented.any(|(name, value)| name == cookie && is_same(value, token)) {
        return Admission::Known;
    }
    let query = request.uri().query().unwrap_or_default();
    if form_urlencoded::parse(query.as_bytes()).any(|(name, value)| name == "token" && is_same(&value, token))
    {
        return Admission::New(request.uri().path().to_owned());
    }
    Admission::Refused
}

/// Takes as long for a wrong token as for the right one.
fn is_same(presented: &str, token: &str) -> bool {
    let differences = presented.bytes().zip(token.bytes()).fold(0, |found, (a, b)| found | (a ^ b));
    presented.len() == token.len() && differences == 0
}

fn welcome(token: &str, cookie: &str, location: &str) -> Response {
    let cookie = format!("{cookie}={token}; Path=/; HttpOnly; SameSite=Strict");
    // The path is the visitor's, and stands in HTML.
    let location = location.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let page = format!(
        "<!doctype html>\n<meta http-equiv=\"refresh\" content=\"0; url={location}\">\n<title>throng</title>\n"
    );
    ([(SET_COOKIE, cookie)], Html(page)).into_response()
}

fn refuse(why: &str) -> Response {
    (StatusCode::FORBIDDEN, format!("throng: {why}\n")).into_response()
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn is_own_host(headers: &HeaderMap, address: SocketAddr) -> bool {
    let port = address.port();
    // A browser leaves the port out where it is the scheme's own.
    let is_own = |host: &str| match host.strip_suffix(&format!(":{port}")).or((port == 80).then_some(host)) {
        Some(name) if name.eq_ignore_ascii_case("localhost") => true,
        Some(name) => name.trim_matches(['[', ']']).parse() == Ok(address.ip()),
        None => false,
    };
    header(headers, HOST).is_some_and(is_own)
}

fn is_own_page(headers: &HeaderMap) -> bool {
    let origin = header(headers, ORIGIN).and_then(|origin| origin.split_once("://"));
    origin.is_some_and(|(_, from)| header(headers, HOST) == Some(from))
}

fn harden(headers: &mut HeaderMap) {
    let fixed = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
        (HeaderName::from_static("cache-control"), "no-store"),
    ];
    for (name, value) in fixed {
        // What a handler has set stays: a report has a stricter policy of its own.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for (listens, host, own) in [
            ("127.0.0.1:8000", "127.0.0.1:8000", true),
            ("127.0.0.1:8000", "localhost:8000", true),
            ("127.0.0.1:8000", "LOCALHOST:8000", true),
            ("[::1]:8000", "[::1]:8000", true),
            ("127.0.0.5:8000", "127.0.0.5:8000", true),
            ("127.0.0.1:80", "127.0.0.1", true),
            ("127.0.0.1:80", "evil.example", false),
            ("127.0.0.1:8000", "127.0.0.1:8001", false),
            ("127.0.0.1:8000", "127.0.0.1", false),
            ("127.0.0.1:8000", "127.0.0.5:8000", false),
            ("127.0.0.1:8000", "evil.example:8000", false),
            ("127.0.0.1:8000", "localhost.evil.example:8000", false),
        ] {
            let address = listens.parse().unwrap();
            assert_eq!(is_own_host(&headers(&[(HOST, host)]), address), own, "{listens} {host}");
        }
        assert!(!is_own_host(&HeaderMap::new(), "127.0.0.1:8000".parse().unwrap()));
    }

    #[test]
    fn only_own_pages_may_change_something() {
        let host = (HOST, "127.0.0.1:8000");
        assert!(is_own_page(&headers(&[host.clone(), (ORIGIN, "http://127.0.0.1:8000")])));
        assert!(!is_own_page(&headers(&[host.clone(), (ORIGIN, "http://evil.example")])));
        assert!(!is_own_page(&headers(&[host.clone(), (ORIGIN, "null")])));
        assert!(!is_own_page(&headers(&[host])));
    }

    #[test]
    fn a_token_is_the_whole_token() {
        assert!(is_same("abc", "abc"));
        for wrong in ["", "ab", "abd", "abcd"] {
            assert!(!is_same(wrong, "abc"), "{wrong}");
        }
    }
}
