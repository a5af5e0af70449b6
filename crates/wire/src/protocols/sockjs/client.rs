//! The client's side over a WebSocket, and what a frame means on any transport.
//!
//! ```text
//! waiting --o--> open --c--> over
//! raw: there are no frames
//! ```

use app::conditions::Opened;
use app::template::Filling;
use codec::json::{decimal, items, plain, string};
use codec::stamp;
use codec::ws::MessageType;
use codec::ws::receiver::Message;

use super::frames::{self, Strings};
use super::parts::Parts;
use super::transport::Transport;
use crate::carried::{
    Arrival, MessageHint, MessageTemplate, ProtocolEvent, ProtocolHandler, Shares, Spelling,
};
use crate::contract::ClientProtocol;
use crate::event::Event;
use crate::failure::Failure;
use crate::io::Io;
use crate::link::Link;

/// How far a session has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Phase {
    #[default]
    Waiting,
    Open,
    Over,
}

/// One connection's side.
#[derive(Debug, Default)]
pub(crate) struct Client {
    phase: Phase,
}

impl ClientProtocol for Client {
    type Parts = Parts;

    fn handle_upgraded<I: Io>(&mut self, link: &mut Link<'_, Parts, I>, on: &mut impl ProtocolHandler) {
        if link.parts.transport == Transport::RawWebSocket {
            self.phase = Phase::Open;
            on.handle(ProtocolEvent::Ready);
        }
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message: &Message<'_>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let (frame, bytes) = (message.bytes()?, message.wire_bytes);
        let parts = link.parts;
        match parts.one_of_ours(frame) {
            _ if parts.transport == Transport::RawWebSocket => {
                let spelling = Spelling::Whole { message_type: message.message_type };
                let hint = MessageHint::Unknown;
                on.handle(ProtocolEvent::Arrival(Arrival {
                    text: frame,
                    spelling,
                    found: None,
                    hint,
                    bytes,
                    open: Opened::whole,
                }));
            }
            // A frame with one message, whose ends are known: no search for the string's end.
            Some(string) if self.phase == Phase::Open => on.handle(arrival(parts, string, bytes)),
            _ => return handle_frame(&mut self.phase, frame, bytes, parts, link.io, on),
        }
        Ok(())
    }

    #[inline]
    fn send<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message_template: &MessageTemplate,
        filling: &Filling<'_>,
    ) {
        link.sender.message(link.io, MessageType::Text, |out| message_template.text.write(out, filling, 0));
    }

    fn is_ready(&self) -> bool {
        self.phase == Phase::Open
    }
}

/// A message in its string.
#[inline(always)]
fn arrival<'a>(parts: &Parts, string: &'a [u8], bytes: u32) -> ProtocolEvent<'a> {
    let found = Some(stamp::find_before(string, parts.behind_id));
    ProtocolEvent::Arrival(Arrival {
        text: string,
        spelling: Spelling::Escaped,
        found,
        hint: MessageHint::Unknown,
        bytes,
        open: unescape,
    })
}

/// Unescapes the string.
fn unescape(string: &[u8]) -> Option<Opened<'_>> {
    let mut body = Vec::new();
    frames::unescape(&mut body, string).ok()?;
    Some(Opened { event: b"".into(), body: body.into() })
}

/// Takes one frame of the server's; `bytes` is its size on the wire.
pub(crate) fn handle_frame(
    phase: &mut Phase,
    frame: &[u8],
    bytes: u32,
    parts: &Parts,
    io: &mut impl Io,
    on: &mut impl ProtocolHandler,
) -> Result<(), Failure> {
    let (&kind, rest) = frame.split_first().ok_or(Failure::BadMessage)?;
    match (kind, *phase) {
        // A heartbeat keeps proxies from closing the connection, and wants no answer.
        (b'h', _) | (_, Phase::Over) => {}
        (b'o', Phase::Waiting) => {
            *phase = Phase::Open;
            on.handle(ProtocolEvent::Ready);
        }
        // A session that was open is there anew: the server has lost it, and all that was sent to it.
        (b'o', Phase::Open) => return Err(Failure::SessionLost),
        (b'a', Phase::Open) => {
            let (mut strings, mut shares) = (Strings::default(), Shares::new(bytes, frame.len()));
            while let Some(string) = strings.next(rest)? {
                // With the frame's kind before it, and its mark and a comma or bracket behind.
                let share = shares.next(string.end + 3);
                on.handle(arrival(parts, &rest[string], share));
            }
        }
        (b'c', _) => {
            *phase = Phase::Over;
            let [code, reason] = items(rest).ok_or(Failure::BadMessage)?;
            let code = decimal(code).ok_or(Failure::BadMessage)?;
            io.handle_reason(&plain(string(reason).unwrap_or_default()));
            on.handle(ProtocolEvent::Event(Event::Closed { code }));
        }
        _ => return Err(Failure::BadMessage),
    }
    Ok(())
}
