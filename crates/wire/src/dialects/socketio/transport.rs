//! How the packets of a session travel, on the client's side.

use crate::http::query;
use crate::options::{BadOption, Options};

/// A transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    WebSocket,
    /// A `GET` for what the server has to say, a `POST` for what the client has.
    Polling,
    /// Polling, and a WebSocket as soon as there is one: what the protocol's own clients do unless told otherwise.
    Upgrade,
}

impl Transport {
    /// The transport asked for, by the option or by the path.
    pub(crate) fn of(options: &Options) -> Result<Transport, BadOption> {
        let bad = |expected| Err(BadOption::OfDialect { option: "transport", expected });
        let in_path = query::param(options.path.reveal(), "transport");
        let transport = match options.of_dialect.transport.as_deref().or(in_path) {
            None | Some("websocket") => Transport::WebSocket,
            Some("polling") => Transport::Polling,
            Some("upgrade") => Transport::Upgrade,
            Some(_) => return bad("websocket, polling or upgrade"),
        };
        if in_path.is_some_and(|name| name != transport.first()) {
            return bad("the transport that the URL names, or none there");
        }
        Ok(transport)
    }

    /// The one that a session begins with, by its name in a query.
    pub(crate) fn first(self) -> &'static str {
        match self {
            Transport::WebSocket => "websocket",
            Transport::Polling | Transport::Upgrade => "polling",
        }
    }
}
