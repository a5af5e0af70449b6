//! Broadcasts that somebody else has encoded: whether the members of a room can take them for their own server's.
//!
//! Servers that share broadcasts (docs/FLEET.md "Several servers as one") hand them on as frames, over a network that others may
//! reach. A client closes its connection over a frame that breaks a rule, and many libraries do so over a message that they
//! cannot read; so what goes to all clients of a server is read once before.

use super::sockjs::app as sockjs;
use super::sockjs::service::SERVICES;
use crate::dialect_id::DialectId;
use crate::json;
use crate::room::Room;
use crate::ws::End;
use crate::ws::frame::{Accepts, Header, Opcode};

/// What a client without compression takes from a server.
const PLAIN: Accepts = Accepts { end: End::Client, deflate: false };
/// What is before each packet of a session of Socket.IO.
const SEPARATOR: u8 = 0x1e;

impl Room {
    /// Whether these bytes are so many broadcasts as this room's members get them: whole frames of whole messages, in the
    /// dialect's own form; of sessions, what they are given for that.
    pub fn can_carry(self, messages: u32, bytes: &[u8]) -> bool {
        let found = match (self.is_of_sessions(), self.dialect) {
            (true, DialectId::Sockjs) => strings(bytes),
            (true, DialectId::Socketio) => packets(bytes),
            (true, _) => None,
            (false, _) => self.frames(bytes),
        };
        found == Some(messages) && messages > 0
    }

    /// How many messages frames are; `None`: they are none of this room's.
    fn frames(self, mut bytes: &[u8]) -> Option<u32> {
        let (mut messages, mut attachments) = (0, 0);
        while !bytes.is_empty() {
            let (header, at) = Header::parse(bytes, PLAIN).ok()??;
            let (payload, rest) = bytes[at..].split_at_checked(usize::try_from(header.len).ok()?)?;
            bytes = rest;
            match header.opcode {
                _ if !header.fin => return None,
                Opcode::Binary if attachments > 0 => attachments -= 1,
                _ if attachments > 0 => return None,
                Opcode::Text => {
                    simdutf8::basic::from_utf8(payload).ok()?;
                    attachments = self.text(payload)?;
                    messages += 1;
                }
                Opcode::Binary if matches!(self.dialect, DialectId::Socketio | DialectId::Sockjs) => {
                    return None;
                }
                Opcode::Binary => messages += 1,
                _ => return None,
            }
        }
        (attachments == 0).then_some(messages)
    }

    /// How many attachments follow a text; `None`: it is none of the dialect's.
    fn text(self, text: &[u8]) -> Option<u32> {
        match self.dialect {
            DialectId::Socketio => return event(text),
            DialectId::Json | DialectId::Actioncable => json::object(text, |_, _| {})?,
            DialectId::Phoenix => json::array(text, |_| {}).or_else(|| json::object(text, |_, _| {}))?,
            DialectId::Sockjs if SERVICES.iter().any(|service| sockjs::room(service, true) == self) => {
                json::array(text.strip_prefix(b"a")?, |_| {})?;
            }
            _ => {}
        }
        Some(0)
    }
}

/// How many attachments follow a packet with an event: `42["name",…]`, `42/ns,[…]`, `451-["name",…]`.
fn event(packet: &[u8]) -> Option<u32> {
    let (attachments, rest) = match packet.strip_prefix(b"42") {
        Some(rest) => (0, rest),
        None => {
            let rest = packet.strip_prefix(b"45")?;
            let dash = rest.iter().position(|&byte| byte == b'-')?;
            (std::str::from_utf8(&rest[..dash]).ok()?.parse().ok()?, &rest[dash + 1..])
        }
    };
    let array = match rest.first()? {
        b'/' => &rest[rest.iter().position(|&byte| byte == b',')? + 1..],
        _ => rest,
    };
    json::array(array, |_| {})?;
    Some(attachments)
}

/// How many strings these are, each with a comma before it.
fn strings(bytes: &[u8]) -> Option<u32> {
    simdutf8::basic::from_utf8(bytes).ok()?;
    let array = [b"[", bytes.strip_prefix(b",")?, b"]"].concat();
    let (mut count, mut are_strings) = (0, true);
    json::array(&array, |item| {
        count += 1;
        are_strings &= json::string(item).is_some();
    })?;
    are_strings.then_some(count)
}

/// How many events packets are, each with a separator before it.
fn packets(bytes: &[u8]) -> Option<u32> {
    simdutf8::basic::from_utf8(bytes).ok()?;
    let (mut messages, mut attachments) = (0, 0);
    for packet in bytes.strip_prefix(&[SEPARATOR])?.split(|&byte| byte == SEPARATOR) {
        match packet.strip_prefix(b"b") {
            Some(_) if attachments > 0 => attachments -= 1,
            None if attachments == 0 => {
                attachments = event(packet)?;
                messages += 1;
            }
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
        let of_all = |dialect| Room::of(dialect, 0, b"x");
        let json = text(r#"{"type":"broadcast"}"#);
        assert!(of_all(DialectId::Json).can_carry(2, &[json.clone(), json.clone()].concat()));
        assert!(!of_all(DialectId::Json).can_carry(1, &[json.clone(), json].concat()), "there are two");
        assert!(of_all(DialectId::Binary).can_carry(1, &binary(&[7, 0xff])));
        assert!(of_all(DialectId::Actioncable).can_carry(1, &text(r#"{"message":1}"#)));
        assert!(of_all(DialectId::Phoenix).can_carry(1, &text(r#"[null,null,"room:lobby","b",{}]"#)));
        assert!(of_all(DialectId::Socketio).can_carry(1, &text(r#"42/chat,["broadcast",1]"#)));
        let attached = [text(r#"451-["broadcast",{"_placeholder":true,"num":0}]"#), binary(&[1])].concat();
        assert!(of_all(DialectId::Socketio).can_carry(1, &attached));
        assert!(!of_all(DialectId::Socketio).can_carry(1, &attached[..attached.len() - 3]), "no attachment");
        let framed = sockjs::room(&SERVICES[0], true);
        assert!(framed.can_carry(1, &text(r#"a["x"]"#)) && !framed.can_carry(1, &text("x")));
        assert!(sockjs::room(&SERVICES[0], false).can_carry(1, &text("x")));
        assert!(sockjs::room_of_sessions(&SERVICES[0]).can_carry(2, br#","a","b""#));
        assert!(!sockjs::room_of_sessions(&SERVICES[0]).can_carry(1, br#","a",1"#));
        let sessions = Room::of_sessions(DialectId::Socketio, b"/");
        assert!(sessions.can_carry(1, "\u{1e}42[\"broadcast\",1]".as_bytes()));
        assert!(!sessions.can_carry(1, "\u{1e}41".as_bytes()), "goodbye to everybody");
    }

    #[test]
    fn what_clients_would_close_their_connections_over_is_not() {
        let room = Room::of(DialectId::Json, 0, b"");
        let sound = text(r#"{"type":"broadcast","payload":"xyz"}"#);
        assert!(room.can_carry(1, &sound));
        for at in [0, 1] {
            for bit in 0..8 {
                let mut mutated = sound.clone();
                mutated[at] ^= 1 << bit;
                assert!(!room.can_carry(1, &mutated), "{mutated:02x?}");
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
            assert!(!room.can_carry(1, &bad), "{bad:02x?}");
        }
        let mut no_text = sound.clone();
        no_text[20] = 0xff;
        assert!(!room.can_carry(1, &no_text));
    }
}
