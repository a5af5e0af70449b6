//! The server's side: the subscription `messages`, with a room for each set of variables, and the mutations
//! `echo` and `broadcast`, which take any `payload`. A broadcast goes to the room to which its sender
//! subscribed first.
//!
//! Each subscriber has an id of its own, so what is broadcast is the payload, and each connection puts its
//! own words around it.

use codec::http::request::Request;
use codec::json::{self, members, plain, string};
use codec::ws::MessageType;
use codec::ws::frame::{self, Opcode};

use super::document::only_field;
use super::message::{Packet, pong, result};
use crate::absent::NoSession;
use crate::contract::ServerProtocol;
use crate::dialect_id::DialectId;
use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;
use crate::io::Io;
use crate::link::ServerLink;
use crate::publication::{self, Publication};
use crate::room::Room;
use crate::server_config::ServerConfig;

/// Subscriptions of one connection, and those among them to one room: each is sent a copy of what the room is
/// told, at once.
const SUBSCRIPTIONS_MAX: usize = 256;
const SUBSCRIPTIONS_OF_ROOM_MAX: usize = 8;
/// Bytes of an id, and characters of it in the reason of a close, which has 123 bytes.
const ID_BYTES_MAX: usize = 256;
const ID_CHARS_SHOWN: usize = 20;
/// How long graphql-ws' server waits for `connection_init`.
const INIT_NS_MAX: u64 = 3_000_000_000;
/// How it closes over what is no message that a client may send.
const INVALID: &str = "Invalid message received";

/// One connection's side, in a box: connections of other protocols need no room for it.
pub(crate) type Server = Box<Connection>;

#[derive(Debug, Default)]
pub(crate) struct Connection {
    subscriptions: Vec<Subscription>,
    /// Until when it has to be initialised; `None`: it is.
    deadline_ns: Option<u64>,
}

#[derive(Debug)]
struct Subscription {
    id: Box<[u8]>,
    /// The id as it stood in the client's message, and stands in the copies.
    written_id: Box<[u8]>,
    room: Room,
}

impl ServerProtocol for Server {
    type Session = NoSession;

    /// graphql-ws closes with 4406 over another subprotocol; a refused upgrade says the same sooner.
    fn open(_cfg: &ServerConfig, _request: &Request<'_>, subprotocol: Option<&str>) -> Result<Server, u16> {
        subprotocol.map(|_| Box::default()).ok_or(400)
    }

    fn handle_upgraded<I: Io>(&mut self, link: &mut ServerLink<'_, I>, _on: &mut impl OnServerEvent) {
        self.deadline_ns = Some(link.now_ns + INIT_NS_MAX);
    }

    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message_type: MessageType,
        start: usize,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        let message = link.take(start);
        let is_text = message_type == MessageType::Text;
        let packet = is_text.then(|| Packet::parse(&message)).flatten();
        let Some(packet) =
            packet.filter(|packet| packet.is_valid() && packet.written_id.len() <= ID_BYTES_MAX)
        else {
            return Err(link.refuse(4400, INVALID));
        };
        let subscribed = self.subscriptions.iter().position(|own| *own.id == *packet.id);
        match (&*packet.kind, subscribed) {
            (b"connection_init", _) if self.deadline_ns.take().is_none() => {
                return Err(link.refuse(4429, "Too many initialisation requests"));
            }
            (b"connection_init", _) => link.say(&[br#"{"type":"connection_ack"}"#]),
            (b"ping", _) => link.say(&pong(packet.payload)),
            (b"pong", _) => {}
            (b"subscribe", _) if self.deadline_ns.is_some() => return Err(link.refuse(4401, "Unauthorized")),
            (b"subscribe", Some(_)) => {
                let id: String = String::from_utf8_lossy(&packet.id).chars().take(ID_CHARS_SHOWN).collect();
                return Err(link.refuse(4409, &format!("Subscriber for {id} already exists")));
            }
            (b"subscribe", None) => return self.execute(link, &packet, message.len() as u32, on),
            (b"complete", None) => {}
            (b"complete", Some(at)) => {
                let Subscription { room, .. } = self.subscriptions.remove(at);
                if self.subscribed(room) == 0 {
                    on(ServerEvent::Left { room });
                }
            }
            _ => return Err(link.refuse(4400, INVALID)),
        }
        Ok(())
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.deadline_ns
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut ServerLink<'_, I>) -> Result<(), Failure> {
        link.refuse(4408, "Connection initialisation timeout");
        Err(Failure::Silent)
    }

    fn put_copy(&self, room: Room, payload: &[u8], out: &mut Vec<u8>) {
        for Subscription { written_id, .. } in self.subscriptions.iter().filter(|own| own.room == room) {
            frame::put(out, Opcode::Text, |out| {
                codec::io::extend(out, &result(written_id, b"messages", payload))
            });
        }
    }

    /// For those whose subscription has the room as its one variable.
    fn publish(
        _cfg: &ServerConfig,
        _now_ns: u64,
        publication: &Publication<'_>,
        on: &mut impl OnServerEvent,
    ) {
        for name in publication.names() {
            let variables = [br#"{"room":"#, &name[..], b"}"].concat();
            publication::tell(room_of(&variables), &[publication.payload], on);
        }
    }
}

impl Connection {
    /// Subscriptions to a room.
    fn subscribed(&self, room: Room) -> usize {
        self.subscriptions.iter().filter(|own| own.room == room).count()
    }

    fn may_subscribe(&self, room: Room) -> bool {
        self.subscriptions.len() < SUBSCRIPTIONS_MAX && self.subscribed(room) < SUBSCRIPTIONS_OF_ROOM_MAX
    }

    /// Carries out an operation.
    fn execute<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        packet: &Packet<'_>,
        bytes: u32,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        let [query, variables] = members(packet.payload, ["query", "variables"]).unwrap_or_default();
        let document = plain(string(query).unwrap_or_default());
        let field = only_field(&document).unwrap_or_default();
        let [payload] = members(variables, ["payload"]).unwrap_or_default();
        let value = match field {
            b"messages" if self.may_subscribe(room_of(variables)) => {
                let room = room_of(variables);
                if self.subscribed(room) == 0 {
                    on(ServerEvent::Joined { room });
                }
                let (id, written_id) = (packet.id.as_ref().into(), packet.written_id.into());
                self.subscriptions.push(Subscription { id, written_id, room });
                return Ok(());
            }
            b"__typename" => br#""Query""#,
            b"echo" if !payload.is_empty() => {
                on(ServerEvent::Echoed { bytes });
                payload
            }
            b"broadcast" if !payload.is_empty() => {
                let room = self.subscriptions.first().map_or_else(|| room_of(b""), |own| own.room);
                link.broadcast(room, &[payload], on);
                payload
            }
            _ => {
                let why: &[u8] = match field {
                    b"messages" => b"Too many subscriptions",
                    _ => b"Cannot query it here",
                };
                let start = br#"","type":"error","payload":[{"message":""#;
                link.say(&[br#"{"id":""#, packet.written_id, start, why, br#""}]}"#]);
                return Ok(());
            }
        };
        link.say(&result(packet.written_id, field, value));
        link.say(&[br#"{"id":""#, packet.written_id, br#"","type":"complete"}"#]);
        Ok(())
    }
}

/// The room of a set of variables, however it is written: none are an empty set (GraphQL over HTTP, "Request
/// Parameters"), and blanks between them say nothing.
fn room_of(variables: &[u8]) -> Room {
    let name = match variables {
        b"" | b"null" => b"{}".to_vec(),
        _ => json::without_blanks(variables),
    };
    Room::of_readers(DialectId::Graphql, &name)
}
