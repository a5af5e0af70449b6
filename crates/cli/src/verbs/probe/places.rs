//! The requests of a probe: where, and how.

use wire::DialectId;

/// A way to ask for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// By a plain request.
    Get,
    /// By the upgrade of a WebSocket that offers this protocol's subprotocols, and says nothing.
    Upgrade(DialectId),
    /// By the opening of the protocol, up to the server's answer.
    Join(DialectId),
    /// By the same, and one message.
    Echo(DialectId),
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Path, and the query that the service is asked with.
    pub(super) path: String,
    /// The query of the user's URL, with its sign.
    query: String,
    pub(super) asked: RequestKind,
    /// True if a WebSocket that says nothing is worth a line: one at the URL itself, or where plain ones usually are.
    pub(super) may_be_plain: bool,
}

/// The usual paths of event streams, and of answers in pieces: the API that most servers of models speak.
const STREAMS: [&str; 2] = ["/events", "/v1/chat/completions"];
/// The usual paths of plain WebSockets.
const PLAIN: [&str; 3] = ["/", "/ws", "/websocket"];
/// The answer to Socket.IO's polling tells its version, and is there without a WebSocket.
const POLLING: &str = "/?EIO=4&transport=polling";
/// The parameters of Engine.IO, which each client has its own of; URLs copied from a browser have the browser's.
const ENGINE_IO: [&str; 4] = ["EIO", "transport", "sid", "t"];
const INFO: &str = "/info";
/// The path of Phoenix LiveView's sockets.
pub(super) const LIVE: &str = "/live/websocket";

/// The usual places, by what is found most.
pub(super) fn usual() -> Vec<Place> {
    let at = |dialect: DialectId| dialect.facts().paths.first().copied().unwrap_or_default();
    let place = |path: String, asked| Place { path, query: String::new(), asked, may_be_plain: false };
    let cable = DialectId::Actioncable;
    let mut places = vec![
        place(at(cable).to_owned(), RequestKind::Upgrade(cable)),
        place(format!("{}{POLLING}", at(DialectId::Socketio)), RequestKind::Get),
        place(at(DialectId::Phoenix).to_owned(), RequestKind::Join(DialectId::Phoenix)),
        place(LIVE.to_owned(), RequestKind::Join(DialectId::Phoenix)),
        place(format!("{}{INFO}", at(DialectId::Sockjs)), RequestKind::Get),
        place(at(DialectId::Graphql).to_owned(), RequestKind::Join(DialectId::Graphql)),
    ];
    places.extend(STREAMS.map(Place::get));
    places.extend(PLAIN.map(Place::plain));
    places
}

impl Place {
    /// Asks there in this way; the path may have a query behind it.
    pub(super) fn at(path: &str, asked: RequestKind) -> Place {
        let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
        Place { path: path.to_owned(), query: query.to_owned(), asked, may_be_plain: false }
    }

    /// A plain request.
    pub(super) fn get(path: &str) -> Place {
        Place::at(path, RequestKind::Get)
    }

    fn plain(path: &str) -> Place {
        Place { may_be_plain: true, ..Place::at(path, RequestKind::Upgrade(DialectId::Raw)) }
    }

    /// The URL itself: as its protocol is asked for, if the path is a usual one.
    pub(super) fn itself(path: &str) -> Place {
        let itself = Place::plain(path);
        let trimmed = itself.path.trim_end_matches('/');
        // A WebSocket may be where event streams usually are.
        let is_it = |place: &Place| !trimmed.is_empty() && place.bare() == trimmed && !place.is_page();
        let usual = usual().into_iter().find(is_it);
        match usual {
            Some(usual) => {
                let query = match usual.path.ends_with(POLLING) {
                    true => without_engine_io(&itself.query),
                    false => itself.query,
                };
                Place { path: usual.path, query, asked: usual.asked, may_be_plain: true }
            }
            None => itself,
        }
    }

    /// The dialect spoken there.
    pub(super) fn dialect(&self) -> DialectId {
        match self.asked {
            RequestKind::Get => DialectId::Http,
            RequestKind::Upgrade(_) => DialectId::Raw,
            RequestKind::Join(dialect) | RequestKind::Echo(dialect) => dialect,
        }
    }

    /// The subprotocols to offer beside those of the dialect.
    pub(super) fn subprotocols(&self) -> Vec<String> {
        match self.asked {
            RequestKind::Upgrade(dialect) => {
                dialect.facts().offered.iter().map(|&name| name.to_owned()).collect()
            }
            RequestKind::Get | RequestKind::Join(_) | RequestKind::Echo(_) => Vec::new(),
        }
    }

    /// Returns whether it is a plain request.
    pub(super) fn is_get(&self) -> bool {
        self.asked == RequestKind::Get
    }

    /// Returns whether it is a plain request for the URL itself, or for a stream.
    pub(super) fn is_page(&self) -> bool {
        self.is_get() && self.bare() == self.path
    }

    /// Returns whether nothing but a plain WebSocket is looked for there.
    pub(super) fn is_plain(&self) -> bool {
        self.may_be_plain
            && matches!(self.asked, RequestKind::Upgrade(dialect) if dialect.facts().takes_anything)
    }

    /// Returns whether the client sends something once it is connected.
    pub(super) fn sends(&self) -> bool {
        matches!(self.asked, RequestKind::Get | RequestKind::Echo(_))
    }

    /// The status with which servers refuse an origin there.
    pub(super) fn origin_refusal(&self) -> u16 {
        match self.asked {
            RequestKind::Get => DialectId::Http.facts().origin_refusal,
            RequestKind::Upgrade(dialect) | RequestKind::Join(dialect) | RequestKind::Echo(dialect) => {
                dialect.facts().origin_refusal
            }
        }
    }

    /// The path without what only the probe asks for, and without a query.
    pub(super) fn bare(&self) -> &str {
        let path = self.path.strip_suffix(POLLING).unwrap_or(&self.path);
        path.strip_suffix(INFO).unwrap_or(path)
    }

    /// Path and query of a run's URL: without what only the probe asks for.
    pub(super) fn base(&self) -> String {
        // Engine.IO answers nothing without the slash, as its clients always have it (attach in its server.js).
        let slash = if self.path.ends_with(POLLING) { "/" } else { "" };
        format!("{}{slash}{}", self.bare(), self.query)
    }

    /// Path and query of the probe's own request.
    pub(super) fn asked_path(&self) -> String {
        match self.query.strip_prefix('?') {
            Some(query) if self.path.contains('?') => format!("{}&{query}", self.path),
            _ => format!("{}{}", self.path, self.query),
        }
    }
}

/// A query, with its sign, without those parameters.
fn without_engine_io(query: &str) -> String {
    let pairs = query.trim_start_matches('?').split('&').filter(|pair| !pair.is_empty());
    let is_own = |pair: &&str| !ENGINE_IO.contains(&pair.split('=').next().unwrap_or_default());
    let kept: Vec<&str> = pairs.filter(is_own).collect();
    if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_path_is_asked_in_its_protocol() {
        for (path, asked) in [
            ("/", RequestKind::Upgrade(DialectId::Raw)),
            ("/chat?room=1", RequestKind::Upgrade(DialectId::Raw)),
            ("/cable", RequestKind::Upgrade(DialectId::Actioncable)),
            ("/socket.io/", RequestKind::Get),
            ("/socket/websocket?vsn=2.0.0", RequestKind::Join(DialectId::Phoenix)),
            ("/sockjs", RequestKind::Get),
            ("/graphql", RequestKind::Join(DialectId::Graphql)),
            ("/events", RequestKind::Upgrade(DialectId::Raw)),
        ] {
            assert_eq!(Place::itself(path).asked, asked, "{path}");
        }
    }

    #[test]
    fn a_usual_path_keeps_its_query() {
        for (path, asked_path, base) in [
            ("/cable/?token=a", "/cable?token=a", "/cable?token=a"),
            ("/socket/websocket?token=a", "/socket/websocket?token=a", "/socket/websocket?token=a"),
            ("/socket.io/?token=a", "/socket.io/?EIO=4&transport=polling&token=a", "/socket.io/?token=a"),
            (
                "/socket.io/?EIO=3&transport=websocket&sid=a",
                "/socket.io/?EIO=4&transport=polling",
                "/socket.io/",
            ),
            ("/sockjs?token=a", "/sockjs/info?token=a", "/sockjs?token=a"),
            ("/chat?token=a", "/chat?token=a", "/chat?token=a"),
            ("/cable", "/cable", "/cable"),
        ] {
            let place = Place::itself(path);
            assert_eq!((place.asked_path().as_str(), place.base().as_str()), (asked_path, base), "{path}");
        }
    }
}
