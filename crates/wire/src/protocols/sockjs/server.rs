//! The server's side over a WebSocket, with frames or without.
//!
//! ```text
//! upgraded --o--> open --messages--> open
//! open --h, every 25 seconds--> open
//! open --broken framing; or the service closes--> closed
//! ```

use codec::http::request::Request;
use codec::json;
use codec::ws::MessageType;
use codec::ws::frame::{self, BODY};

use super::app::{self, CloseReason, GO_AWAY};
use super::facts::HEARTBEAT;
use super::frames;
use super::plain::Place;
use super::service::{App, Framing, SERVICES, Service, ServiceRoom};
use super::session::Session;
use crate::contract::ServerProtocol;
use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;
use crate::io::Io;
use crate::link::ServerLink;
use crate::publication::Publication;
use crate::server_config::ServerConfig;

const NS_PER_MS: u64 = 1_000_000;

/// The close code and reason for a client whose message is no JSON.
const BROKEN: CloseReason = CloseReason { code: 3000, text: "Broken framing." };

/// One connection's side.
#[derive(Debug)]
pub(crate) struct Server {
    /// The service and its room, in a box: connections of other protocols need no space for it.
    service_room: Box<ServiceRoom>,
    framing: Framing,
    /// The time from one heartbeat to the next: in milliseconds, to be small.
    interval_ms: u32,
    heartbeat_at_ns: u64,
}

impl ServerProtocol for Server {
    type Session = Session;

    fn open(cfg: &ServerConfig, request: &Request<'_>, _subprotocol: Option<&str>) -> Result<Server, u16> {
        let (service, rest) = Service::at(request.path()).ok_or(404u16)?;
        let framing = match Place::at(rest) {
            Some(Place::WebSocket) => Framing::Framed,
            Some(Place::RawWebSocket) => Framing::Raw,
            _ => return Err(404),
        };
        if !service.websocket {
            return Err(404);
        }
        let interval_ms = (cfg.settings.amount(&HEARTBEAT) / NS_PER_MS).clamp(1, u32::MAX.into()) as u32;
        Ok(Server {
            service_room: ServiceRoom::at(service, request.target).into(),
            framing,
            interval_ms,
            heartbeat_at_ns: u64::MAX,
        })
    }

    fn handle_upgraded<I: Io>(&mut self, link: &mut ServerLink<'_, I>, on: &mut impl OnServerEvent) {
        if self.framing == Framing::Framed {
            self.heartbeat_at_ns = self.next_heartbeat_ns(link.now_ns);
            link.say(&[b"o"]);
        }
        if self.service_room.service.app != App::Close {
            return on(ServerEvent::Joined { room: self.service_room.room(self.framing) });
        }
        let CloseReason { code, text } = GO_AWAY;
        if self.framing == Framing::Framed {
            link.say(&[format!("c[{code},\"{text}\"]").as_bytes()]);
        }
        // Nothing is said behind a close.
        self.heartbeat_at_ns = u64::MAX;
        link.sender.close_because(link.io, code, text);
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message_type: MessageType,
        start: usize,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        if self.framing == Framing::Raw {
            self.handle_raw(link, message_type, start, on);
            return Ok(());
        }
        let out = link.io.out(0);
        let body = start + BODY;
        // An empty message is none, and not broken either: the protocol document's tests send one.
        if out.len() == body {
            out.truncate(start);
            return Ok(());
        }
        let message = body..out.len();
        // Behind the message, whose strings are then copied within one vector.
        let reply = frame::open(out, codec::ws::End::Server);
        out.extend_from_slice(b"a[");
        let replies = out.len();
        let answered = if message_type == MessageType::Text {
            app::answer_array(*self.service_room, out, message, on)
        } else {
            Err(Failure::BadMessage)
        };
        if answered.is_err() {
            out.truncate(start);
            let CloseReason { code, text } = BROKEN;
            link.sender.close_because(link.io, code, text);
            return answered;
        }
        if out.len() == replies {
            out.truncate(start);
            return Ok(());
        }
        out.push(b']');
        link.sender.seal(out, reply, MessageType::Text, None);
        // The reply moves to where the message was, which is no longer needed.
        out.drain(start..reply);
        Ok(())
    }

    fn poll_timeout(&self) -> Option<u64> {
        (self.heartbeat_at_ns != u64::MAX).then_some(self.heartbeat_at_ns)
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut ServerLink<'_, I>) -> Result<(), Failure> {
        self.heartbeat_at_ns = self.next_heartbeat_ns(link.now_ns);
        link.say(&[b"h"]);
        Ok(())
    }

    fn publish(
        _cfg: &ServerConfig,
        _now_ns: u64,
        publication: &Publication<'_>,
        on: &mut impl OnServerEvent,
    ) {
        for service in SERVICES.iter().filter(|service| service.app == App::Benchmark) {
            app::publish(ServiceRoom::named(service, publication.in_url), &publication.message(), on);
        }
    }
}

impl Server {
    fn next_heartbeat_ns(&self, now_ns: u64) -> u64 {
        now_ns + u64::from(self.interval_ms) * NS_PER_MS
    }

    /// A message without a frame: what its string would be answered with, as it is.
    fn handle_raw<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message_type: MessageType,
        start: usize,
        on: &mut impl OnServerEvent,
    ) {
        let out = link.io.out(0);
        let body = start + BODY;
        let bytes = (out.len() - body) as u32;
        if message_type == MessageType::Binary || app::is_echo(self.service_room.service, &out[body..]) {
            on(ServerEvent::Echoed { bytes });
            return link.sender.seal(out, start, message_type, None);
        }
        let mut string = Vec::new();
        json::escape(&mut string, &out[body..]);
        out.truncate(body);
        out.extend_from_slice(&string);
        let reply = out.len();
        app::answer(*self.service_room, out, body..reply, &mut |event| {
            on(match event {
                ServerEvent::Echoed { .. } => ServerEvent::Echoed { bytes },
                other => other,
            });
        });
        let mut plain = Vec::new();
        // What was just escaped can be unescaped.
        let _ = frames::unescape(&mut plain, &out[reply + 1..out.len() - 1]);
        out.truncate(body);
        out.extend_from_slice(&plain);
        link.sender.seal(out, start, MessageType::Text, None);
    }
}
