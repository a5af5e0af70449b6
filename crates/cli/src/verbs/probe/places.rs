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
    /// Path and query.
    pub(super) path: String,
    pub(super) asked: RequestKind,
    /// True if a WebSocket that says nothing is worth a line: one at the URL itself, or where plain ones usually are.
    pub(super) may_be_plain: bool,
}

/// The usual paths of plain WebSockets.
const PLAIN: [&str; 3] = ["/", "/ws", "/websocket"];
/// The answer to Socket.IO's polling tells its version, and is there without a WebSocket.
const POLLING: &str = "/?EIO=4&transport=polling";
const INFO: &str = "/info";
/// The path of Phoenix LiveView's sockets.
pub(super) const LIVE: &str = "/live/websocket";

/// The usual places, by what is found most.
pub(super) fn usual() -> Vec<Place> {
    let at = |dialect: DialectId| dialect.facts().paths.first().copied().unwrap_or_default();
    let place = |path: String, asked| Place { path, asked, may_be_plain: false };
    let cable = DialectId::Actioncable;
    let mut places = vec![
        place(at(cable).to_owned(), RequestKind::Upgrade(cable)),
        place(format!("{}{POLLING}", at(DialectId::Socketio)), RequestKind::Get),
        place(at(DialectId::Phoenix).to_owned(), RequestKind::Join(DialectId::Phoenix)),
        place(LIVE.to_owned(), RequestKind::Join(DialectId::Phoenix)),
        place(format!("{}{INFO}", at(DialectId::Sockjs)), RequestKind::Get),
        place(at(DialectId::Graphql).to_owned(), RequestKind::Join(DialectId::Graphql)),
    ];
    places.extend(PLAIN.map(Place::plain));
    places
}

impl Place {
    /// A plain request.
    pub(super) fn get(path: &str) -> Place {
        Place { path: path.to_owned(), asked: RequestKind::Get, may_be_plain: false }
    }

    fn plain(path: &str) -> Place {
        Place { path: path.to_owned(), asked: RequestKind::Upgrade(DialectId::Raw), may_be_plain: true }
    }

    /// The URL itself: as its protocol is asked for, if the path is a usual one.
    pub(super) fn itself(path: &str) -> Place {
        let trimmed = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let usual = usual().into_iter().find(|place| !trimmed.is_empty() && place.base() == trimmed);
        usual.map_or_else(|| Place::plain(path), |place| Place { may_be_plain: true, ..place })
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

    /// The path that a run's URL has: without what only the probe asks for.
    pub(super) fn base(&self) -> &str {
        let path = self.path.strip_suffix(POLLING).unwrap_or(&self.path);
        path.strip_suffix(INFO).unwrap_or(path)
    }
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
        ] {
            assert_eq!(Place::itself(path).asked, asked, "{path}");
        }
    }
}
