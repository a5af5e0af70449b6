//! The WebSocket that takes a session of plain requests over, on the client's side.
//!
//! ```text
//! connecting --handle_open--> opening --101: 2probe goes--> probing --3probe--> probed
//! probed, and no request is under way: 5 goes, and the session is the WebSocket's
//! ```

use app::template::ClientContext;
use codec::http::cookies::Cookies;
use codec::ws::MessageType;
use codec::ws::receiver::Incoming;

use super::payload;
use crate::event::Event;
use crate::failure::Failure;
use crate::io::Io;
use crate::opening::{Opening, Socket};
use crate::request::Common;

/// One such connection, which is stream 0 of its client.
#[derive(Debug)]
pub(crate) enum Takeover {
    Connecting,
    Opening(Opening),
    Probing(Socket),
    Probed(Socket),
}

impl Takeover {
    /// The connection stands: asks for the WebSocket of the session.
    pub(crate) fn handle_open(
        &mut self,
        common: &Common,
        sid: &str,
        context: ClientContext<'_>,
        io: &mut impl Io,
    ) {
        let add_session =
            |target: &str| target.replacen("transport=polling", "transport=websocket", 1) + "&sid=" + sid;
        *self = Takeover::Opening(Opening::new(common.write_upgrade_to(io, context, add_session)));
    }

    /// Bytes came in.
    pub(crate) fn handle_input(
        &mut self,
        common: &Common,
        cookies: &mut Cookies,
        mut input: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        if let Takeover::Opening(opening) = self {
            let Some(mut socket) = opening.handle_input(common, cookies, &mut input)? else { return Ok(()) };
            // A ping of this very text: it shows that the WebSocket carries messages both ways before
            // anything depends on it.
            socket.sender.message(io, MessageType::Text, |out| out.extend_from_slice(b"2probe"));
            *self = Takeover::Probing(socket);
        }
        loop {
            let (socket, was_probed) = match self {
                Takeover::Probing(socket) => (socket, false),
                Takeover::Probed(socket) => (socket, true),
                _ => return Ok(()),
            };
            match socket.receiver.next(&common.options().limits, &mut socket.sender, io, &mut input)? {
                None => return Ok(()),
                Some(Incoming::Control) => {}
                Some(Incoming::Closed { code }) => on(Event::Closed { code }),
                Some(Incoming::Message(message)) => {
                    // Until the client takes over, the server's packets go by polls: here it has one thing to
                    // say.
                    if was_probed
                        || message.message_type != MessageType::Text
                        || message.bytes()? != b"3probe"
                    {
                        return Err(Failure::BadMessage);
                    }
                    self.handle_probed();
                }
            }
        }
    }

    fn handle_probed(&mut self) {
        *self = match std::mem::replace(self, Takeover::Connecting) {
            Takeover::Probing(socket) => Takeover::Probed(socket),
            other => other,
        };
    }

    /// Returns whether polling is to come to an end.
    pub(crate) fn is_probed(&self) -> bool {
        matches!(self, Takeover::Probed(_))
    }

    /// Polling has come to an end: takes over, and sends the packets that wait, of which none is an
    /// attachment.
    ///
    /// # Panics
    /// If it is not probed.
    pub(crate) fn take(self, queued: &[u8], io: &mut impl Io) -> Socket {
        let Takeover::Probed(mut socket) = self else { panic!("not probed") };
        for packet in std::iter::once(&b"5"[..]).chain(payload::waiting(queued)) {
            socket.sender.message(io, MessageType::Text, |out| out.extend_from_slice(packet));
        }
        socket
    }
}
