//! The server's side: the subscription `messages`, with a room for each set of variables, and the mutations `echo` and
//! `broadcast`, which take any `payload`. A broadcast goes to the room to which its sender subscribed first.
//!
//! Each subscriber has an id of its own, so what is broadcast is the payload, and each connection puts its own words around it.

use crate::absent::NoSession;
use crate::contract::{ServerLink, ServerProtocol};
use crate::dialect_id::DialectId;
use crate::event::ServerEvent;
use crate::failure::Failure;
use crate::http::request::Request;
use crate::io::Io;
use crate::json::{object, string};
use crate::room::Room;
use crate::server_config::ServerConfig;
use crate::ws::End;
use crate::ws::frame::{self, Opcode};

/// Subscriptions of one connection, bytes of an id, and characters of it in the reason of a close, which has 123 bytes.
const SUBSCRIPTIONS_MAX: usize = 256;
const ID_BYTES_MAX: usize = 256;
const ID_CHARS_SHOWN: usize = 20;
/// How long graphql-ws' server waits for `connection_init`.
const INIT_NS_MAX: u64 = 3_000_000_000;

/// One connection's side, in a box: connections of other protocols need no room for it.
pub(crate) type Server = Box<Connection>;

#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// Their ids, as they stand in a JSON string.
    subscriptions: Vec<(Box<[u8]>, Room)>,
    /// Until when it has to be initialised; 0: it is.
    deadline_ns: u64,
}

/// A client's message; strings still escaped.
#[derive(Default)]
struct Packet<'a> {
    id: Option<&'a [u8]>,
    kind: &'a [u8],
    query: &'a [u8],
    variables: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    fn parse(message: &'a [u8]) -> Option<Packet<'a>> {
        let mut packet = Packet::default();
        object(message, |key, value| match key {
            b"id" => packet.id = string(value).filter(|id| id.len() <= ID_BYTES_MAX),
            b"type" => packet.kind = string(value).unwrap_or_default(),
            b"payload" => packet.payload = value,
            _ => {}
        })?;
        if packet.kind == b"subscribe" {
            packet.id?;
            let mut query = None;
            object(packet.payload, |key, value| match key {
                b"query" => query = string(value),
                b"variables" => packet.variables = value,
                _ => {}
            })?;
            packet.query = query?;
        }
        Some(packet)
    }
}

impl ServerProtocol for Server {
    type Session = NoSession;

    /// graphql-ws closes with 4406 over another subprotocol; a refused upgrade says the same sooner.
    fn open(_cfg: &ServerConfig, _request: &Request<'_>, subprotocol: Option<&str>) -> Result<Server, u16> {
        subprotocol.map(|_| Box::default()).ok_or(400)
    }

    fn handle_upgraded<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        _on: &mut impl FnMut(ServerEvent<'_>),
    ) {
        self.deadline_ns = link.now_ns + INIT_NS_MAX;
    }

    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        text: bool,
        start: usize,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        let out = link.io.out(0);
        let message = out[start + 2..].to_vec();
        out.truncate(start);
        let packet = text.then(|| Packet::parse(&message)).flatten();
        let invalid = || (4400, "Invalid message received".to_owned());
        let handled = packet
            .ok_or_else(invalid)
            .and_then(|packet| self.handle_packet(link, &packet, message.len() as u32, on));
        handled.map_err(|(code, reason)| {
            link.sender.close_because(link.io, code, &reason);
            Failure::BadMessage
        })
    }

    fn poll_timeout(&self) -> Option<u64> {
        (self.deadline_ns != 0).then_some(self.deadline_ns)
    }

    fn handle_timeout<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        _on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        if self.deadline_ns == 0 || link.now_ns < self.deadline_ns {
            return Ok(());
        }
        link.sender.close_because(link.io, 4408, "Connection initialisation timeout");
        Err(Failure::Silent)
    }

    fn put_copy(&self, room: Room, body: &[u8], out: &mut Vec<u8>) {
        for (id, _) in self.subscriptions.iter().filter(|(_, own)| *own == room) {
            let start = frame::open(out, End::Server);
            for part in
                [br#"{"id":""#, &**id, br#"","type":"next","payload":{"data":{"messages":"#, body, b"}}}"]
            {
                out.extend_from_slice(part);
            }
            frame::seal(out, start, Opcode::Text, false, None);
        }
    }
}

impl Connection {
    /// The error is the code and the reason with which to close.
    fn handle_packet<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        packet: &Packet<'_>,
        bytes: u32,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), (u16, String)> {
        match (packet.kind, packet.id) {
            (b"connection_init", _) if self.deadline_ns == 0 => {
                return Err((4429, "Too many initialisation requests".to_owned()));
            }
            (b"connection_init", _) => {
                self.deadline_ns = 0;
                say(link, &[br#"{"type":"connection_ack"}"#]);
            }
            (b"ping", _) if packet.payload.is_empty() => say(link, &[br#"{"type":"pong"}"#]),
            (b"ping", _) => say(link, &[br#"{"type":"pong","payload":"#, packet.payload, b"}"]),
            (b"pong", _) => {}
            (b"subscribe", _) if self.deadline_ns != 0 => return Err((4401, "Unauthorized".to_owned())),
            (b"subscribe", Some(id)) if self.subscriptions.iter().any(|(own, _)| **own == *id) => {
                let id: String = String::from_utf8_lossy(id).chars().take(ID_CHARS_SHOWN).collect();
                return Err((4409, format!("Subscriber for {id} already exists")));
            }
            (b"subscribe", Some(id)) => self.execute(link, id, packet, bytes, on),
            (b"complete", Some(id)) => {
                if let Some(at) = self.subscriptions.iter().position(|(own, _)| **own == *id) {
                    let (_, room) = self.subscriptions.remove(at);
                    if self.subscriptions.iter().all(|(_, own)| *own != room) {
                        on(ServerEvent::Left { room });
                    }
                }
            }
            _ => return Err((4400, "Invalid message received".to_owned())),
        }
        Ok(())
    }

    fn execute<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        id: &[u8],
        packet: &Packet<'_>,
        bytes: u32,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) {
        let result = |link: &mut ServerLink<'_, I>, field: &[u8], value: &[u8]| {
            let head =
                [br#"{"id":""#, id, br#"","type":"next","payload":{"data":{""#, field, br#"":"#].concat();
            say(link, &[&head, value, b"}}}"]);
            say(link, &[br#"{"id":""#, id, br#"","type":"complete"}"#]);
        };
        let payload = payload_of(packet.variables);
        match (operation(packet.query), payload) {
            (Some(Operation::Messages), _) if self.subscriptions.len() < SUBSCRIPTIONS_MAX => {
                let room = Room::of_readers(DialectId::Graphql, packet.variables);
                if self.subscriptions.iter().all(|(_, own)| *own != room) {
                    on(ServerEvent::Joined { room });
                }
                self.subscriptions.push((id.into(), room));
            }
            (Some(Operation::Typename), _) => result(link, b"__typename", br#""Query""#),
            (Some(Operation::Echo), Some(payload)) => {
                result(link, b"echo", payload);
                on(ServerEvent::Echoed { bytes });
            }
            (Some(Operation::Broadcast), Some(payload)) => {
                let own = self.subscriptions.first().map(|&(_, room)| room);
                let room = own.unwrap_or_else(|| Room::of_readers(DialectId::Graphql, b""));
                let out = link.io.out(0);
                let start = frame::open(out, End::Server);
                out.extend_from_slice(payload);
                frame::seal(out, start, Opcode::Text, false, None);
                on(ServerEvent::Broadcast { room, frame: &out[start..] });
                out.truncate(start);
                result(link, b"broadcast", payload);
            }
            _ => say(
                link,
                &[br#"{"id":""#, id, br#"","type":"error","payload":[{"message":"Cannot query it here"}]}"#],
            ),
        }
    }
}

#[derive(Clone, Copy)]
enum Operation {
    Messages,
    Typename,
    Echo,
    Broadcast,
}

/// The one field of a document that this server has, after its kind, name and variables.
fn operation(query: &[u8]) -> Option<Operation> {
    let at = query.iter().position(|&byte| byte == b'{')? + 1;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let field = query[at..].iter().skip_while(|byte| !is_name(byte)).take_while(|byte| is_name(byte));
    Some(match &field.copied().collect::<Vec<u8>>()[..] {
        b"messages" => Operation::Messages,
        b"__typename" => Operation::Typename,
        b"echo" => Operation::Echo,
        b"broadcast" => Operation::Broadcast,
        _ => return None,
    })
}

/// The variable of that name.
fn payload_of(variables: &[u8]) -> Option<&[u8]> {
    let mut payload = None;
    object(variables, |key, value| {
        if key == b"payload" {
            payload = Some(value);
        }
    })?;
    payload
}

/// Sends a text message made of parts.
fn say<I: Io>(link: &mut ServerLink<'_, I>, parts: &[&[u8]]) {
    link.sender.message(link.io, true, |out| parts.iter().for_each(|part| out.extend_from_slice(part)));
}
