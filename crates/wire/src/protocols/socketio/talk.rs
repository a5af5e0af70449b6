//! The client's handling of packets, whatever carries them.
//!
//! ```text
//! opening --0, the handshake: connects--> connecting --40--> usable
//! connecting --44--> refused; usable --41--> disconnected
//! version 3: opening --0--> connecting --40: usable, or connects to its namespace--> connecting --40/ns--> usable
//! any --1, the session is over--> over
//! ```

use app::Kind;
use app::conditions::Opened;
use app::template::Filling;
use codec::ws::End;
use codec::ws::close::NO_CODE;
use codec::{Found, json, stamp};

use super::handshake::Handshake;
use super::heartbeat::Heartbeat;
use super::packet::{self, Kind as PacketKind, MAIN, Packet};
use super::parts::{Namespace, Parts};
use super::version::Version;
use crate::carried::{Arrival, MessageHint, MessageTemplate, ProtocolEvent, ProtocolHandler, Spelling};
use crate::event::{Event, Rejection};
use crate::failure::Failure;
use crate::pending::{self, Pending};
use crate::resumption::Resumption;

/// One session.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    pub(crate) phase: Phase,
    pub(crate) version: Version,
    /// Attachments that are still to come.
    attachments: u8,
    /// The namespaces that are connected to: a bit each.
    connected: u8,
    /// The resumption of this session elsewhere, or taken along from there; absent where the server recovers
    /// nothing.
    resumption: Option<Box<Resumption>>,
    /// State from the handshake on; in a box, for clients without it to be small.
    held: Option<Box<Held>>,
}

/// Names of sessions and offsets are shorter: what is longer is no such thing, and not kept.
const TOKEN_BYTES_MAX: usize = 128;

#[derive(Debug)]
struct Held {
    heartbeat: Heartbeat,
    /// The owner of the next attachment, if it matters.
    awaited: Option<Awaited>,
}

/// Owners of an attachment.
#[derive(Debug)]
enum Awaited {
    Named(Vec<u8>),
    Answer(Kind),
}

/// A packet of text, its type included, and the bytes of the message that carried it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextPacket<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) bytes: u32,
}

/// Messages to send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Said<'a> {
    /// The packet that connects to a namespace, which may be each client's own.
    Connect(&'a Namespace),
    /// The packet that connects to a namespace and resumes a session.
    Resume(&'a Resumption),
    /// Another packet, given by its bytes.
    Packet(&'a [u8]),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Phase {
    #[default]
    Opening,
    Connecting,
    Usable,
    Over,
}

impl Talk {
    /// Takes one packet of text. What is to be
    /// answered goes to `say`, packet by packet.
    #[inline(always)]
    pub(crate) fn handle_text(
        &mut self,
        parts: &Parts,
        pending: &mut Option<&mut Pending>,
        now_ns: u64,
        TextPacket { text, bytes }: TextPacket<'_>,
        say: &mut impl FnMut(Said<'_>),
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        // The way of nearly all packets: by their beginning and their id, without a parse.
        if self.phase == Phase::Usable
            && self.attachments == 0
            && let Some(name) = text.strip_prefix(&parts.usual[..]).and_then(name_in)
        {
            let found = stamp::find_before(text, parts.behind_id);
            if found != Found::None {
                if let Some(resumption) = &mut self.resumption {
                    note_offset(resumption, text);
                }
                on.handle(ProtocolEvent::text(text, bytes, found, MessageHint::NamedAmongOthers(name), open));
                return Ok(());
            }
        }
        self.handle_unusual(parts, pending, now_ns, TextPacket { text, bytes }, say, on)
    }

    fn handle_unusual(
        &mut self,
        parts: &Parts,
        pending: &mut Option<&mut Pending>,
        now_ns: u64,
        TextPacket { text, bytes }: TextPacket<'_>,
        say: &mut impl FnMut(Said<'_>),
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let (&kind, data) = text.split_first().ok_or(Failure::BadMessage)?;
        match (kind, self.phase) {
            (_, Phase::Over) | (b'6', _) => {}
            (b'0', Phase::Opening) => {
                let version = parts.version;
                let Handshake { pace, .. } = Handshake::parse(data)?;
                let heartbeat = Heartbeat::new(version, End::Client, pace, now_ns);
                self.held = Some(Box::new(Held { heartbeat, awaited: None }));
                (self.version, self.phase) = (version, Phase::Connecting);
                if version == Version::V4 {
                    match self.resumption.as_deref().filter(|known| !known.offset.is_empty()) {
                        Some(known) => say(Said::Resume(known)),
                        None => {
                            for namespace in &parts.namespaces {
                                say(Said::Connect(namespace));
                            }
                        }
                    }
                }
            }
            (b'1', _) => {
                self.phase = Phase::Over;
                on.handle(ProtocolEvent::Event(Event::Closed { code: NO_CODE }));
            }
            (_, Phase::Opening) => return Err(Failure::BadMessage),
            (b'2', _) => {
                // `held` is there from the handshake on, before which the arm above has refused everything.
                self.held.as_mut().map_or(Ok(()), |held| held.heartbeat.handle_ping(now_ns))?;
                say(Said::Packet(&[b"3", data].concat()));
            }
            (b'3', _) => self.held.as_mut().map_or(Ok(()), |held| held.heartbeat.handle_pong(now_ns))?,
            (b'4', _) => {
                return self.handle_packet(
                    parts,
                    pending,
                    Packet::parse(data)?,
                    TextPacket { text, bytes },
                    say,
                    on,
                );
            }
            _ => return Err(Failure::BadMessage),
        }
        Ok(())
    }

    fn handle_packet(
        &mut self,
        parts: &Parts,
        pending: &mut Option<&mut Pending>,
        packet: Packet<'_>,
        TextPacket { text, bytes }: TextPacket<'_>,
        say: &mut impl FnMut(Said<'_>),
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        // The attachments of a packet follow it without another between them (socket.io-protocol).
        if self.attachments > 0 {
            return Err(Failure::BadMessage);
        }
        let place = parts.place_of(packet.namespace);
        let is_own = place.is_some();
        let mut reject = |rejection| on.handle(ProtocolEvent::Event(Event::Rejected(rejection)));
        match (packet.kind, self.phase) {
            // Version 4 tells its name for the client; version 3 tells nothing.
            (PacketKind::Connect, _) if !packet.payload.is_empty() && !is_object(packet.payload) => {
                return Err(Failure::BadMessage);
            }
            (PacketKind::Connect, Phase::Connecting) if is_own => {
                self.connected |= place.map_or(0, |place| 1 << place);
                if self.connected.count_ones() as usize == parts.namespaces.len() {
                    self.phase = Phase::Usable;
                    // A session that goes on elsewhere is one of a single namespace.
                    if parts.namespaces.len() == 1 {
                        self.handle_session(packet.payload);
                    }
                    on.handle(ProtocolEvent::Ready);
                }
            }
            (PacketKind::Connect, Phase::Connecting)
                if packet.namespace == MAIN && self.version == Version::V3 =>
            {
                // It connects to `/` without being asked to.
                say(Said::Connect(&parts.namespaces[0]));
            }
            (PacketKind::ConnectError, Phase::Connecting) => reject(Rejection::Namespace),
            (PacketKind::Disconnect, _) if is_own => reject(Rejection::Disconnected),
            (PacketKind::Event | PacketKind::Ack, _) => {
                let hint = hint(&packet)?;
                if let (PacketKind::Event, true, Some(resumption)) =
                    (packet.kind, is_own, &mut self.resumption)
                {
                    note_offset(resumption, packet.payload);
                }
                if let (PacketKind::Event, Some(id)) = (packet.kind, packet.id) {
                    say(Said::Packet(&acknowledgement(packet.namespace, &packet::ack_id(id))));
                }
                self.attachments = packet.attachments.unwrap_or(0);
                let found = found_in(pending, &packet, text);
                // Where the packet itself does not tell which message it is, the first attachment may.
                if self.attachments > 0 && found == Found::None {
                    if let Some(held) = &mut self.held {
                        held.awaited = Awaited::of(hint).filter(|_| is_own);
                    }
                } else if is_own {
                    on.handle(ProtocolEvent::text(text, bytes, found, hint, open));
                } else if found != Found::None {
                    // What other namespaces say is ignored, unless it is a message of ours.
                    on.handle(ProtocolEvent::Event(Event::Beside));
                }
            }
            _ => return Err(Failure::BadMessage),
        }
        Ok(())
    }

    /// Goes on with a session. Called before any packet is sent.
    pub(crate) fn resume(&mut self, resumption: &Resumption) {
        self.resumption = Some(Box::new(resumption.clone()));
    }

    /// The resumption of this session.
    pub(crate) fn resumption(&self) -> Option<&Resumption> {
        self.resumption.as_deref()
    }

    /// The namespace is connected to: a server that recovers sessions names this one, which may be the one
    /// before.
    fn handle_session(&mut self, payload: &[u8]) {
        let mut session = None;
        let _ = json::object(payload, |key, value| {
            session = if key == b"pid" { json::string(value) } else { session };
        });
        // It goes back as it came, between quotes: what would have to be unescaped is no token of
        // socket.io's.
        let plain = |pid: &&[u8]| pid.len() <= TOKEN_BYTES_MAX && !pid.contains(&b'\\');
        self.resumption = session.filter(plain).map(|session| {
            let offset = self.resumption.take().map(|known| known.offset).unwrap_or_default();
            Box::new(Resumption { session: session.to_vec(), offset, ..Resumption::default() })
        });
    }

    /// When to be woken.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.held.as_ref().map(|held| held.heartbeat.poll_timeout())
    }

    /// Returns whether a ping is to be sent now.
    pub(crate) fn handle_timeout(&mut self, now_ns: u64) -> Result<bool, Failure> {
        let beats = self.held.as_mut().map_or(Some(false), |held| held.heartbeat.handle_timeout(now_ns));
        beats.ok_or(Failure::HeartbeatTimeout)
    }

    /// Takes one attachment; `bytes` is the size of the message that carried it.
    pub(crate) fn handle_attachment(
        &mut self,
        attachment: &[u8],
        bytes: u32,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        self.attachments = self.attachments.checked_sub(1).ok_or(Failure::BadMessage)?;
        let awaited = self.held.as_mut().and_then(|held| held.awaited.take());
        let hint = match &awaited {
            None => return Ok(()),
            Some(Awaited::Named(name)) => MessageHint::NamedAmongOthers(name),
            Some(Awaited::Answer(kind)) => MessageHint::Answer(*kind),
        };
        let found = Some(stamp::read_binary(attachment));
        let (text, spelling) = (attachment, Spelling::Bytes);
        on.handle(ProtocolEvent::Arrival(Arrival {
            text,
            spelling,
            found,
            hint,
            bytes,
            open: Opened::whole,
        }));
        Ok(())
    }
}

/// Notes the last argument of an event as how far the client has come, if it is a string, as socket.io-client
/// does.
#[inline]
fn note_offset(resumption: &mut Resumption, event: &[u8]) {
    let Some(event) = event.strip_suffix(b"\"]") else { return };
    // No further back than an offset can be long: a payload may be a string of a megabyte.
    let latest = &event[event.len().saturating_sub(TOKEN_BYTES_MAX + 2)..];
    let Some(at) = memchr::memrchr(b'"', latest) else { return };
    // The event's name is no argument.
    if latest[..at].ends_with(b",") && !latest[at..].contains(&b'\\') {
        resumption.offset.clear();
        resumption.offset.extend_from_slice(&latest[at + 1..]);
    }
}

/// Finds the message that a packet is: by the id in it, or by the number that an acknowledgement has.
fn found_in(pending: &mut Option<&mut Pending>, packet: &Packet<'_>, text: &[u8]) -> Found {
    let number = packet.id.filter(|_| packet.kind == PacketKind::Ack);
    let numbered = number.and_then(|number| pending::take(pending, number));
    stamp::find(text).or(numbered.map(|(_, stamp)| stamp))
}

/// The number of messages that are not measured: even, within 32 bits, and one that a measured one has only
/// after a billion.
const UNMEASURED: u64 = (1 << 31) - 2;

/// The number of a message that has one; it tells measured messages apart.
#[inline]
pub(crate) fn number(
    pending: &mut Option<&mut Pending>,
    message_template: &MessageTemplate,
    filling: &Filling<'_>,
) -> u64 {
    let Some(kind) = message_template.kind.filter(|_| message_template.is_numbered) else {
        return UNMEASURED;
    };
    let &stamp = filling.mark.stamp;
    // The last bit is the kind: an acknowledgement has nothing but the number to tell it by.
    let number = u64::from(stamp.seq) << 1 | u64::from(kind == Kind::Broadcast);
    pending::push(pending, number, message_template.kind, stamp);
    number
}

impl Awaited {
    fn of(hint: MessageHint<'_>) -> Option<Awaited> {
        match hint {
            MessageHint::NamedAmongOthers(name) => Some(Awaited::Named(name.to_vec())),
            MessageHint::Answer(kind) => Some(Awaited::Answer(kind)),
            _ => None,
        }
    }
}

fn is_object(payload: &[u8]) -> bool {
    codec::json::object(payload, |_, _| {}).is_some()
}

/// The name of an event that stands where it was sent.
#[inline]
fn name_in(payload: &[u8]) -> Option<&[u8]> {
    let name = payload.strip_prefix(b"[\"")?;
    name.iter().position(|&byte| byte == b'"').map(|end| &name[..end])
}

/// The hint of a packet at its meaning: an event by its name, an acknowledgement by what is acknowledged.
fn hint<'a>(packet: &Packet<'a>) -> Result<MessageHint<'a>, Failure> {
    Ok(match (packet.kind, packet.id) {
        (PacketKind::Event, _) => MessageHint::NamedAmongOthers(packet::event(packet.payload)?.0),
        (PacketKind::Ack, Some(id)) => MessageHint::Answer(acknowledged(id)),
        _ => MessageHint::NamedAmongOthers(b""),
    })
}

/// The event, and its arguments as an array.
fn open(text: &[u8]) -> Option<Opened<'_>> {
    let packet = Packet::parse(text.strip_prefix(b"4")?).ok()?;
    if packet.kind == PacketKind::Ack {
        return Opened::whole(packet.payload);
    }
    let (event, end) = packet::event(packet.payload).ok()?;
    let arguments = packet.payload[end..].strip_prefix(b",").unwrap_or(&packet.payload[end..]);
    Some(Opened { event: event.into(), body: [b"[", arguments].concat().into() })
}

/// The acknowledgement for a server that asks for one.
fn acknowledgement(namespace: &[u8], id: &[u8]) -> Vec<u8> {
    let (to, end): (&[u8], &[u8]) = if namespace == MAIN { (b"", b"") } else { (namespace, b",") };
    [b"43", to, end, id, b"[]"].concat()
}

/// The kind of message that was acknowledged, by the last bit of the id.
fn acknowledged(id: &[u8]) -> Kind {
    match id.last() {
        // The codes of the digits are as odd and even as the digits.
        Some(digit) if digit % 2 == 1 => Kind::Broadcast,
        _ => Kind::Echo,
    }
}
