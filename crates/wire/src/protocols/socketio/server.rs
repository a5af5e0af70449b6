//! The server's side over a WebSocket: a packet is a message.

use std::sync::Arc;

use codec::Error;
use codec::http::query;
use codec::http::request::Request;
use codec::ws::MessageType;
use codec::ws::close::NO_CODE;
use codec::ws::frame::BODY;

use super::app;
use super::candidate::Candidate;
use super::output::PacketOutput;
use super::payload::{self, Unit};
use super::request::{self, UpgradeReply};
use super::rooms;
use super::service::Service;
use super::session::Session;
use super::sid::{self, SID_CHARS};
use super::side::{Next, Opening, Side};
use super::terms::Terms;
use super::version::Version;
use crate::contract::ServerProtocol;
use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;
use crate::history::History;
use crate::io::Io;
use crate::link::ServerLink;
use crate::publication::Publication;
use crate::room::Room;
use crate::server_config::ServerConfig;
use crate::session::SessionHead;

/// One connection's side, in a box: connections of other protocols need no room for it.
pub(crate) type Server = Box<Connection>;

#[derive(Debug)]
pub(crate) struct Connection {
    terms: Terms,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The connection before the upgrade.
    New(Version, Service, u64),
    /// About to take over a session.
    Candidate(Candidate),
    Live(Box<Side>),
}

impl ServerProtocol for Server {
    type Session = Session;

    fn open(cfg: &ServerConfig, request: &Request<'_>, _subprotocol: Option<&str>) -> Result<Server, u16> {
        let version = query::param(request.target, "EIO").and_then(Version::named).ok_or(400u16)?;
        if query::param(request.target, "transport") != Some("websocket") {
            return Err(400);
        }
        let service = Service::at(request.path());
        let stage = match query::param(request.target, "sid") {
            None => Stage::New(version, service, rooms::room_at(request.target)),
            Some(sid) => Stage::Candidate(Candidate::new(version, service, sid)),
        };
        Ok(Box::new(Connection { terms: Terms::of(&cfg.settings), stage }))
    }

    fn handle_upgraded<I: Io>(&mut self, link: &mut ServerLink<'_, I>, on: &mut impl OnServerEvent) {
        match &mut self.stage {
            &mut Stage::New(version, service, room) => {
                let opening =
                    Opening { version, service, room, sid: &sid::fresh(link.io), has_upgrade: false };
                let now_ns = link.now_ns;
                let side = Side::open(&opening, &self.terms, now_ns, &mut Frames { link, version }, on);
                self.stage = Stage::Live(Box::new(side));
            }
            Stage::Candidate(candidate) => candidate.handle_upgraded(link.now_ns),
            Stage::Live(_) => {}
        }
    }

    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message_type: MessageType,
        start: usize,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        let out = link.io.out(0);
        let bytes = out.len() - start - BODY;
        if bytes > self.terms.payload_bytes_max {
            out.truncate(start);
            return Err(Failure::Codec(Error::MessageTooLarge));
        }
        // The frame is turned round in the output, without a copy: the way of nearly every message.
        if let Stage::Live(side) = &self.stage
            && side.is_echo(message_type, &out[start + BODY..])
        {
            link.sender.seal(out, start, message_type, None);
            on(ServerEvent::Echoed { bytes: bytes as u32 });
            return Ok(());
        }
        let message = link.take(start);
        self.handle(link, message_type, &message, on)
    }

    fn take_request(&mut self) -> Option<SessionHead<request::Request>> {
        match &mut self.stage {
            Stage::Candidate(candidate) => candidate.take_request(),
            _ => None,
        }
    }

    fn handle_answered<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        reply: Option<UpgradeReply>,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        let Stage::Candidate(candidate) = &mut self.stage else { return Ok(()) };
        match reply {
            Some(UpgradeReply::Admitted) => {
                candidate.handle_admitted();
                while let Stage::Candidate(candidate) = &mut self.stage
                    && !candidate.is_asking()
                    && let Some((message_type, message)) = candidate.poll_waiting()
                {
                    self.handle(link, message_type, &message, on)?;
                }
                Ok(())
            }
            Some(UpgradeReply::Session(side, packets)) => {
                // What came in while the session was asked for is the session's, behind what waited in it.
                let waiting = candidate.take_waiting();
                self.take_over(link, side, &packets, on)?;
                for (message_type, message) in waiting {
                    self.handle(link, message_type, &message, on)?;
                }
                Ok(())
            }
            Some(UpgradeReply::TurnedAway) | None => {
                link.sender.close(link.io, NO_CODE);
                Err(Failure::Refused(400))
            }
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        match &self.stage {
            Stage::New(..) => None,
            Stage::Candidate(candidate) => Some(candidate.poll_timeout()),
            Stage::Live(side) => Some(side.poll_timeout()),
        }
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut ServerLink<'_, I>) -> Result<(), Failure> {
        let outcome = match &mut self.stage {
            Stage::Live(side) => {
                let (now_ns, version) = (link.now_ns, side.version);
                side.handle_timeout(now_ns, &mut Frames { link, version })
            }
            // Polling goes on without it.
            Stage::Candidate(_) => Err(Failure::Silent),
            _ => Ok(()),
        };
        outcome.inspect_err(|_| link.sender.close(link.io, NO_CODE))
    }

    fn publish(cfg: &ServerConfig, now_ns: u64, publication: &Publication<'_>, on: &mut impl OnServerEvent) {
        let history = cfg.history.as_ref().map(|history| (Arc::clone(history), now_ns));
        app::publish(publication.in_url, publication.payload, history, on);
    }
}

impl Connection {
    /// Takes a message; behind a close, none.
    fn handle<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message_type: MessageType,
        message: &[u8],
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        if link.sender.is_closed() {
            return Ok(());
        }
        let side = match &mut self.stage {
            Stage::Live(side) => side,
            Stage::Candidate(candidate) => {
                let frames = &mut Frames { link, version: Version::V4 };
                if candidate.handle_message(message_type, message, frames)? {
                    on(ServerEvent::Asked);
                }
                return Ok(());
            }
            Stage::New(..) => return Ok(()),
        };
        let (now_ns, version) = (link.now_ns, side.version);
        let frames = &mut Frames { link, version };
        if message_type == MessageType::Binary {
            let attachment = message.strip_prefix(version.before_attachment()).ok_or(Failure::BadMessage)?;
            return side.handle_attachment(attachment, frames, on);
        }
        if side.handle_text(now_ns, message, frames, on)? == Next::Close {
            // Broadcasts would come behind the close frame (RFC 6455 §5.5.1).
            side.part(frames, on);
            link.sender.close(link.io, NO_CODE);
        }
        Ok(())
    }

    /// The session of plain requests becomes this connection's: with the packets that wait, and its places in
    /// rooms.
    fn take_over<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        side: Box<Side>,
        packets: &[u8],
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        let version = side.version;
        let mut frames = Frames { link, version };
        if !packets.is_empty() {
            // In the queue packets have the form of version 4, whatever is spoken: a separator before each.
            payload::read(Version::V4, &packets[1..], |unit| {
                match unit {
                    Unit::Text(text) => frames.text(&[text]),
                    Unit::Attachment(bytes) => frames.attachment(&bytes),
                }
                Ok(())
            })?;
        }
        side.join(&frames, on);
        self.stage = Stage::Live(side);
        Ok(())
    }
}

/// Packets as messages of a WebSocket.
struct Frames<'a, 'b, I> {
    link: &'a mut ServerLink<'b, I>,
    version: Version,
}

impl<I: Io> PacketOutput for Frames<'_, '_, I> {
    fn text(&mut self, parts: &[&[u8]]) {
        self.link.say(parts);
    }

    fn attachment(&mut self, bytes: &[u8]) {
        self.link.sender.message(self.link.io, MessageType::Binary, |out| {
            out.extend_from_slice(self.version.before_attachment());
            out.extend_from_slice(bytes);
        });
    }

    fn sid(&mut self) -> [u8; SID_CHARS] {
        sid::fresh(self.link.io)
    }

    fn history(&self) -> Option<(Arc<History>, u64)> {
        self.link.cfg.history.as_ref().map(|history| (Arc::clone(history), self.link.now_ns))
    }

    fn room(&self, namespace: &[u8]) -> Room {
        rooms::room(self.version, namespace)
    }
}
