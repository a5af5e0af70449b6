//! One session on the server's side, whatever carries its packets: Engine.IO around an application.
//!
//! ```text
//! waiting for a namespace --one is connected to--> live; --none in time--> over
//! any --1; silence; whatever breaks the rules--> over
//! ```

use codec::ws::{End, MessageType};

use super::app::App;
use super::handshake::Handshake;
use super::heartbeat::Heartbeat;
use super::output::PacketOutput;
use super::service::Service;
use super::terms::Terms;
use super::version::Version;
use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;

/// One session.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) version: Version,
    service: Service,
    app: App,
    heartbeat: Heartbeat,
    /// Until when a namespace must have been connected to, if none has been.
    connect_by_ns: Option<u64>,
    greet_ns: u64,
}

/// The greeting on connecting goes in a segment of its own, as with engine.io, which sends a packet when the
/// one before has left: the protocol's test suite misses it elsewhere.
const GREETING_DELAY_NS: u64 = 10_000_000;

/// The next action after a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Next {
    GoOn,
    /// The client has ended the session.
    Close,
}

/// The facts of a session at its start.
pub(crate) struct Opening<'a> {
    pub(crate) version: Version,
    pub(crate) service: Service,
    pub(crate) room: u64,
    pub(crate) sid: &'a [u8],
    pub(crate) has_upgrade: bool,
}

impl Side {
    /// Begins a session.
    pub(crate) fn open(
        opening: &Opening<'_>,
        terms: &Terms,
        now_ns: u64,
        out: &mut impl PacketOutput,
        on: &mut impl OnServerEvent,
    ) -> Side {
        let &Opening { version, service, room, sid, has_upgrade } = opening;
        let pace = terms.pace;
        let payload_bytes_max = Some(terms.payload_bytes_max as u64);
        let mut handshake = Vec::new();
        Handshake { sid, has_upgrade, pace, payload_bytes_max }.write(&mut handshake, version);
        out.text(&[&handshake]);
        let mut app = App::new(version, room);
        if service == Service::Socket {
            app.open(out, on);
        }
        let is_waiting = service == Service::Socket && !app.is_connected();
        Side {
            version,
            service,
            app,
            heartbeat: Heartbeat::new(version, End::Server, pace, now_ns),
            connect_by_ns: is_waiting.then_some(now_ns + terms.connect_timeout_ns),
            greet_ns: now_ns + GREETING_DELAY_NS,
        }
    }

    /// Returns whether the message itself is its answer.
    #[inline]
    pub(crate) fn is_echo(&self, message_type: MessageType, message: &[u8]) -> bool {
        match self.service {
            Service::Socket => message_type == MessageType::Text && self.app.is_echo(message),
            Service::Engine => message_type == MessageType::Binary || message.starts_with(b"4"),
        }
    }

    /// Takes a packet of text.
    pub(crate) fn handle_text(
        &mut self,
        now_ns: u64,
        text: &[u8],
        out: &mut impl PacketOutput,
        on: &mut impl OnServerEvent,
    ) -> Result<Next, Failure> {
        let (&kind, data) = text.split_first().ok_or(Failure::BadMessage)?;
        // Before anything that answers this packet: the greeting was due first, and is only waiting for its
        // time.
        self.app.greet(out);
        match (kind, self.service) {
            (b'1', _) => return Ok(Next::Close),
            (b'2', _) => {
                self.heartbeat.handle_ping(now_ns)?;
                out.text(&[b"3", data]);
            }
            (b'3', _) => {
                self.heartbeat.handle_pong(now_ns)?;
                self.app.touch(out, self.heartbeat.alive_until_ns());
            }
            (b'4', Service::Engine) => {
                out.text(&[text]);
                on(ServerEvent::Echoed { bytes: text.len() as u32 });
            }
            (b'4', Service::Socket) => {
                self.app.handle_text(data, out, on)?;
                // A connect: its first pong may come later than sessions are kept.
                if data.starts_with(b"0") {
                    self.app.touch(out, self.heartbeat.alive_until_ns());
                }
                self.greet_ns = now_ns + GREETING_DELAY_NS;
                if self.app.is_connected() {
                    self.connect_by_ns = None;
                }
            }
            // A noop.
            (b'6', _) => {}
            _ => return Err(Failure::BadMessage),
        }
        Ok(Next::GoOn)
    }

    /// Takes an attachment.
    pub(crate) fn handle_attachment(
        &mut self,
        bytes: &[u8],
        out: &mut impl PacketOutput,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        match self.service {
            Service::Socket => self.app.handle_attachment(bytes, out, on),
            Service::Engine => {
                out.attachment(bytes);
                on(ServerEvent::Echoed { bytes: bytes.len() as u32 });
                Ok(())
            }
        }
    }

    /// Joins the rooms of all namespaces that are connected, where `out` gets their broadcasts.
    pub(crate) fn join(&self, out: &impl PacketOutput, on: &mut impl OnServerEvent) {
        self.app.join(out, on);
    }

    /// Leaves them, where `out` gets their broadcasts.
    pub(crate) fn part(&self, out: &impl PacketOutput, on: &mut impl OnServerEvent) {
        self.app.part(out, on);
    }

    /// When to be woken.
    pub(crate) fn poll_timeout(&self) -> u64 {
        let greet_ns = if self.app.has_greeting() { self.greet_ns } else { u64::MAX };
        self.heartbeat.poll_timeout().min(self.connect_by_ns.unwrap_or(u64::MAX)).min(greet_ns)
    }

    /// Greets, pings, or gives up a client that is too late with something.
    pub(crate) fn handle_timeout(&mut self, now_ns: u64, out: &mut impl PacketOutput) -> Result<(), Failure> {
        if self.greet_ns <= now_ns {
            self.app.greet(out);
        }
        // Engine.IO alone would go on: a client that connects to no namespace would be kept for its
        // heartbeats.
        let is_late = self.connect_by_ns.is_some_and(|by_ns| by_ns <= now_ns);
        match self.heartbeat.handle_timeout(now_ns).filter(|_| !is_late) {
            Some(true) => out.text(&[b"2"]),
            Some(false) => {}
            None => return Err(Failure::Silent),
        }
        Ok(())
    }
}
