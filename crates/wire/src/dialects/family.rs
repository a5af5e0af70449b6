//! The server's side of raw, json and binary, which share an endpoint and a broadcast group: each message says
//! by its form which of the three it is.

use super::contract::{ServerDialect, ServerLink};
use super::{binary, json};
use crate::dialect_id::{DialectId, GROUP};
use crate::event::{Kind, ServerEvent};
use crate::failure::Failure;
use crate::io::Io;
use crate::room::Room;
use crate::ws::End;
use crate::ws::frame::{self, Opcode};

/// Where the payload of a server's unsealed frame starts.
const BODY: usize = 2;

/// One connection's side: no state.
#[derive(Debug, Default)]
pub(crate) struct Server;

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

impl ServerDialect for Server {
    fn handle_upgraded<I: Io>(
        &mut self,
        _link: &mut ServerLink<'_, I>,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) {
        on(ServerEvent::Joined { room: Room::of_all(GROUP) });
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        text: bool,
        start: usize,
        on: &mut impl FnMut(ServerEvent<'_>),
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
                on(ServerEvent::Broadcast { room: Room::of_all(GROUP), frame: &out[start..] });
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
