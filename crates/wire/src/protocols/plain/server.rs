//! The server's side of raw, json and binary, which share an endpoint and a broadcast group: each message says
//! by its form which of the three it is. A path with `?room=NAME` is a room of its own.

use crate::absent::NoSession;
use crate::apps::bench::{binary, json};
use crate::contract::ServerProtocol;
use crate::dialect_id::{DialectId, GROUP};
use crate::event::{Kind, ServerEvent, Tells};
use crate::failure::Failure;
use crate::http::query;
use crate::http::request::Request;
use crate::io::Io;
use crate::link::ServerLink;
use crate::publication::{self, Publication};
use crate::room::Room;
use crate::server_config::ServerConfig;
use crate::ws::End;
use crate::ws::frame::{self, BODY, Opcode};

/// One connection's side: which room it is in, by the parameter `room` of its path.
#[derive(Debug)]
pub(crate) struct Server {
    room: Room,
}

/// What to do with a message.
enum Call {
    Echo,
    /// To everyone; the result for the sender has this many bytes at that place replaced.
    Broadcast {
        at: usize,
        bytes: usize,
        by: &'static [u8],
    },
    /// Not of the one dialect spoken here: silence, as the servers of websocket-shootout answer it.
    Ignore,
}

impl ServerProtocol for Server {
    type Session = NoSession;

    fn open(_cfg: &ServerConfig, request: &Request<'_>, _subprotocol: Option<&str>) -> Result<Server, u16> {
        let named = query::param(request.target, query::ROOM).map(room_named);
        Ok(Server { room: named.unwrap_or(Room::of_all(GROUP)) })
    }

    fn handle_upgraded<I: Io>(&mut self, _link: &mut ServerLink<'_, I>, on: &mut impl Tells) {
        on(ServerEvent::Joined { room: self.room });
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        text: bool,
        start: usize,
        on: &mut impl Tells,
    ) -> Result<(), Failure> {
        let out = link.io.out(0);
        let body = start + BODY;
        let bytes = (out.len() - body) as u32;
        match call(link.cfg.dialect, text, &out[body..]) {
            Call::Echo => {
                link.sender.seal(out, start, text, None);
                on(ServerEvent::Echoed { bytes });
            }
            Call::Ignore => out.truncate(start),
            Call::Broadcast { at, bytes, by } => {
                // Members of the group differ in their compression contexts, so the common frame is plain.
                let opcode = if text { Opcode::Text } else { Opcode::Binary };
                let body = frame::seal(out, start, opcode, false, None);
                on(ServerEvent::Broadcast { room: self.room, frame: &out[start..] });
                let result = frame::open(out, End::Server);
                out.extend_from_within(body..body + at);
                out.extend_from_slice(by);
                out.extend_from_within(body + at + bytes..result);
                link.sender.seal(out, result, text, None);
                out.drain(start..result);
            }
        }
        Ok(())
    }

    fn publish(_cfg: &ServerConfig, _now_ns: u64, said: &Publication<'_>, on: &mut impl Tells) {
        publication::tell(room_named(said.in_url), &[&said.message()], on);
    }
}

/// The room that a URL names.
fn room_named(name: &str) -> Room {
    Room::of(GROUP, 0, name.as_bytes())
}

#[inline]
fn call(only: Option<DialectId>, text: bool, message: &[u8]) -> Call {
    let speaks = |dialect| only.is_none_or(|o| o == dialect);
    let (kind, at, bytes, by) = if let Some((kind, at)) =
        (speaks(DialectId::Json) && text).then(|| json::recognise(message)).flatten()
    {
        (kind, at, json::BROADCAST_BYTES, json::RESULT)
    } else if let Some(kind) =
        (speaks(DialectId::Binary) && !text).then(|| binary::recognise(message)).flatten()
    {
        (kind, binary::KIND_AT, 1, &[binary::RESULT][..])
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
