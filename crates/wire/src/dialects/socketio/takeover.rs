//! The WebSocket that takes a session of plain requests over, on the client's side.
//!
//! ```text
//! connecting --handle_open--> opening --101: 2probe goes--> probing --3probe--> probed
//! probed, and no request is under way: 5 goes, and the session is the WebSocket's
//! ```

use super::talk::Talk;
use super::{client, payload};
use crate::client::{Opening, Session};
use crate::config::Config;
use crate::dialects::ClientState;
use crate::event::Event;
use crate::failure::Failure;
use crate::io::Io;
use crate::ws::receiver::Incoming;

/// One such connection, which is stream 0 of its client.
#[derive(Debug)]
pub(crate) enum Takeover {
    Connecting,
    Opening(Opening),
    Probing(Session),
    Probed(Session),
}

impl Takeover {
    /// The connection stands: asks for the WebSocket of the session.
    pub(crate) fn handle_open(&mut self, cfg: &Config, sid: &str, io: &mut impl Io) {
        let path = cfg.options().path.replacen("transport=polling", "transport=websocket", 1);
        *self = Takeover::Opening(Opening::new(cfg.write_upgrade_to(&format!("{path}&sid={sid}"), io)));
    }

    /// Bytes came in.
    pub(crate) fn handle_input(
        &mut self,
        cfg: &Config,
        mut input: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        if let Takeover::Opening(opening) = self {
            let Some(mut session) = opening.handle_input(cfg, &mut input)? else { return Ok(()) };
            session.sender.message(io, true, |out| out.extend_from_slice(b"2probe"));
            *self = Takeover::Probing(session);
        }
        loop {
            let (session, was_probed) = match self {
                Takeover::Probing(session) => (session, false),
                Takeover::Probed(session) => (session, true),
                _ => return Ok(()),
            };
            match session.receiver.next(&cfg.options().limits, &mut session.sender, io, &mut input)? {
                None => return Ok(()),
                Some(Incoming::Control) => {}
                Some(Incoming::Closed { code }) => on(Event::Closed { code }),
                Some(Incoming::Message(message)) => {
                    if was_probed || !message.text || message.bytes()? != b"3probe" {
                        return Err(Failure::BadMessage);
                    }
                    self.handle_probed();
                }
            }
        }
    }

    fn handle_probed(&mut self) {
        *self = match std::mem::replace(self, Takeover::Connecting) {
            Takeover::Probing(session) => Takeover::Probed(session),
            other => other,
        };
    }

    /// Whether polling is to come to an end.
    pub(crate) fn is_probed(&self) -> bool {
        matches!(self, Takeover::Probed(_))
    }

    /// Polling has come to an end: takes over, and sends the packets that wait, of which none is an attachment.
    ///
    /// # Panics
    /// If it is not probed.
    pub(crate) fn take(self, talk: Talk, queued: &[u8], io: &mut impl Io) -> Session {
        let Takeover::Probed(mut session) = self else { panic!("not probed") };
        for packet in std::iter::once(&b"5"[..]).chain(payload::waiting(queued)) {
            session.sender.message(io, true, |out| out.extend_from_slice(packet));
        }
        session.dialect = ClientState::Socketio(client::Client::of(talk));
        session
    }
}
