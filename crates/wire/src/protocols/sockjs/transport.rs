//! How the frames of a session travel, on the client's side.

use super::facts::TRANSPORT;
use crate::options::BadOption;
use crate::settings::Settings;

/// A transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    WebSocket,
    /// A WebSocket whose messages are the application's, without frames.
    RawWebSocket,
    /// A `POST` whose answer does not end.
    XhrStreaming,
    /// A `POST` for each frame.
    XhrPolling,
    /// Server-sent events.
    EventSource,
    /// A page that does not end, of scripts.
    HtmlFile,
    /// A script for each frame.
    Jsonp,
}

impl Transport {
    /// The transport asked for.
    pub(crate) fn of(settings: &Settings) -> Result<Transport, BadOption> {
        Ok(match settings.text(TRANSPORT.name) {
            None | Some("websocket") => Transport::WebSocket,
            Some("raw-websocket") => Transport::RawWebSocket,
            Some("xhr-streaming") => Transport::XhrStreaming,
            Some("xhr-polling") => Transport::XhrPolling,
            Some("eventsource") => Transport::EventSource,
            Some("htmlfile") => Transport::HtmlFile,
            Some("jsonp") => Transport::Jsonp,
            Some(_) => {
                let expected =
                    "websocket, raw-websocket, xhr-streaming, xhr-polling, eventsource, htmlfile or jsonp";
                return Err(BadOption::of(&TRANSPORT, expected));
            }
        })
    }

    /// Returns whether there is no WebSocket.
    pub(crate) fn is_over_requests(self) -> bool {
        !matches!(self, Transport::WebSocket | Transport::RawWebSocket)
    }

    /// How messages come: method, end of the path, and query.
    pub(crate) fn receive(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Transport::WebSocket | Transport::RawWebSocket => unreachable!("not over requests"),
            Transport::XhrStreaming => ("POST", "/xhr_streaming", ""),
            Transport::XhrPolling => ("POST", "/xhr", ""),
            Transport::EventSource => ("GET", "/eventsource", ""),
            Transport::HtmlFile => ("GET", "/htmlfile", "c=cb"),
            Transport::Jsonp => ("GET", "/jsonp", "c=cb"),
        }
    }

    /// The path and form of messages to send.
    pub(crate) fn send(self) -> (&'static str, &'static str) {
        match self {
            Transport::Jsonp => ("/jsonp_send", "application/x-www-form-urlencoded"),
            _ => ("/xhr_send", "text/plain"),
        }
    }
}
