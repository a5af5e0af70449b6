//! The server's side of raw, json and binary, which share an endpoint and a broadcast group: each message
//! says by its form which of the three it is. A path with `?room=NAME` is a room of its own. In JSON, a
//! connection may be in further rooms:
//!
//! ```text
//! >> {"type":"join","room":"NAME"}                        << {"type":"joined","room":"NAME"}
//! >> {"type":"join","room":"NAME","payload":P}            the same, and to those in it {"type":"arrived","room":"NAME","payload":P}
//! >> {"type":"broadcast","room":"NAME","payload":P}       to those in it, as without a room; from outside it, nothing
//! >> {"type":"leave","room":"NAME"}                       << {"type":"left","room":"NAME"}
//! ```
//!
//! The room of its path is one that a connection has joined before it says anything, and that it does not
//! leave.

use app::Kind;
use codec::http::query;
use codec::http::request::Request;
use codec::ws::frame::{self, BODY};
use codec::ws::{End, MessageType};

use crate::absent::NoSession;
use crate::apps::bench::{binary, json};
use crate::contract::ServerProtocol;
use crate::dialect_id::{DialectId, GROUP};
use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;
use crate::io::Io;
use crate::link::ServerLink;
use crate::publication::{self, Publication};
use crate::room;
use crate::room::Room;
use crate::server_config::ServerConfig;

/// Rooms that one connection may have joined.
const JOINED_MAX: usize = 256;

/// One connection's side: which room it is in, by the parameter `room` of its path, and which others it has
/// joined.
#[derive(Debug)]
pub(crate) struct Server {
    /// The topic of its room, which is of this group.
    topic: u64,
    #[allow(clippy::box_collection)] // 8 bytes in a connection, not 24
    joined: Option<Box<Vec<Room>>>,
}

/// Actions on a message.
enum Call {
    Echo,
    /// Broadcasts it to everyone; the result for the sender has this many bytes at that place replaced.
    Broadcast {
        at: usize,
        bytes: usize,
        by: &'static [u8],
    },
    /// The sender is to be in a room, or no more.
    Move,
    /// Not of the one dialect spoken here: silence, as the servers of websocket-shootout answer it.
    Ignore,
}

impl ServerProtocol for Server {
    type Session = NoSession;

    fn open(_cfg: &ServerConfig, request: &Request<'_>, _subprotocol: Option<&str>) -> Result<Server, u16> {
        let named = query::param(request.target, room::PARAM).map(room_named);
        Ok(Server { topic: named.unwrap_or(Room::of_all(GROUP)).topic, joined: None })
    }

    fn handle_upgraded<I: Io>(&mut self, _link: &mut ServerLink<'_, I>, on: &mut impl OnServerEvent) {
        on(ServerEvent::Joined { room: self.own_room() });
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message_type: MessageType,
        start: usize,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        let out = link.io.out(0);
        let body = start + BODY;
        let bytes = (out.len() - body) as u32;
        match call(link.cfg.dialect, message_type, &out[body..]) {
            Call::Echo => {
                link.sender.seal(out, start, message_type, None);
                on(ServerEvent::Echoed { bytes });
            }
            Call::Ignore => out.truncate(start),
            Call::Move => {
                let message = link.take(start);
                self.handle_move(link, &message, on);
            }
            Call::Broadcast { at, bytes, by } => {
                let Some(room) = self.room_of(&out[body..]) else {
                    out.truncate(start);
                    return Ok(());
                };
                // Members of the group differ in their compression contexts, so the common frame is plain.
                let body = frame::seal(out, start, message_type.into(), false, None);
                on(ServerEvent::Broadcast { room, frame: &out[start..] });
                let result = frame::open(out, End::Server);
                out.extend_from_within(body..body + at);
                out.extend_from_slice(by);
                out.extend_from_within(body + at + bytes..result);
                link.sender.seal(out, result, message_type, None);
                out.drain(start..result);
            }
        }
        Ok(())
    }

    fn publish(
        _cfg: &ServerConfig,
        _now_ns: u64,
        publication: &Publication<'_>,
        on: &mut impl OnServerEvent,
    ) {
        publication::tell(room_named(publication.in_url), &[&publication.message()], on);
    }
}

impl Server {
    /// The room of a broadcast; `None`: it is for a room that the connection is not in.
    #[inline]
    fn room_of(&self, message: &[u8]) -> Option<Room> {
        match json::room_of_broadcast(message) {
            None => Some(self.own_room()),
            Some(name) => Some(room_named(name)).filter(|room| self.is_in(*room)),
        }
    }

    fn own_room(&self) -> Room {
        Room { dialect: GROUP, topic: self.topic }
    }

    fn is_in(&self, room: Room) -> bool {
        room == self.own_room() || self.joined.as_ref().is_some_and(|joined| joined.contains(&room))
    }

    /// The connection joins a room, or leaves it: as often as it likes.
    #[cold]
    fn handle_move<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message: &[u8],
        on: &mut impl OnServerEvent,
    ) {
        let Some((joins, name)) = json::recognise_move(message) else { return };
        let room = room_named(name);
        let is_own = room == self.own_room();
        let joined = self.joined.get_or_insert_default();
        match joined.iter().position(|&other| other == room) {
            _ if is_own => {}
            None if joins && joined.len() < JOINED_MAX => {
                joined.push(room);
                // Before it hears of itself.
                if let Some(payload) = json::payload_of_move(message) {
                    let news = [br#"{"type":"arrived","room":""#, name, br#"","payload":"#, payload, b"}"];
                    link.broadcast(room, &news, on);
                }
                on(ServerEvent::Joined { room });
            }
            None if joins => return,
            Some(at) if !joins => {
                joined.swap_remove(at);
                on(ServerEvent::Left { room });
            }
            _ => {}
        }
        let word: &[u8] = if joins { b"joined" } else { b"left" };
        link.say(&[br#"{"type":""#, word, br#"","room":""#, name, br#""}"#]);
    }
}

/// The room that goes by this name.
fn room_named(name: impl AsRef<[u8]>) -> Room {
    Room::of(GROUP, 0, name.as_ref())
}

#[inline]
fn call(only: Option<DialectId>, message_type: MessageType, message: &[u8]) -> Call {
    let is_text = message_type == MessageType::Text;
    let speaks = |dialect| only.is_none_or(|o| o == dialect);
    let (kind, at, bytes, by) = if let Some((kind, at)) =
        (speaks(DialectId::Json) && is_text).then(|| json::recognise(message)).flatten()
    {
        (kind, at, json::BROADCAST_BYTES, json::RESULT)
    } else if let Some(kind) =
        (speaks(DialectId::Binary) && !is_text).then(|| binary::recognise(message)).flatten()
    {
        (kind, binary::KIND_AT, 1, &[binary::RESULT][..])
    } else if speaks(DialectId::Json) && is_text && json::recognise_move(message).is_some() {
        return Call::Move;
    } else if speaks(DialectId::Raw) {
        return Call::Echo;
    } else {
        return Call::Ignore;
    };
    match kind {
        Kind::Echo => Call::Echo,
        Kind::Broadcast => Call::Broadcast { at, bytes, by },
    }
}
