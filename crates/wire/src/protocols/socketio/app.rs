//! The server's handling of packets, whatever carries them: the benchmark's events, and those of the servers
//! in the protocol's test suite.
//!
//! ```text
//! unconnected --0: a namespace that there is--> connected; 40{"sid":S} and the event auth, with what was sent along
//! connected --an event--> connected, with its answer; --1--> left
//! left --0--> connected; --an event or an answer--> left: it was under way, and is ignored
//! connected --the event join--> connected, in the room that its argument names, instead of the one of its URL and besides those
//!     that it has joined
//! connected --the event leave--> connected, out of that room
//! connected --the event broadcast, {"room":R,…}--> the same, to the room R if it is in it; else to the one that it was in first
//! unconnected --0 of a client that had a connection, where broadcasts are kept--> connected, in the rooms that it had joined;
//!     40{"sid":S,"pid":P}, and what was missed
//! a second 0, anything else when unconnected, whatever breaks the rules --> the end of the session
//! ```

use std::sync::Arc;

use codec::json;

use super::output::PacketOutput;
use super::packet::{self, Kind, MAIN, Packet, in_packet};
use super::places::{Move, Places};
use super::recovery::{self, Known, Recovered, Token};
use super::reply::Reply;
use super::rooms::{first_of, hash, room, room_of_broadcast};
use super::version::Version;
use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;
use crate::history::History;
use crate::room::Room;

/// The namespaces that there are.
const NAMESPACES: [&[u8]; 2] = [MAIN, b"/custom"];

/// One session's namespaces, and the packet that is not whole yet.
#[derive(Debug)]
pub(crate) struct App {
    version: Version,
    connected: [bool; NAMESPACES.len()],
    /// Left by the client, and not connected to since.
    left: [bool; NAMESPACES.len()],
    /// The rooms that it is in, by what their names come to.
    places: Places<{ NAMESPACES.len() }>,
    /// The tokens by which it may be recovered, where broadcasts are kept.
    pids: Option<Box<[Token; NAMESPACES.len()]>>,
    partial: Option<Box<Partial>>,
    /// The greeting still to be sent to a client that has connected.
    greeting: Option<Vec<u8>>,
}

/// A packet whose attachments are still coming in.
#[derive(Debug)]
struct Partial {
    text: Vec<u8>,
    missing: u8,
    attachments: Vec<Vec<u8>>,
}

impl App {
    /// A session that is in this room of each namespace: see [`room_at`](super::rooms::room_at).
    pub(crate) fn new(version: Version, room: u64) -> App {
        let connected = [false; NAMESPACES.len()];
        let (left, places) = (connected, Places::new(room));
        App { version, connected, left, places, pids: None, partial: None, greeting: None }
    }

    /// Returns whether any namespace is connected.
    pub(crate) fn is_connected(&self) -> bool {
        self.connected.contains(&true)
    }

    /// Returns whether there is something to be said in a packet of its own: [`greet`](App::greet).
    pub(crate) fn has_greeting(&self) -> bool {
        self.greeting.is_some()
    }

    /// Sends the event that follows a connect.
    pub(crate) fn greet(&mut self, out: &mut impl PacketOutput) {
        if let Some(packet) = self.greeting.take() {
            out.text(&[&packet]);
        }
    }

    /// Joins the rooms of all namespaces that are connected.
    pub(crate) fn join(&self, out: &impl PacketOutput, on: &mut impl OnServerEvent) {
        for room in self.rooms(out) {
            on(ServerEvent::Joined { room });
        }
    }

    /// Leaves them.
    pub(crate) fn part(&self, out: &impl PacketOutput, on: &mut impl OnServerEvent) {
        for room in self.rooms(out) {
            on(ServerEvent::Left { room });
        }
    }

    fn rooms(&self, out: &impl PacketOutput) -> impl Iterator<Item = Room> {
        let connected = (0..NAMESPACES.len()).filter(|&at| self.connected[at]);
        connected.flat_map(|at| self.rooms_in(at, out))
    }

    /// The rooms of the session in one namespace.
    fn rooms_in(&self, at: usize, out: &impl PacketOutput) -> Vec<Room> {
        self.places.all(at).map(|room| out.room(NAMESPACES[at]).within(room)).collect()
    }

    /// Keeps the rooms of a namespace that the session has joined, for its client to come back to.
    fn remember(&self, at: usize, out: &impl PacketOutput) {
        if let (Some(pids), Some((history, now_ns))) = (&self.pids, out.history()) {
            recovery::keep(&history, &pids[at], self.places.kept(at), now_ns);
        }
    }

    /// Notes that the client counts as alive until then.
    pub(crate) fn touch(&self, out: &impl PacketOutput, alive_ns: u64) {
        if let (Some(pids), Some((history, _))) = (&self.pids, out.history()) {
            let mut sessions = history.sessions();
            for pid in &**pids {
                sessions.touch(pid, alive_ns);
            }
        }
    }

    /// Reports the rooms that the session leaves and joins.
    fn tell(&self, at: usize, moved: Move, out: &impl PacketOutput, on: &mut impl OnServerEvent) {
        if moved != Move::default() {
            self.remember(at, out);
        }
        let within = |room| out.room(NAMESPACES[at]).within(room);
        if let Some(room) = moved.left.map(within) {
            on(ServerEvent::Left { room });
        }
        if let Some(room) = moved.joined.map(within) {
            on(ServerEvent::Joined { room });
        }
    }

    /// Returns whether the message is an event whose answer is the message itself.
    #[inline]
    pub(crate) fn is_echo(&self, message: &[u8]) -> bool {
        // The whole test costs less than taking the packet apart, and most of a benchmark's messages pass it.
        message.starts_with(br#"42["echo","#)
            && self.connected[0]
            && self.partial.is_none()
            && self.greeting.is_none()
            && json::array(&message[2..], |_| {}).is_some()
    }

    /// The session begins. Before version 4, the main namespace needs no asking for.
    pub(crate) fn open(&mut self, out: &mut impl PacketOutput, on: &mut impl OnServerEvent) {
        if self.version == Version::V3 {
            self.connect(0, b"", out, on);
        }
    }

    /// Takes a packet of text, without the type that Engine.IO gives it.
    pub(crate) fn handle_text(
        &mut self,
        text: &[u8],
        out: &mut impl PacketOutput,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        // Attachments follow their packet without a break (socket.io-protocol): another packet between is an
        // error.
        if self.partial.is_some() {
            return Err(Failure::BadMessage);
        }
        let packet = Packet::parse(text)?;
        let Some(missing @ 1..) = packet.attachments else { return self.perform(text, &[], out, on) };
        let is_sound = json::array(packet.payload, |_| {}).is_some()
            // Judged now, since attachments that nothing refers to would be waited for in vain.
            && packet::are_placeholders_sound(packet.payload, missing);
        if !is_sound {
            return Err(Failure::BadMessage);
        }
        self.partial = Some(Box::new(Partial { text: text.to_vec(), missing, attachments: Vec::new() }));
        Ok(())
    }

    /// Takes an attachment of the packet before.
    pub(crate) fn handle_attachment(
        &mut self,
        bytes: &[u8],
        out: &mut impl PacketOutput,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        let mut partial = self.partial.take().ok_or(Failure::BadMessage)?;
        partial.attachments.push(bytes.to_vec());
        partial.missing -= 1;
        if partial.missing > 0 {
            self.partial = Some(partial);
            return Ok(());
        }
        self.perform(&partial.text, &partial.attachments, out, on)
    }

    fn perform(
        &mut self,
        text: &[u8],
        attachments: &[Vec<u8>],
        out: &mut impl PacketOutput,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        let packet = Packet::parse(text)?;
        // Before version 5 a query may stand behind the name.
        let name = packet.namespace.split(|&byte| byte == b'?').next().unwrap_or_default();
        let found = NAMESPACES.iter().position(|known| *known == name);
        let connected = found.filter(|&at| self.connected[at]);
        match (packet.kind, found, connected) {
            // A second one, to a namespace that is connected, ends the session below.
            (Kind::Connect, _, None) => {
                let is_auth = packet.payload.is_empty() || json::object(packet.payload, |_, _| {}).is_some();
                if !is_auth {
                    return Err(Failure::BadMessage);
                }
                match found {
                    Some(at) => self.connect(at, packet.payload, out, on),
                    None => self.refuse(packet.namespace, out),
                }
            }
            (Kind::Disconnect, _, Some(at)) if packet.payload.is_empty() => {
                (self.connected[at], self.left[at]) = (false, true);
                for room in self.rooms_in(at, out) {
                    on(ServerEvent::Left { room });
                }
            }
            // Nothing was asked to be acknowledged.
            (Kind::Ack, _, Some(_)) => json::array(packet.payload, |_| {}).ok_or(Failure::BadMessage)?,
            (Kind::Event, _, Some(at)) => {
                let bytes = text.len() as u32 + 1;
                let (name, behind) = packet::event(packet.payload)?;
                let arguments = &packet.payload[behind..];
                match name {
                    b"join" => match self.places.join(at, first_of(arguments)) {
                        Some(moved) => self.tell(at, moved, out, on),
                        // Without an answer, which would say that it is in.
                        None => return Ok(()),
                    },
                    b"leave" => {
                        let moved = self.places.leave(at, first_of(arguments));
                        self.tell(at, moved, out, on);
                    }
                    _ => {}
                }
                let room = match room_of_broadcast(name, arguments) {
                    None => self.places.first(at),
                    Some(room) if self.places.is_in(at, room) => room,
                    // To a room that the sender is not in: no client gets it, not even the sender.
                    Some(_) => return Ok(()),
                };
                let reply = Reply { namespace: NAMESPACES[at], room, attachments, bytes };
                reply.to_event(name, arguments, packet.id, out, on);
            }
            // It was sent before the client read that it had left, and is no mistake of the client's.
            (Kind::Event | Kind::Ack, Some(at), None) if self.left[at] => {}
            _ => return Err(Failure::BadMessage),
        }
        Ok(())
    }

    fn connect(&mut self, at: usize, auth: &[u8], out: &mut impl PacketOutput, on: &mut impl OnServerEvent) {
        (self.connected[at], self.left[at]) = (true, false);
        let namespace = NAMESPACES[at];
        let [name, comma] = in_packet(namespace);
        match self.version {
            // It knows no ids of sockets.
            Version::V3 => out.text(&[b"40", name, comma]),
            Version::V4 => {
                let sid = out.sid();
                match out.history() {
                    None => out.text(&[b"40", name, comma, br#"{"sid":""#, &sid, br#""}"#]),
                    Some((history, now_ns)) => {
                        // A client that comes back is told what it missed in the same step in which it
                        // joins, so that no broadcast falls between.
                        let (first, of) = (self.places.first(at), room(Version::V4, namespace));
                        let recovered =
                            Known::asked(auth).and_then(|known| known.recover(&history, of, first, now_ns));
                        let Recovered { pid, kept, missed } =
                            recovered.unwrap_or_else(|| Recovered::nothing(history.token(&sid)));
                        self.places.restore(at, &kept);
                        self.pids.get_or_insert_default()[at] = pid;
                        self.remember(at, out);
                        let ids: [&[u8]; 5] = [br#"{"sid":""#, &sid, br#"","pid":""#, &pid, br#""}"#];
                        out.text(&[&[b"40", name, comma], &ids[..]].concat());
                        for message in missed {
                            out.text(&[&message[0]]);
                            for attachment in &message[1..] {
                                out.attachment(attachment);
                            }
                        }
                    }
                }
            }
        }
        let auth = if auth.is_empty() { b"{}" } else { auth };
        self.greeting = Some([b"42", name, comma, br#"["auth","#, auth, b"]"].concat());
        for room in self.rooms_in(at, out) {
            on(ServerEvent::Joined { room });
        }
    }

    fn refuse(&self, namespace: &[u8], out: &mut impl PacketOutput) {
        let [name, comma] = in_packet(namespace);
        let reason: &[u8] = match self.version {
            Version::V3 => br#""Invalid namespace""#,
            Version::V4 => br#"{"message":"Invalid namespace"}"#,
        };
        out.text(&[b"44", name, comma, reason]);
    }
}

/// Sends an event without a sender to everyone in a room, which a URL names, in every namespace.
pub(crate) fn publish(
    in_url: &str,
    payload: &[u8],
    history: Option<(Arc<History>, u64)>,
    on: &mut impl OnServerEvent,
) {
    let arguments = [b",", payload, b"]"].concat();
    for namespace in NAMESPACES {
        let reply = Reply { namespace, room: hash(in_url.as_bytes()), attachments: &[], bytes: 0 };
        reply.broadcast(&arguments, history.clone(), &mut |event| {
            on(match event {
                ServerEvent::Broadcast { room, frame } => ServerEvent::Rebroadcast { room, frame },
                other => other,
            });
        });
    }
}
