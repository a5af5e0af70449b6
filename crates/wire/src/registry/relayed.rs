//! Checks of broadcasts that another server has encoded: a room's members must be able to take them for their
//! own server's.
//!
//! Servers that share broadcasts (docs/FLEET.md "Several servers as one") hand them on as frames, over a
//! network that others may reach. A client closes its connection over a frame that breaks a rule, and many
//! libraries do so over a message that they cannot read; so what goes to all clients of a server is read once
//! before.

use crate::contract::Protocol;
use crate::dialect_id::DialectId;
use crate::protocols;
use crate::room::Room;
use crate::ws::End;
use crate::ws::frame::{Accepts, Header, Opcode};

/// The frames a client without compression takes from a server.
const PLAIN: Accepts = Accepts { end: End::Client, deflate: false };

macro_rules! relayed {
    ($($id:ident: $module:ident, by $($dialect:ident)|+;)*) => {
        /// Returns whether these bytes are `messages` broadcasts as a room's members get them: whole frames
        /// of whole messages, in the dialect's own form; for sessions, what sessions are given to send.
        pub fn can_carry(room: Room, messages: u32, bytes: &[u8]) -> bool {
            let found = match room.dialect {
                $($(DialectId::$dialect)|+ => messages_of::<protocols::$module::$id>(room, bytes),)*
            };
            found == Some(messages) && messages > 0
        }
    };
}

protocols!(relayed);

fn messages_of<P: Protocol>(room: Room, bytes: &[u8]) -> Option<u32> {
    if room.is_of_sessions() { P::messages_for_sessions(bytes) } else { messages_in_frames::<P>(room, bytes) }
}

/// How many messages frames are; `None` if they cannot belong to this room.
fn messages_in_frames<P: Protocol>(room: Room, mut bytes: &[u8]) -> Option<u32> {
    let (mut messages, mut attachments) = (0, 0);
    while !bytes.is_empty() {
        let (header, at) = Header::parse(bytes, PLAIN).ok()??;
        let (payload, rest) = bytes[at..].split_at_checked(usize::try_from(header.len).ok()?)?;
        bytes = rest;
        match header.opcode {
            // Servers send broadcasts whole: a part would wait in a client for its rest, and anything else be
            // an error to it.
            _ if !header.fin => return None,
            Opcode::Binary if attachments > 0 => attachments -= 1,
            // A client takes what follows a packet for its attachments.
            _ if attachments > 0 => return None,
            Opcode::Text => {
                simdutf8::basic::from_utf8(payload).ok()?;
                attachments = P::attachments(room, payload)?;
                messages += 1;
            }
            Opcode::Binary if P::takes_binary() => messages += 1,
            _ => return None,
        }
    }
    (attachments == 0).then_some(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(payload: &str) -> Vec<u8> {
        [&[0x81, payload.len() as u8], payload.as_bytes()].concat()
    }

    fn binary(payload: &[u8]) -> Vec<u8> {
        [&[0x82, payload.len() as u8], payload].concat()
    }

    #[test]
    fn whole_messages_of_the_dialect_are_carried() {
        let room = |dialect| Room::of(dialect, 0, b"x");
        let json = text(r#"{"type":"broadcast"}"#);
        assert!(can_carry(room(DialectId::Json), 2, &[json.clone(), json.clone()].concat()));
        assert!(!can_carry(room(DialectId::Json), 1, &[json.clone(), json].concat()), "there are two");
        assert!(can_carry(room(DialectId::Binary), 1, &binary(&[7, 0xff])));
        assert!(can_carry(room(DialectId::Actioncable), 1, &text(r#"{"message":1}"#)));
        assert!(can_carry(room(DialectId::Phoenix), 1, &text(r#"[null,null,"room:lobby","b",{}]"#)));
        assert!(can_carry(room(DialectId::Socketio), 1, &text(r#"42/chat,["broadcast",1]"#)));
        let attached = [text(r#"451-["broadcast",{"_placeholder":true,"num":0}]"#), binary(&[1])].concat();
        assert!(can_carry(room(DialectId::Socketio), 1, &attached));
        assert!(!can_carry(room(DialectId::Socketio), 1, &attached[..attached.len() - 3]), "no attachment");
        let framed = Room { dialect: DialectId::Sockjs, topic: 1 };
        assert!(can_carry(framed, 1, &text(r#"a["x"]"#)) && !can_carry(framed, 1, &text("x")));
        assert!(can_carry(Room { topic: 2, ..framed }, 1, &text("x")));
        let readers = Room::of_readers(DialectId::Graphql, b"");
        for value in [r#"{"a":1}"#, r#""x""#, "[1,2]", "null"] {
            assert!(can_carry(readers, 1, &text(value)), "{value}");
        }
        for no_value in ["", "1,2", "1],[2", "{", "x"] {
            assert!(!can_carry(readers, 1, &text(no_value)), "{no_value}");
        }
        assert!(!can_carry(readers, 1, &binary(&[0xff])), "it would become text");
        let sessions = Room::of_sessions(DialectId::Sockjs, b"/sockjs");
        assert!(can_carry(sessions, 2, br#","a","b""#));
        assert!(!can_carry(sessions, 1, br#","a",1"#));
        let sessions = Room::of_sessions(DialectId::Socketio, b"/");
        assert!(can_carry(sessions, 1, "\u{1e}42[\"broadcast\",1]".as_bytes()));
        assert!(!can_carry(sessions, 1, "\u{1e}41".as_bytes()), "goodbye to everybody");
    }

    #[test]
    fn messages_that_close_connections_are_not_relayed() {
        let room = Room::of(DialectId::Json, 0, b"");
        let sound = text(r#"{"type":"broadcast","payload":"xyz"}"#);
        assert!(can_carry(room, 1, &sound));
        for at in [0, 1] {
            for bit in 0..8 {
                let mut mutated = sound.clone();
                mutated[at] ^= 1 << bit;
                assert!(!can_carry(room, 1, &mutated), "{mutated:02x?}");
            }
        }
        for bad in [
            text(r#"{"type":"#),
            text("\u{0}"),
            [0x88, 0].to_vec(),
            [0x89, 0].to_vec(),
            sound[..9].to_vec(),
            Vec::new(),
        ] {
            assert!(!can_carry(room, 1, &bad), "{bad:02x?}");
        }
        let mut no_text = sound.clone();
        no_text[20] = 0xff;
        assert!(!can_carry(room, 1, &no_text));
    }
}
