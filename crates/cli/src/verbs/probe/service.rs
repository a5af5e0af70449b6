//! The meaning of a reply: pure, so that tables test it.

use std::time::Duration;

use stats::error_kind;
use url::Url;
use wire::{DialectId, Settings, StreamForm, Value};

use crate::answer::Answer;
use crate::flags::access;
use crate::flags::streaming::Api;
use crate::verbs::probe::places::{LIVE, Place};

/// The reply to one request.
#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    /// The place as a command line names it.
    pub(super) url: String,
    pub(super) status: Option<u16>,
    pub(super) answer: Answer,
    /// The messages of a WebSocket, or the first line of a body.
    pub(super) text: String,
    /// The kind of an error, and the error in words.
    pub(super) failure: Option<(String, String)>,
    /// True if the server expects TLS, and was asked in plain text.
    pub(super) is_tls: bool,
    /// True if a message of the probe was answered.
    pub(super) is_answered: bool,
}

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    ActionCable,
    /// Socket.IO, and the version of Engine.IO if the server names it.
    SocketIo(Option<u8>),
    Phoenix,
    LiveView,
    SockJs,
    Graphql,
    /// A WebSocket whose messages are its own.
    Plain,
    /// Server-Sent Events.
    EventStream,
    /// Answers that come in pieces, and the API at whose path they are.
    Answer(Option<&'static str>),
    /// Plain requests.
    Http,
}

/// Barriers between a client and the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Barrier {
    /// The server does not know who the client is; what it said.
    Login(String),
    /// Another URL.
    Redirect(String),
    /// The server takes WebSockets alone, at another path (RFC 9110 §15.5.22).
    Elsewhere,
    /// The server has an error, or no time; what it said.
    Fault(String),
}

impl Reply {
    /// Returns whether nothing came in time.
    pub(super) fn is_silence(&self) -> bool {
        let is_late = self.failure.as_ref().is_none_or(|(kind, _)| kind == error_kind::CONNECT_TIMEOUT);
        is_late && self.status.is_none()
    }

    /// The server's end of the connection, in words. Any other failure is one of the protocol that is usual at the
    /// place, which the server may not speak.
    fn end(&self) -> Option<&str> {
        let (kind, why) = self.failure.as_ref()?;
        [error_kind::CLOSED, error_kind::EOF, error_kind::RESET]
            .contains(&kind.as_str())
            .then_some(why.as_str())
    }
}

/// A service at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The URL that a run takes.
    pub(super) url: String,
    /// Its path and query.
    pub(super) path: String,
    pub(super) service: Service,
    /// True if a request is answered with a status of success (RFC 9110 §15.3).
    pub(super) is_good: bool,
    /// Further details of it.
    pub(super) details: Vec<String>,
    /// The Origin header without which it refuses clients.
    pub(super) origin: Option<String>,
    pub(super) barrier: Option<Barrier>,
}

impl Found {
    /// Returns whether it is a WebSocket of no protocol that has a name.
    pub(super) fn is_plain(&self) -> bool {
        self.service == Service::Plain
    }

    /// Returns whether it is a WebSocket of any protocol.
    pub(super) fn is_websocket(&self) -> bool {
        self.service.is_websocket()
    }
}

impl Service {
    /// The name of the protocol.
    pub(super) fn name(self) -> &'static str {
        match self {
            Service::ActionCable => "Action Cable",
            Service::SocketIo(Some(3)) => "Socket.IO 2 (EIO 3)",
            Service::SocketIo(Some(_)) => "Socket.IO (EIO 4)",
            Service::SocketIo(None) => "Socket.IO, without polling",
            Service::Phoenix => "Phoenix Channels",
            Service::LiveView => "Phoenix LiveView",
            Service::SockJs => "SockJS",
            Service::Graphql => "GraphQL (graphql-transport-ws)",
            Service::Plain => "WebSocket",
            Service::EventStream => "Server-Sent Events",
            Service::Answer(_) => "an answer in pieces",
            Service::Http => "HTTP",
        }
    }

    /// The dialect that a run speaks to it.
    pub(super) fn dialect(self) -> Option<DialectId> {
        match self {
            Service::ActionCable => Some(DialectId::Actioncable),
            Service::SocketIo(_) => Some(DialectId::Socketio),
            Service::Phoenix => Some(DialectId::Phoenix),
            Service::SockJs => Some(DialectId::Sockjs),
            Service::Graphql => Some(DialectId::Graphql),
            Service::Plain => Some(DialectId::Raw),
            Service::EventStream => Some(DialectId::Sse),
            Service::LiveView | Service::Answer(_) | Service::Http => None,
        }
    }

    /// Returns whether it is a WebSocket of a protocol that throng speaks.
    pub(super) fn is_websocket(self) -> bool {
        self.dialect().is_some() && self != Service::EventStream
    }

    /// Returns whether its clients can resume after a disconnect.
    pub(super) fn resumes(self) -> bool {
        matches!(self, Service::SocketIo(_) | Service::EventStream | Service::ActionCable)
    }

    /// The settings of clients that resume: those of Action Cable speak AnyCable's extended protocol.
    pub(super) fn resuming(self, settings: Settings) -> Settings {
        match self {
            Service::ActionCable => settings.with("cable-extended", Value::On),
            _ => settings,
        }
    }

    /// The first message of its clients, without which the server turns them away after a while.
    pub(super) fn opening(self) -> Option<&'static str> {
        match self {
            Service::SocketIo(_) => Some("40"),
            Service::Graphql => Some(r#"{"type":"connection_init"}"#),
            _ => None,
        }
    }

    /// A message on which nothing happens; empty: any message is one.
    pub(super) fn harmless(self) -> &'static str {
        match self {
            // Engine.IO's pong.
            Service::SocketIo(_) => "3",
            Service::Phoenix | Service::LiveView => r#"[null,"1","phoenix","heartbeat",{}]"#,
            Service::Graphql => r#"{"type":"pong"}"#,
            Service::ActionCable => r#"{"command":"none"}"#,
            Service::SockJs => r#"[""]"#,
            Service::Plain | Service::EventStream | Service::Answer(_) | Service::Http => "",
        }
    }

    /// The answer to a heartbeat that comes as a message.
    pub(super) fn heartbeat(self) -> fn(&[u8]) -> Option<&'static str> {
        match self {
            Service::SocketIo(_) => |message| (message == b"2").then_some("3"),
            Service::Graphql => {
                |message| message.starts_with(br#"{"type":"ping""#).then_some(r#"{"type":"pong"}"#)
            }
            _ => |_| None,
        }
    }

    /// The test for a heartbeat that comes as a message; `None` where the protocol has none of its own, so that any
    /// message may be one.
    pub(super) fn is_heartbeat(self) -> Option<fn(&[u8]) -> bool> {
        match self {
            Service::SocketIo(_) => Some(|message| message == b"2"),
            Service::ActionCable => Some(|message| message.starts_with(br#"{"type":"ping""#)),
            Service::SockJs => Some(|message| message == b"h"),
            Service::Graphql => Some(|message| message.starts_with(br#"{"type":"ping""#)),
            _ => None,
        }
    }

    /// Returns whether its clients answer heartbeats that come as messages.
    pub(super) fn answers_heartbeats(self) -> bool {
        matches!(self, Service::SocketIo(_) | Service::Graphql)
    }

    /// The interval of heartbeats that the server's first message announces.
    pub(super) fn announced_interval(self, first: &[u8]) -> Option<Duration> {
        // Before Engine.IO's version 4, it is the client that pings (`0{"sid":…,"pingInterval":25000,…}`).
        let is_servers = matches!(self, Service::SocketIo(version) if version != Some(3));
        let handshake = first.strip_prefix(b"0").filter(|_| is_servers)?;
        let mut ms = None;
        codec::json::object(handshake, |name, value| {
            if name == b"pingInterval" {
                ms = std::str::from_utf8(value).ok().and_then(|value| value.trim().parse().ok());
            }
        })?;
        ms.map(Duration::from_millis)
    }

    /// The protocol of `throng init --from`.
    pub(super) fn example(self) -> Option<&'static str> {
        match self {
            Service::ActionCable => Some("actioncable"),
            Service::SocketIo(_) => Some("socketio"),
            Service::Phoenix => Some("phoenix"),
            Service::LiveView => Some("liveview"),
            Service::SockJs => Some("sockjs"),
            Service::Graphql => Some("graphql"),
            Service::Plain => Some("plain"),
            Service::EventStream => Some("sse"),
            Service::Answer(_) => Some("stream"),
            Service::Http => None,
        }
    }
}

/// The service at a place by its reply. `usual_status`: the status of a plain request to the URL, which says
/// nothing of this place where it has the same.
pub(super) fn found(place: &Place, reply: &Reply, usual_status: Option<u16>) -> Option<Found> {
    let barrier = barrier(place, reply).or_else(|| fault(reply).filter(|_| place.is_page()));
    let service = match service(place, reply) {
        Some(service) => service,
        // A refusal unlike the page's own is this place's: something is served here.
        None if barrier.is_some() && !place.is_get() && reply.status != usual_status => behind(place),
        None => return None,
    };
    let path = if service == Service::LiveView { "/".to_owned() } else { place.base() };
    Some(Found {
        url: reply.url.clone(),
        path,
        is_good: reply.status.is_some_and(|status| (200..300).contains(&status)),
        details: details(service, reply, barrier.is_some()),
        service,
        origin: None,
        barrier,
    })
}

fn service(place: &Place, reply: &Reply) -> Option<Service> {
    if place.is_get() {
        return of_get(place, reply);
    }
    let opened = reply.text.as_str();
    if reply.status != Some(101) {
        return None;
    }
    if let Some(service) = DialectId::opening_with(opened).and_then(by_dialect) {
        return Some(service);
    }
    if opened.contains("\"phx_reply\"") {
        return Some(if place.path == LIVE { Service::LiveView } else { Service::Phoenix });
    }
    if opened.contains("\"connection_ack\"") {
        return Some(Service::Graphql);
    }
    // Rails turns clients away that it does not know in place of the welcome.
    if opened.starts_with(r#"{"type":"disconnect""#) {
        return Some(Service::ActionCable);
    }
    place.may_be_plain.then_some(Service::Plain)
}

fn of_get(place: &Place, reply: &Reply) -> Option<Service> {
    let body = reply.text.as_str();
    if place.bare() != place.path {
        return if body.starts_with("0{\"sid\"") {
            Some(Service::SocketIo(Some(4)))
        } else if body.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(":0{\"sid\"") {
            Some(Service::SocketIo(Some(3)))
        } else if body.contains("\"Transport unknown\"") {
            Some(Service::SocketIo(None))
        } else {
            (body.contains("\"websocket\"") && body.contains("\"entropy\"")).then_some(Service::SockJs)
        };
    }
    let status = reply.status?;
    let media = reply.answer.content_type.as_deref().unwrap_or_default();
    let api = Api::at(&place.path);
    // An API's path takes a POST, and says so.
    let is_asked_otherwise = api.is_some() && matches!(status, 400 | 405 | 406 | 415 | 422);
    Some(match StreamForm::of_media(media.as_bytes()) {
        // A stream of events for all goes on for ever; one that has an end answers the request.
        StreamForm::Events if reply.is_answered || api.is_some() => Service::Answer(api),
        StreamForm::Events => Service::EventStream,
        StreamForm::Lines => Service::Answer(api),
        StreamForm::Chunks if is_asked_otherwise => Service::Answer(api),
        StreamForm::Chunks => Service::Http,
    })
}

fn by_dialect(dialect: DialectId) -> Option<Service> {
    [Service::ActionCable, Service::SocketIo(Some(4)), Service::SockJs]
        .into_iter()
        .find(|service| service.dialect() == Some(dialect))
}

/// The usual service at a place.
fn behind(place: &Place) -> Service {
    let usual = [Service::ActionCable, Service::Phoenix, Service::Graphql];
    let at = |service: &Service| {
        let paths = service.dialect().map_or(&[][..], |dialect| dialect.facts().paths);
        paths.iter().any(|path| place.path.starts_with(path))
    };
    if place.path == LIVE { Service::LiveView } else { usual.into_iter().find(at).unwrap_or(Service::Plain) }
}

fn barrier(place: &Place, reply: &Reply) -> Option<Barrier> {
    if let Some(location) = &reply.answer.location {
        let absolute = Url::parse(&reply.url).and_then(|url| url.join(location));
        let location: String = absolute.map_or_else(|_| location.clone(), Into::into);
        let is_encrypted = |url: &str| url.starts_with("https:") || url.starts_with("wss:");
        // Behind an upgrade to TLS is the server to ask, whatever its first page is.
        let is_upgrade = is_encrypted(&location) && !is_encrypted(&reply.url);
        return Some(match is_login(&location) && !is_upgrade {
            true => Barrier::Login(format!("it leads to {location}")),
            false => Barrier::Redirect(location),
        });
    }
    if let Some(status @ (401 | 403)) = reply.status {
        return Some(Barrier::Login(reply.answer.told(status)));
    }
    let why = reply.failure.as_ref().map(|(_, why)| why.as_str()).unwrap_or_default();
    // A server that ends so at any path has shown no protocol at a usual one.
    let is_refusal = if place.may_be_plain { access::is_refusal_at_once } else { access::is_refusal };
    let said = [reply.text.as_str(), why].into_iter().find(|said| is_refusal(said))?;
    Some(Barrier::Login(said.to_owned()))
}

/// The barrier before a page that has one of its own: other places may be served all the same.
fn fault(reply: &Reply) -> Option<Barrier> {
    match reply.status? {
        426 => Some(Barrier::Elsewhere),
        status @ (429 | 500..) => Some(Barrier::Fault(reply.answer.told(status))),
        _ => None,
    }
}

/// Returns whether a redirect leads to a page on which users log in, by its path.
fn is_login(location: &str) -> bool {
    let path = Url::parse(location).map_or_else(|_| location.to_owned(), |url| url.path().to_owned());
    let letters: String = path.to_ascii_lowercase().chars().filter(|c| !"-_".contains(*c)).collect();
    letters.split('/').any(|part| ["login", "signin", "auth", "oauth2", "sso"].contains(&part))
}

fn details(service: Service, reply: &Reply, has_barrier: bool) -> Vec<String> {
    let Answer { server, content_type, .. } = &reply.answer;
    match (service, reply.status) {
        (Service::Http | Service::EventStream | Service::Answer(_), Some(status)) => {
            let told = reply.answer.reason(status);
            [Some(told), server.clone(), content_type.clone()].into_iter().flatten().collect()
        }
        // What is in the way is said below.
        (Service::Plain, Some(101)) if has_barrier => Vec::new(),
        (Service::Plain, Some(101)) => {
            let text = Some(&reply.text).filter(|text| !text.is_empty());
            let opening = text.map(|text| format!("it opens with {text}"));
            reply.end().map(str::to_owned).or(opening).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::probe::places;

    fn reply(status: u16, head: &str, text: &str) -> Reply {
        let said = format!("HTTP/1.1 {status} Some\r\n{head}\r\n{text}");
        let answer = Answer::read(said.as_bytes());
        let text = if status == 101 { text } else { answer.body.as_deref().unwrap_or_default() }.to_owned();
        Reply { url: "http://h/x".to_owned(), status: Some(status), answer, text, ..Reply::default() }
    }

    fn at(path: &str) -> Place {
        let usual = places::usual().into_iter().find(|place| place.bare() == path);
        usual.unwrap_or_else(|| Place::itself(path))
    }

    #[test]
    fn replies_name_the_service() {
        // Captured from Rails 8, Socket.IO 4 and 2, Phoenix 1.8, sockjs-node, graphql-ws, ws.
        for (path, status, text, service) in [
            ("/cable", 101, r#"{"type":"welcome"}"#, Some(Service::ActionCable)),
            (
                "/cable",
                101,
                r#"{"type":"disconnect","reason":"unauthorized","reconnect":false}"#,
                Some(Service::ActionCable),
            ),
            (
                "/socket.io",
                200,
                r#"0{"sid":"lv_VI97HAXpY6yYWAAAC","upgrades":[]}"#,
                Some(Service::SocketIo(Some(4))),
            ),
            (
                "/socket.io",
                200,
                r#"97:0{"sid":"lv_VI97HAXpY","upgrades":[]}2:40"#,
                Some(Service::SocketIo(Some(3))),
            ),
            ("/socket.io", 400, r#"{"code":0,"message":"Transport unknown"}"#, Some(Service::SocketIo(None))),
            ("/socket.io", 200, "<title>An app for all paths</title>", None),
            (
                "/socket/websocket",
                101,
                r#"["1","1","t","phx_reply",{"status":"error","response":{"reason":"unmatched topic"}}]"#,
                Some(Service::Phoenix),
            ),
            (
                "/live/websocket",
                101,
                r#"["1","1","t","phx_reply",{"status":"error","response":{"reason":"unmatched topic"}}]"#,
                Some(Service::LiveView),
            ),
            (
                "/sockjs",
                200,
                r#"{"websocket":true,"origins":["*:*"],"cookie_needed":false,"entropy":4024097766}"#,
                Some(Service::SockJs),
            ),
            ("/graphql", 101, r#"{"type":"connection_ack"}"#, Some(Service::Graphql)),
            ("/graphql", 101, "", None),
            ("/chat", 101, "", Some(Service::Plain)),
            ("/chat", 101, "hello", Some(Service::Plain)),
            ("/chat", 101, "0{\"sid\":\"a\"}", Some(Service::SocketIo(Some(4)))),
            ("/chat", 404, "", None),
        ] {
            let found = found(&at(path), &reply(status, "", text), None);
            assert_eq!(found.map(|found| found.service), service, "{path} {status} {text}");
        }
        let stream =
            found(&Place::get("/"), &reply(200, "Content-Type: text/event-stream\r\n", "data: 1"), None);
        assert_eq!(stream.unwrap().service, Service::EventStream);
    }

    #[test]
    fn streams_with_an_end_are_answers() {
        let [events, lines] = ["text/event-stream", "application/x-ndjson"];
        for (path, status, media, is_answered, service) in [
            ("/s", 200, events, false, Service::EventStream),
            ("/s", 200, events, true, Service::Answer(None)),
            ("/s", 200, lines, false, Service::Answer(None)),
            ("/v1/chat/completions", 200, events, false, Service::Answer(Some("openai"))),
            ("/v1/messages?beta=true", 405, "application/json", true, Service::Answer(Some("anthropic"))),
            ("/mcp", 406, "application/json", true, Service::Answer(Some("mcp"))),
            ("/mcp", 404, "text/html", true, Service::Http),
            ("/s", 405, "application/json", true, Service::Http),
        ] {
            let head = format!("Content-Type: {media}\r\n");
            let reply = Reply { is_answered, ..reply(status, &head, "{}") };
            let found = found(&Place::get(path), &reply, None).unwrap();
            assert_eq!(found.service, service, "{path} {status} {media}");
        }
    }

    #[test]
    fn greetings_outlive_a_timeout_of_the_usual_protocol() {
        for (kind, details) in
            [(error_kind::CONNECT_TIMEOUT, "it opens with hello"), (error_kind::CLOSED, "why")]
        {
            let failure = Some((kind.to_owned(), "why".to_owned()));
            let reply = Reply { failure, ..reply(101, "", "hello") };
            assert_eq!(found(&at("/chat"), &reply, None).unwrap().details, [details]);
        }
    }

    #[test]
    fn refusals_are_barriers() {
        let barrier = |path: &str, reply: Reply, usual| found(&at(path), &reply, usual)?.barrier;
        let login = |said: &str| Some(Barrier::Login(said.to_owned()));
        assert_eq!(barrier("/cable", reply(403, "", "no"), Some(200)), login("403 Some: no"));
        assert_eq!(barrier("/cable", reply(401, "", ""), Some(401)), None, "all paths are locked");
        let page =
            |status, head: &str| found(&Place::get("/"), &reply(status, head, ""), None).unwrap().barrier;
        assert_eq!(page(401, ""), login("401 Some"));
        let leads_to = |path: &str| page(302, &format!("Location: {path}\r\n"));
        assert_eq!(leads_to("/home"), Some(Barrier::Redirect("http://h/home".to_owned())));
        for path in ["/login", "/users/sign_in?to=/", "/auth/realms/x", "/SSO"] {
            assert!(matches!(leads_to(path), Some(Barrier::Login(_))), "{path}");
        }
        assert!(matches!(leads_to("/author/ann"), Some(Barrier::Redirect(_))));
        let upgrade = "https://h/login".to_owned();
        assert_eq!(leads_to(&upgrade), Some(Barrier::Redirect(upgrade)), "TLS comes first");
        let mut closed = reply(101, "", "");
        closed.failure = Some(("closed".to_owned(), "with code 4403: Forbidden".to_owned()));
        assert_eq!(barrier("/chat", closed.clone(), None), login("with code 4403: Forbidden"));
        closed.failure = Some(("closed".to_owned(), "with code 1008: who?".to_owned()));
        assert_eq!(barrier("/chat", closed.clone(), None), login("with code 1008: who?"));
        assert_eq!(barrier("/cable", closed, Some(200)), None, "any path may end so");
        assert_eq!(page(426, ""), Some(Barrier::Elsewhere));
        assert_eq!(page(503, ""), Some(Barrier::Fault("503 Some".to_owned())));
    }
}
