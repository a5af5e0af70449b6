//! The meaning of a reply: pure, so that tables test it.

use stats::error_kind;
use url::Url;
use wire::{DialectId, StreamForm};

use crate::answer::Answer;
use crate::flags::access;
use crate::flags::streaming::Api;
use crate::verbs::probe::places::{LIVE, Place};
use crate::verbs::probe::service::Service;

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

    /// The reason why there is no answer, and its remedy.
    pub(super) fn unanswered(&self, is_plain: bool) -> Option<String> {
        let (kind, why) = self.failure.as_ref().filter(|_| self.status.is_none())?;
        let ends = [error_kind::EOF, error_kind::RESET].contains(&kind.as_str());
        let tls = if ends && is_plain {
            "\n  a server that expects TLS does so: try throng https://…"
        } else {
            ""
        };
        Some(format!("{kind}: {why}{tls}"))
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

    /// Returns whether it is a stream of events, or answers with one.
    pub(super) fn is_stream(&self) -> bool {
        matches!(self.service, Service::EventStream | Service::Answer(_))
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

/// Returns whether a WebSocket was refused before anything was said in its protocol.
pub(super) fn is_refused_upgrade(place: &Place, reply: &Reply) -> bool {
    !place.is_get() && reply.status.is_some_and(|status| status != 101)
}

/// The stream at a place where one usually is. Another page of the server's is none, nor is a refusal with one of
/// these statuses, which it has for plain requests to other places, too: the first is that of the URL.
pub(super) fn stream(place: &Place, reply: &Reply, usual_statuses: &[Option<u16>]) -> Option<Found> {
    let is_own = !usual_statuses.contains(&reply.status);
    let usual_status = usual_statuses.first().copied().flatten();
    found(place, reply, usual_status).filter(|found| found.is_stream() && (found.is_good || is_own))
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
mod tests;
