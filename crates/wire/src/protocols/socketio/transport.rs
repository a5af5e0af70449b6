//! How the packets of a session travel, on the client's side.

use codec::http::query;

use super::facts::TRANSPORT;
use crate::options::{BadOption, Options};
use crate::settings::Settings;

/// A transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    WebSocket,
    /// A `GET` for what the server has to say, a `POST` for what the client has.
    Polling,
    /// Polling, and a WebSocket as soon as there is one: what the protocol's own clients do unless told
    /// otherwise.
    Upgrade,
}

impl Transport {
    /// The transport asked for, by the option or by the path.
    pub(crate) fn of(options: &Options) -> Result<Transport, BadOption> {
        let bad = |expected| Err(BadOption::of(&TRANSPORT, expected));
        let in_path = query::param(options.path.reveal(), "transport");
        let asked = options.of_dialect.settings.text(TRANSPORT.name);
        let Some(transport) = asked.or(in_path).map_or(Some(Transport::WebSocket), Transport::named) else {
            return bad("websocket, polling or upgrade");
        };
        if in_path.is_some_and(|name| name != transport.first()) {
            return bad("the transport that the URL names, or none there");
        }
        Ok(transport)
    }

    /// Returns whether one was chosen that begins with plain requests.
    pub(crate) fn is_over_requests(settings: &Settings) -> bool {
        let chosen = settings.text(TRANSPORT.name).and_then(Transport::named);
        chosen.is_some_and(|transport| transport != Transport::WebSocket)
    }

    fn named(name: &str) -> Option<Transport> {
        match name {
            "websocket" => Some(Transport::WebSocket),
            "polling" => Some(Transport::Polling),
            "upgrade" => Some(Transport::Upgrade),
            _ => None,
        }
    }

    /// The one that a session begins with, by its name in a query.
    pub(crate) fn first(self) -> &'static str {
        match self {
            Transport::WebSocket => "websocket",
            Transport::Polling | Transport::Upgrade => "polling",
        }
    }
}
