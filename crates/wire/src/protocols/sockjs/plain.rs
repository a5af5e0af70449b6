//! Plain requests, on the server's side: the pages below a service, and which clients may ask for them.

use codec::http::answer::{AnswerHead, TEXT, cors};
use codec::http::{query, request};
use codec::ws::upgrade;

use super::receiver::Receiving;
use super::request::{Request, Verb};
use super::service::{Service, ServiceRoom};
use crate::io::Io;
use crate::server_config::ServerConfig;
use crate::session::{PlainAnswer, SessionHead};

const HTML: &str = "text/html; charset=UTF-8";

const NO_CACHE: &str = "Cache-Control: no-store, no-cache, no-transform, must-revalidate, max-age=0\r\n";
/// The header lines to cache for a year; the date has stood for "never" since nginx chose it.
const CACHE: &str = "Cache-Control: public, max-age=31536000\r\nExpires: Thu, 31 Dec 2037 23:55:55 GMT\r\n";

const IFRAME: &str = r#"<!DOCTYPE html>
<html>
<head>
  <meta http-equiv="X-UA-Compatible" content="IE=edge" />
  <meta http-equiv="Content-Type" content="text/html; charset=UTF-8" />
  <script src="//cdn.jsdelivr.net/npm/sockjs-client@1/dist/sockjs.min.js"></script>
  <script>
    document.domain = document.domain;
    SockJS.bootstrap_iframe();
  </script>
</head>
<body>
  <h2>Don't panic!</h2>
  <p>This is a SockJS hidden iframe. It's used for cross domain magic.</p>
</body>
</html>"#;
/// The ETag of that page, which never changes.
const IFRAME_TAG: &str = "\"sockjs-iframe-1\"";

/// A place below a service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place<'a> {
    Greeting,
    Info,
    Iframe,
    RawWebSocket,
    WebSocket,
    /// A request for the session with this name.
    Session(&'a str, Verb),
}

impl<'a> Place<'a> {
    /// The place at the rest of a path.
    pub(crate) fn at(rest: &'a str) -> Option<Place<'a>> {
        match rest {
            "" | "/" => return Some(Place::Greeting),
            "/info" => return Some(Place::Info),
            "/websocket" => return Some(Place::RawWebSocket),
            _ if is_iframe(rest) => return Some(Place::Iframe),
            _ => {}
        }
        let mut parts = rest.strip_prefix('/')?.split('/');
        let (server, session, transport) = (parts.next()?, parts.next()?, parts.next()?);
        let is_name = |part: &str| !part.is_empty() && !part.contains('.');
        if !is_name(server) || !is_name(session) || parts.next().is_some() {
            return None;
        }
        let verb = match transport {
            "websocket" => return Some(Place::WebSocket),
            "xhr_send" => Verb::XhrSend,
            "jsonp_send" => Verb::JsonpSend,
            _ => Verb::Receive(Receiving::named(transport)?),
        };
        Some(Place::Session(session, verb))
    }

    /// The method asked for, and the one besides with which browsers ask whether they may.
    fn methods(self) -> (&'static str, bool) {
        match self {
            Place::Info => ("GET", true),
            Place::Greeting | Place::Iframe | Place::RawWebSocket | Place::WebSocket => ("GET", false),
            Place::Session(_, verb) => verb.methods(),
        }
    }
}

/// `/iframe*.html`.
fn is_iframe(rest: &str) -> bool {
    let version = rest.strip_prefix("/iframe").and_then(|rest| rest.strip_suffix(".html"));
    version.is_some_and(|version| {
        version.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase() || b"-._".contains(&b))
    })
}

/// The answer to a request that is no upgrade.
pub(crate) fn plain_answer(
    cfg: &ServerConfig,
    now_ns: u64,
    request: &request::Request<'_>,
    io: &mut impl Io,
) -> PlainAnswer<SessionHead<Request>> {
    let found = Service::at(request.path())
        .and_then(|(service, rest)| Place::at(rest).map(|place| (service, place)))
        // A service without WebSockets has no such place, for whatever request.
        .filter(|(service, place)| service.websocket || *place != Place::WebSocket);
    let Some((service, place)) = found else { return PlainAnswer::Status(404) };
    if let Err(status) = upgrade::check_origin(&request.fields, &cfg.origins, 403) {
        return PlainAnswer::Status(status);
    }
    let mut head = AnswerHead {
        minor: request.minor,
        keep_alive: request.keep_alive(),
        to_head: request.method == "HEAD",
        date: cfg.date(now_ns),
        fields: String::new(),
    };
    let mut out = Vec::new();
    let (method, has_options) = place.methods();
    if has_options && request.method == "OPTIONS" {
        head.fields = [CACHE, &cors(request), "Access-Control-Max-Age: 31536000\r\n"].concat();
        head.fields.push_str(&format!("Access-Control-Allow-Methods: OPTIONS, {method}\r\n"));
        head.write_whole(&mut out, 204, None, b"");
        return PlainAnswer::Whole(out);
    }
    if request.method != method {
        let options = if has_options { ", OPTIONS" } else { "" };
        head.fields = format!("Allow: {method}{options}\r\n");
        head.write_whole(&mut out, 405, None, b"");
        return PlainAnswer::Whole(out);
    }
    match place {
        Place::Session(session, verb) => return session_answer(service, session, verb, request, head),
        Place::Greeting => head.write_whole(&mut out, 200, Some(TEXT), b"Welcome to SockJS!\n"),
        Place::Iframe => write_iframe(&mut out, request, head),
        Place::RawWebSocket | Place::WebSocket => {
            head.write_whole(&mut out, 400, Some(TEXT), b"Not a valid websocket request");
        }
        Place::Info => {
            head.fields = [NO_CACHE, &cors(request)].concat();
            let info = format!(
                r#"{{"websocket":{},"origins":["*:*"],"cookie_needed":{},"entropy":{}}}"#,
                service.websocket,
                service.cookie,
                io.random_u64() as u32
            );
            head.write_whole(&mut out, 200, Some("application/json; charset=UTF-8"), info.as_bytes());
        }
    }
    PlainAnswer::Whole(out)
}

fn write_iframe(out: &mut Vec<u8>, request: &request::Request<'_>, mut head: AnswerHead) {
    head.fields = format!("{CACHE}ETag: {IFRAME_TAG}\r\n");
    let mut known = request.fields.members("if-none-match");
    if known.any(|tag| tag == IFRAME_TAG.as_bytes()) {
        head.write_whole(out, 304, None, b"");
    } else {
        head.write_whole(out, 200, Some(HTML), IFRAME.as_bytes());
    }
}

/// A request for a session, or what is wrong with it.
fn session_answer(
    service: &'static Service,
    session: &str,
    verb: Verb,
    request: &request::Request<'_>,
    mut head: AnswerHead,
) -> PlainAnswer<SessionHead<Request>> {
    head.fields = NO_CACHE.to_owned();
    if verb.has_cors() {
        head.fields.push_str(&cors(request));
    }
    if service.cookie {
        head.fields.push_str(&cookie(request));
    }
    let callback = match verb {
        Verb::Receive(receiving) if receiving.has_callback() => match callback(request.target) {
            Ok(callback) => callback,
            Err(complaint) => {
                let mut out = Vec::new();
                head.write_whole(&mut out, 500, Some(TEXT), complaint.as_bytes());
                return PlainAnswer::Whole(out);
            }
        },
        _ => String::new(),
    };
    if let Verb::Receive(receiving) = verb {
        // Without chunks, the end of the connection is the end of the stream.
        head.keep_alive &= head.minor >= 1 || !receiving.is_streaming();
    }
    let form = request.fields.all("content-type").any(|value| {
        let end = value.iter().position(|&b| b == b';').unwrap_or(value.len());
        value[..end].trim_ascii().eq_ignore_ascii_case(b"application/x-www-form-urlencoded")
    });
    PlainAnswer::OfSession(Box::new(SessionHead {
        name: format!("{}/{session}", service.prefix),
        opens: matches!(verb, Verb::Receive(_)),
        keep_alive: head.keep_alive,
        question: Request {
            service_room: ServiceRoom::at(service, request.target),
            verb,
            head,
            callback,
            form,
        },
    }))
}

/// The cookie that the client has, or a first one.
fn cookie(request: &request::Request<'_>) -> String {
    let pairs = request.fields.all("cookie").flat_map(|value| value.split(|&b| b == b';'));
    let mut values = pairs.filter_map(|pair| pair.trim_ascii().strip_prefix(b"JSESSIONID="));
    let value = values.next().and_then(|value| std::str::from_utf8(value).ok()).unwrap_or("dummy");
    format!("Set-Cookie: JSESSIONID={value}; path=/\r\n")
}

/// The function that a script calls with its frame: the parameter `c` or `callback`.
fn callback(target: &str) -> Result<String, &'static str> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let value = query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        matches!(name, "c" | "callback").then_some(value)
    });
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Err("\"callback\" parameter required");
    };
    let decoded = query::form_value(value.as_bytes());
    // It becomes code in a user's page: anything else could be a script of its own.
    let is_safe = |&b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    match String::from_utf8(decoded) {
        Ok(callback) if callback.as_bytes().iter().all(is_safe) => Ok(callback),
        _ => Err("invalid \"callback\" parameter"),
    }
}
