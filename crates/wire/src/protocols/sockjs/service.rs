//! The server's services: what is served below which path.

use codec::http::query;

use crate::dialect_id::DialectId;
use crate::room;
use crate::room::Room;

/// An application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum App {
    /// The json dialect's: broadcasts go to everyone in the service and have a result; all else comes back.
    Benchmark,
    /// Everything comes back.
    Echo,
    /// Closes every session at once.
    Close,
}

/// A service below a path.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) prefix: &'static str,
    pub(crate) app: App,
    pub(crate) websocket: bool,
    /// Sets the cookie by which balancers know a client again.
    pub(crate) cookie: bool,
    /// Bytes of a streaming answer; `None`: as configured.
    pub(crate) response_bytes_max: Option<usize>,
}

/// The benchmark's service, and the protocol document's services for testing servers.
pub(crate) static SERVICES: [Service; 5] = [
    Service::new("/sockjs", App::Benchmark, None),
    Service::new("/echo", App::Echo, Some(4096)),
    Service::new("/close", App::Close, None),
    Service { websocket: false, ..Service::new("/disabled_websocket_echo", App::Echo, None) },
    Service { cookie: true, ..Service::new("/cookie_needed_echo", App::Echo, None) },
];

/// A room of a service: the clients that came by URLs that name the same room, as `?room=NAME`, or none.
/// Broadcasts go among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceRoom {
    pub(crate) service: &'static Service,
    /// The hash of the room's name; 0 if none was named.
    room: u64,
}

/// How messages stand on a WebSocket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    /// In the protocol's frames.
    Framed,
    /// As they are.
    Raw,
}

/// The bit of a topic that says that its members get frames.
const FRAMED: u64 = 1;

impl ServiceRoom {
    /// The one that a request's target is for.
    pub(crate) fn at(service: &'static Service, target: &str) -> ServiceRoom {
        let named = query::param(target, room::PARAM);
        named.map_or(ServiceRoom { service, room: 0 }, |name| ServiceRoom::named(service, name))
    }

    /// The one of a room, as a URL names it.
    pub(crate) fn named(service: &'static Service, name: &str) -> ServiceRoom {
        ServiceRoom { service, room: Room::of(DialectId::Sockjs, 0, name.as_bytes()).topic }
    }

    /// The room of those with a WebSocket. One for each way in which messages are encoded.
    pub(crate) fn room(self, framing: Framing) -> Room {
        let service = Room::of(DialectId::Sockjs, 0, self.service.prefix.as_bytes());
        let Room { dialect, topic } = service.within(self.room);
        // Rooms apart: a broadcast is frames for the members of one, and bare text for the others.
        let topic = match framing {
            Framing::Framed => topic | FRAMED,
            Framing::Raw => topic & !FRAMED,
        };
        Room { dialect, topic }
    }

    /// The room of the sessions over requests. Its broadcasts are strings, each with a comma before it.
    pub(crate) fn room_of_sessions(self) -> Room {
        Room::of_sessions(DialectId::Sockjs, self.service.prefix.as_bytes()).within(self.room)
    }
}

impl Service {
    const fn new(prefix: &'static str, app: App, response_bytes_max: Option<usize>) -> Service {
        Service { prefix, app, websocket: true, cookie: false, response_bytes_max }
    }

    /// The service at a path, and the rest of the path.
    pub(crate) fn at(path: &str) -> Option<(&'static Service, &str)> {
        SERVICES.iter().find_map(|service| {
            let rest = path.strip_prefix(service.prefix)?;
            (rest.is_empty() || rest.starts_with('/')).then_some((service, rest))
        })
    }
}
