//! The server's side: topics `room:*`, whose members are a room for each serializer.
//!
//! The channel is websocket-shootout's. As Phoenix does, it answers a message for a topic that was not joined
//! with an error, crashes the channel on an event that it does not know, and the connection (1011) on
//! anything that is not a message; a connection that says nothing for a minute is closed.
//!
//! A client that joins with a `presence` is announced by it to those in the topic, as Phoenix.Presence does
//! it: `presence_diff`.

use codec::http::request::Request;
use codec::json::{self, items, members, string};
use codec::ws::MessageType;
use codec::ws::frame::{self, Opcode};

use super::binary::{self, Push, STRING_BYTES_MAX};
use super::facts::TIMEOUT;
use super::parts::Version;
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

/// Topics that one connection may have joined.
const TOPICS_MAX: usize = 256;
/// How Phoenix closes when a message makes its handler crash.
const INTERNAL_ERROR: u16 = 1011;
/// How it closes after a silence.
const PROTOCOL_ERROR: u16 = 1002;

/// One connection's side, in a box: connections of other protocols need no room for it.
pub(crate) type Server = Box<Connection>;

#[derive(Debug)]
pub(crate) struct Connection {
    version: Version,
    topics: Vec<Topic>,
    /// How long it may be silent.
    timeout_ns: u64,
    /// When its silence has lasted too long.
    deadline_ns: u64,
}

/// A topic joined.
#[derive(Debug)]
struct Topic {
    name: Vec<u8>,
    /// The number of its join, as JSON.
    join_ref: Vec<u8>,
}

/// A client's text message.
#[derive(Debug)]
struct Message<'a> {
    /// Both as JSON.
    join_ref: &'a [u8],
    number: &'a [u8],
    topic: Vec<u8>,
    event: &'a [u8],
    /// As JSON.
    payload: &'a [u8],
}

impl ServerProtocol for Server {
    type Session = NoSession;

    /// Without a version in the query it is the first.
    fn open(cfg: &ServerConfig, request: &Request<'_>, _subprotocol: Option<&str>) -> Result<Server, u16> {
        let version = match Version::in_path(request.target) {
            None => Version::V1,
            Some(vsn) => Version::of(vsn).ok_or(403u16)?,
        };
        let timeout_ns = cfg.settings.amount(&TIMEOUT);
        Ok(Box::new(Connection { version, topics: Vec::new(), timeout_ns, deadline_ns: u64::MAX }))
    }

    fn handle_upgraded<I: Io>(&mut self, link: &mut ServerLink<'_, I>, _on: &mut impl OnServerEvent) {
        self.deadline_ns = link.now_ns + self.timeout_ns;
    }

    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message_type: MessageType,
        start: usize,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        // Any message will do: Phoenix counts what it hears, and not heartbeats.
        self.deadline_ns = link.now_ns + self.timeout_ns;
        let bytes = link.take(start);
        let handled = match (message_type, self.version) {
            (MessageType::Text, version) => Message::parse(version, &bytes).map(|message| {
                self.handle_text(link, &message, bytes.len() as u32, on);
            }),
            (MessageType::Binary, Version::V2) => {
                Push::parse(&bytes).and_then(|push| self.handle_push(link, &push, bytes.len() as u32, on))
            }
            (MessageType::Binary, Version::V1) => None,
        };
        handled.ok_or_else(|| {
            link.sender.close(link.io, INTERNAL_ERROR);
            Failure::BadMessage
        })
    }

    fn poll_timeout(&self) -> Option<u64> {
        Some(self.deadline_ns)
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut ServerLink<'_, I>) -> Result<(), Failure> {
        link.sender.close(link.io, PROTOCOL_ERROR);
        Err(Failure::Silent)
    }

    fn publish(
        _cfg: &ServerConfig,
        _now_ns: u64,
        publication: &Publication<'_>,
        on: &mut impl OnServerEvent,
    ) {
        let topic = [b"room:", &publication.room[..]].concat();
        let members = [br#""payload":"#, publication.payload].concat();
        // The two serializers share no frame.
        for version in [Version::V2, Version::V1] {
            let mut text = Vec::new();
            let payload = typed(&members, b"broadcast");
            write(&mut text, version, [b"null", b"null"], &topic, "broadcast", &payload);
            publication::tell(room_of(&topic, version), &[&text], on);
        }
    }
}

impl<'a> Message<'a> {
    fn parse(version: Version, text: &'a [u8]) -> Option<Message<'a>> {
        let [join_ref, number, topic, event, payload] = match version {
            Version::V2 => items(text)?,
            Version::V1 => members(text, ["join_ref", "ref", "topic", "event", "payload"])?,
        };
        // The first version has no number of the join.
        let join_ref = if join_ref.is_empty() { b"null" } else { join_ref };
        let (topic, event) = (json::unescape(string(topic)?)?, string(event)?);
        let is_whole = !number.is_empty() && !payload.is_empty();
        is_whole.then_some(Message { join_ref, number, topic, event, payload })
    }
}

impl Connection {
    fn handle_text<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message: &Message<'_>,
        bytes: u32,
        on: &mut impl OnServerEvent,
    ) {
        let joined = self.topics.iter().position(|topic| topic.name == message.topic);
        match (message.event, joined) {
            (b"heartbeat", None) if message.topic == b"phoenix" => {
                self.reply(link, message, message.join_ref, OK, EMPTY)
            }
            (b"phx_join", _) => self.join(link, message, joined, on),
            // A leave is always granted.
            (b"phx_leave", None) => self.reply(link, message, message.join_ref, OK, EMPTY),
            (b"phx_leave", Some(at)) => {
                let topic = self.leave(at, on);
                self.reply(link, message, &topic.join_ref, OK, EMPTY);
                self.end(link, &topic, "phx_close");
            }
            (_, None) => self.refuse(link, message, "unmatched topic"),
            (event, Some(at)) => match (event, members_of(message.payload)) {
                (b"echo", Some(members)) => {
                    self.answer(link, message, at, members, "echo");
                    on(ServerEvent::Echoed { bytes });
                }
                (b"broadcast", Some(members)) => {
                    tell_topic(link, &message.topic, "broadcast", &typed(members, b"broadcast"), on);
                    self.answer(link, message, at, members, "broadcastResult");
                }
                _ => self.crash(link, at, on),
            },
        }
    }

    /// `None` when it is not what a client may send.
    fn handle_push<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        push: &Push<'_>,
        bytes: u32,
        on: &mut impl OnServerEvent,
    ) -> Option<()> {
        let Some(at) = self.topics.iter().position(|topic| topic.name == push.topic) else {
            // The answer is text, which the client's strings may not be.
            let number = quoted(std::str::from_utf8(push.number).ok()?.as_bytes());
            let topic = std::str::from_utf8(push.topic).ok()?.as_bytes().to_vec();
            let message = Message { join_ref: b"null", number: &number, topic, event: b"", payload: b"" };
            self.refuse(link, &message, "unmatched topic");
            return Some(());
        };
        match push.event {
            b"echo" => on(ServerEvent::Echoed { bytes }),
            b"broadcast" => {
                let out = link.io.out(0);
                let start = out.len();
                frame::put(out, Opcode::Binary, |out| {
                    binary::write_broadcast(out, push.topic, push.event, push.data);
                });
                let room = room_of(push.topic, Version::V2);
                on(ServerEvent::Broadcast { room, frame: &out[start..] });
                // It was written for the others; the sender has it from the room like all members.
                out.truncate(start);
            }
            _ => {
                self.crash(link, at, on);
                return Some(());
            }
        }
        let join_ref = string(&self.topics[at].join_ref).unwrap_or_default();
        link.sender.message(link.io, MessageType::Binary, |out| {
            binary::write_reply(out, join_ref, push.number, push.topic, push.data);
        });
        Some(())
    }

    /// Joins a topic. One that is joined already begins anew, of which other members see nothing.
    fn join<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message: &Message<'_>,
        joined: Option<usize>,
        on: &mut impl OnServerEvent,
    ) {
        if !message.topic.starts_with(b"room:") {
            return self.refuse(link, message, "unmatched topic");
        }
        // They are kept, and binary messages have no room for longer ones.
        if message.topic.len().max(message.join_ref.len()) > STRING_BYTES_MAX {
            return self.refuse(link, message, "too long a topic or join_ref");
        }
        let topic = Topic { name: message.topic.clone(), join_ref: message.join_ref.to_vec() };
        let former = match joined {
            Some(at) => Some(std::mem::replace(&mut self.topics[at], topic)),
            None if self.topics.len() >= TOPICS_MAX => return self.refuse(link, message, "too many topics"),
            None => {
                if let Some([presence]) = members(message.payload, ["presence"])
                    && !presence.is_empty()
                {
                    let diff = [br#"{"joins":{"visitor":{"metas":["#, presence, br#"]}},"leaves":{}}"#];
                    tell_topic(link, &topic.name, "presence_diff", &diff, on);
                }
                on(ServerEvent::Joined { room: room_of(&topic.name, self.version) });
                self.topics.push(topic);
                None
            }
        };
        self.reply(link, message, message.join_ref, OK, EMPTY);
        if let Some(former) = former {
            self.end(link, &former, "phx_close");
        }
    }

    fn leave(&mut self, at: usize, on: &mut impl OnServerEvent) -> Topic {
        let topic = self.topics.swap_remove(at);
        on(ServerEvent::Left { room: room_of(&topic.name, self.version) });
        topic
    }

    /// Crashes a channel over an event that it has no clause for.
    fn crash<I: Io>(&mut self, link: &mut ServerLink<'_, I>, at: usize, on: &mut impl OnServerEvent) {
        let topic = self.leave(at, on);
        self.end(link, &topic, "phx_error");
    }

    /// Tells the client that a channel has ended.
    fn end<I: Io>(&self, link: &mut ServerLink<'_, I>, topic: &Topic, event: &str) {
        link.sender.message(link.io, MessageType::Text, |out| {
            write(out, self.version, [&topic.join_ref, &topic.join_ref], &topic.name, event, EMPTY);
        });
    }

    /// The reply to a message with the payload it had, and its type.
    fn answer<I: Io>(
        &self,
        link: &mut ServerLink<'_, I>,
        message: &Message<'_>,
        at: usize,
        members: &[u8],
        kind: &str,
    ) {
        // A client that gives no number wants no reply.
        if message.number != b"null" {
            self.reply(link, message, &self.topics[at].join_ref, OK, &typed(members, kind.as_bytes()));
        }
    }

    fn refuse<I: Io>(&self, link: &mut ServerLink<'_, I>, message: &Message<'_>, reason: &str) {
        self.reply(link, message, b"null", ERROR, &[br#"{"reason":""#, reason.as_bytes(), br#""}"#]);
    }

    fn reply<I: Io>(
        &self,
        link: &mut ServerLink<'_, I>,
        message: &Message<'_>,
        join_ref: &[u8],
        end: &[u8],
        response: &[&[u8]],
    ) {
        let payload: Vec<&[u8]> =
            [&br#"{"response":"#[..]].into_iter().chain(response.iter().copied()).chain([end]).collect();
        link.sender.message(link.io, MessageType::Text, |out| {
            write(out, self.version, [join_ref, message.number], &message.topic, "phx_reply", &payload);
        });
    }
}

/// An object without members.
const EMPTY: &[&[u8]] = &[b"{}"];
/// How the payload of a reply ends.
const OK: &[u8] = br#","status":"ok"}"#;
const ERROR: &[u8] = br#","status":"error"}"#;

/// One frame for each room of the topic, plain: members differ in their compression contexts.
fn tell_topic<I: Io>(
    link: &mut ServerLink<'_, I>,
    topic: &[u8],
    event: &str,
    payload: &[&[u8]],
    on: &mut impl OnServerEvent,
) {
    for version in [Version::V2, Version::V1] {
        let out = link.io.out(0);
        let start = out.len();
        frame::put(out, Opcode::Text, |out| {
            write(out, version, [b"null", b"null"], topic, event, payload);
        });
        let (room, frame) = (room_of(topic, version), &out[start..]);
        on(match version {
            Version::V2 => ServerEvent::Broadcast { room, frame },
            Version::V1 => ServerEvent::Rebroadcast { room, frame },
        });
        out.truncate(start);
    }
}

/// Appends a message: the numbers, of the join and its own, are JSON, and so are the payload's parts
/// together.
fn write(
    out: &mut Vec<u8>,
    version: Version,
    [join_ref, number]: [&[u8]; 2],
    topic: &[u8],
    event: &str,
    payload: &[&[u8]],
) {
    let (topic, event) = (quoted(topic), event.as_bytes());
    let [before, between, after]: [&[&[u8]]; 3] = match version {
        Version::V2 => [&[b"[", join_ref, b",", number, b",", &topic, b",\"", event, b"\","], &[], &[b"]"]],
        Version::V1 => [
            &[br#"{"event":""#, event, br#"","payload":"#],
            &[br#","ref":"#, number, br#","topic":"#],
            &[&topic, b"}"],
        ],
    };
    for part in before.iter().chain(payload).chain(between).chain(after) {
        out.extend_from_slice(part);
    }
}

fn quoted(plain: &[u8]) -> Vec<u8> {
    let mut quoted = b"\"".to_vec();
    json::escape(&mut quoted, plain);
    quoted.push(b'"');
    quoted
}

/// An object of these members and a type.
fn typed<'a>(members: &'a [u8], kind: &'a [u8]) -> [&'a [u8]; 6] {
    let comma: &[u8] = if members.is_empty() { b"" } else { b"," };
    [b"{", members, comma, br#""type":""#, kind, br#""}"#]
}

/// The members of the object that a payload is.
fn members_of(payload: &[u8]) -> Option<&[u8]> {
    let inside = payload.strip_prefix(b"{")?.strip_suffix(b"}")?;
    Some(inside.trim_ascii())
}

fn room_of(topic: &[u8], version: Version) -> Room {
    Room::of(DialectId::Phoenix, version as u8, topic)
}
