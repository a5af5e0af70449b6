//! What the client makes of packets, whatever carries them.
//!
//! ```text
//! opening --0, the handshake: connects--> connecting --40--> usable
//! connecting --44--> refused; usable --41--> disconnected
//! version 3: opening --0--> connecting --40: usable, or connects to its namespace--> connecting --40/ns--> usable
//! any --1, the session is over--> over
//! ```

use super::handshake::Handshake;
use super::heartbeat::Heartbeat;
use super::packet::{self, Kind as PacketKind, MAIN, Packet};
use super::version::Version;
use crate::config::Config;
use crate::dialects::json::{self, Plain};
use crate::dialects::json_words;
use crate::event::{Event, Kind, Rejection, Role};
use crate::failure::Failure;
use crate::json::extend_decimal;
use crate::stamp::{self, Found, Stamp};
use crate::ws::End;
use crate::ws::close::NO_CODE;

/// One session.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    pub(crate) phase: Phase,
    pub(crate) version: Version,
    /// Attachments that are still to come.
    attachments: u8,
    /// What the next attachment is to this client, if it is anything.
    role: Option<Role>,
    /// From the handshake on; in a box, to be small.
    heartbeat: Option<Box<Heartbeat>>,
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
    /// Takes one packet of text, its type included; `bytes` are those of the message that carried it. What is to be
    /// answered goes to `say`, packet by packet.
    #[inline]
    pub(crate) fn handle_text(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        (text, bytes): (&[u8], u32),
        say: &mut impl FnMut(&[u8]),
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        if self.phase == Phase::Usable
            && self.attachments == 0
            && let Some(role) = text.strip_prefix(&cfg.parts().usual[..]).and_then(usual_role)
            && !cfg.options().of_dialect.binary
        {
            on(json::judge::<Plain>(|_| Some(role), text, bytes, cfg.tail()));
            return Ok(());
        }
        self.handle_unusual(cfg, now_ns, (text, bytes), say, on)
    }

    fn handle_unusual(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        (text, bytes): (&[u8], u32),
        say: &mut impl FnMut(&[u8]),
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let (&kind, data) = text.split_first().ok_or(Failure::BadMessage)?;
        match (kind, self.phase) {
            (_, Phase::Over) | (b'6', _) => {}
            (b'0', Phase::Opening) => {
                let version = Version::of(cfg.options()).expect("checked by parts()");
                let Handshake { pace, .. } = Handshake::parse(data)?;
                self.heartbeat = Some(Box::new(Heartbeat::new(version, End::Client, pace, now_ns)));
                (self.version, self.phase) = (version, Phase::Connecting);
                if version == Version::V4 {
                    cfg.parts().opening.iter().for_each(|packet| say(packet));
                }
            }
            (b'1', _) => {
                self.phase = Phase::Over;
                on(Event::Closed { code: NO_CODE });
            }
            (_, Phase::Opening) => return Err(Failure::BadMessage),
            (b'2', _) => {
                self.heartbeat.as_mut().map_or(Ok(()), |heartbeat| heartbeat.handle_ping(now_ns))?;
                say(&[b"3", data].concat());
            }
            (b'3', _) => self.heartbeat.as_mut().map_or(Ok(()), |heartbeat| heartbeat.handle_pong(now_ns))?,
            (b'4', _) => return self.handle_packet(cfg, Packet::parse(data)?, (text, bytes), say, on),
            _ => return Err(Failure::BadMessage),
        }
        Ok(())
    }

    fn handle_packet(
        &mut self,
        cfg: &Config,
        packet: Packet<'_>,
        message: (&[u8], u32),
        say: &mut impl FnMut(&[u8]),
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        if self.attachments > 0 {
            return Err(Failure::BadMessage);
        }
        let own = cfg.options().of_dialect.namespace.as_deref().map_or(MAIN, str::as_bytes);
        let is_own = packet.namespace == own;
        match (packet.kind, self.phase) {
            // Version 4 tells its name for the client; version 3 tells nothing.
            (PacketKind::Connect, _) if !packet.payload.is_empty() && !is_object(packet.payload) => {
                return Err(Failure::BadMessage);
            }
            (PacketKind::Connect, Phase::Connecting) if is_own => {
                self.phase = Phase::Usable;
                on(Event::Usable);
            }
            (PacketKind::Connect, Phase::Connecting)
                if packet.namespace == MAIN && self.version == Version::V3 =>
            {
                cfg.parts().opening.iter().for_each(|packet| say(packet));
            }
            (PacketKind::ConnectError, Phase::Connecting) => on(Event::Rejected(Rejection::Namespace)),
            (PacketKind::Disconnect, _) if is_own => on(Event::Rejected(Rejection::Disconnected)),
            (PacketKind::Event | PacketKind::Ack, _) => {
                let role = role_of(&packet)?.filter(|_| is_own);
                if let (PacketKind::Event, Some(id)) = (packet.kind, packet.id) {
                    say(&acknowledgement(packet.namespace, id));
                }
                match packet.attachments {
                    Some(count @ 1..) => (self.attachments, self.role) = (count, role),
                    _ => handle_message(role, is_own, message, cfg, on),
                }
            }
            _ => return Err(Failure::BadMessage),
        }
        Ok(())
    }

    /// When to be woken.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.heartbeat.as_ref().map(|heartbeat| heartbeat.poll_timeout())
    }

    /// Whether a ping is to be sent now.
    pub(crate) fn handle_timeout(&mut self, now_ns: u64) -> Result<bool, Failure> {
        let beats = self.heartbeat.as_mut().map_or(Some(false), |heartbeat| heartbeat.handle_timeout(now_ns));
        beats.ok_or(Failure::HeartbeatTimeout)
    }

    /// Takes one attachment; `bytes` are those of the message that carried it.
    pub(crate) fn handle_attachment(
        &mut self,
        cfg: &Config,
        (attachment, bytes): (&[u8], u32),
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        self.attachments = self.attachments.checked_sub(1).ok_or(Failure::BadMessage)?;
        let Some(role) = self.role.take() else { return Ok(()) };
        on(match stamp::read_binary(attachment) {
            Found::At { stamp, .. } if cfg.is_tail(&attachment[stamp::BINARY_BYTES..]) => {
                Event::Message { role, stamp, bytes }
            }
            Found::None => Event::Foreign { bytes },
            _ => Event::Corrupt { bytes },
        });
        Ok(())
    }
}

fn is_object(payload: &[u8]) -> bool {
    crate::json::object(payload, |_, _| {}).is_some()
}

/// What an event is that stands where it was sent.
#[inline]
fn usual_role(payload: &[u8]) -> Option<Role> {
    let name = payload.strip_prefix(b"[\"")?;
    if name.starts_with(b"broadcast\"") {
        Some(Role::Copy)
    } else if name.starts_with(b"broadcastResult\"") {
        Some(Role::Ack)
    } else {
        name.starts_with(b"echo\"").then_some(Role::Echo)
    }
}

/// What a packet is to its receiver: by the event's name, or by what is acknowledged.
fn role_of(packet: &Packet<'_>) -> Result<Option<Role>, Failure> {
    Ok(match (packet.kind, packet.id) {
        (PacketKind::Event, _) => match packet::event(packet.payload)?.0 {
            b"echo" => Some(Role::Echo),
            b"broadcast" => Some(Role::Copy),
            b"broadcastResult" => Some(Role::Ack),
            _ => None,
        },
        (PacketKind::Ack, Some(id)) => Some(match acknowledged(id) {
            Kind::Echo => Role::Echo,
            Kind::Broadcast => Role::Ack,
        }),
        _ => None,
    })
}

/// What a server gets that asks for an acknowledgement: nothing but that.
fn acknowledgement(namespace: &[u8], id: &[u8]) -> Vec<u8> {
    let (to, end): (&[u8], &[u8]) = if namespace == MAIN { (b"", b"") } else { (namespace, b",") };
    [b"43", to, end, id, b"[]"].concat()
}

/// A message without attachments. What the server emits of its own accord is none of our business, unless it has
/// taken a message of ours for it.
fn handle_message(
    role: Option<Role>,
    is_own: bool,
    (text, bytes): (&[u8], u32),
    cfg: &Config,
    on: &mut impl FnMut(Event),
) {
    let event = match cfg.options().of_dialect.binary {
        true => Event::Foreign { bytes },
        false => json::judge::<Plain>(|_| role, text, bytes, cfg.tail()),
    };
    match event {
        Event::Foreign { .. } if role.is_none() => {}
        _ if !is_own => on(Event::Beside { bytes }),
        event => on(event),
    }
}

/// Appends the text of a stamped message.
#[inline]
pub(crate) fn write_text(out: &mut Vec<u8>, cfg: &Config, unix_ns: u64, kind: Kind, stamp: Stamp) {
    let parts = cfg.parts();
    let (to, name) = parts.head(kind).split_at(parts.usual.len());
    out.extend_from_slice(to);
    if cfg.options().of_dialect.acks {
        extend_decimal(out, ack_id(stamp.seq, kind));
    }
    out.extend_from_slice(name);
    if cfg.options().of_dialect.binary {
        return;
    }
    extend_decimal(out, unix_ns);
    out.extend_from_slice(json_words::BEFORE_STAMP);
    out.extend_from_slice(&stamp.to_text());
    out.extend_from_slice(&parts.tail);
}

/// Appends the attachment of a stamped message.
pub(crate) fn write_attachment(out: &mut Vec<u8>, cfg: &Config, stamp: Stamp) {
    out.extend_from_slice(&stamp.to_binary());
    out.extend_from_slice(cfg.tail());
}

/// The ack id of a message of ours: its number, and what it is.
fn ack_id(seq: u32, kind: Kind) -> u64 {
    u64::from(seq) << 1 | u64::from(kind == Kind::Broadcast)
}

/// What was acknowledged, by the last bit of the id.
fn acknowledged(id: &[u8]) -> Kind {
    match id.last() {
        Some(digit) if digit % 2 == 1 => Kind::Broadcast,
        _ => Kind::Echo,
    }
}
