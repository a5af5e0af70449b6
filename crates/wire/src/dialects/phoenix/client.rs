//! The client's side.
//!
//! ```text
//! upgraded: joins; joining --ok--> usable; joining --error--> rejected
//! any --30 s--> sends a heartbeat; --30 s more without its answer--> failed
//! any --phx_error, phx_close--> rejected
//! ```

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::binary::{Push, Received};
use super::parts::{HEARTBEAT_REF, JOIN_REF, TOPIC};
use crate::config::Config;
use crate::dialects::contract::{ClientDialect, Link};
use crate::dialects::json::{Plain, is_padding_sound};
use crate::dialects::json_words::BEFORE_STAMP;
use crate::dialects::parts::Parts;
use crate::event::{Event, Kind, Rejection, Role};
use crate::failure::Failure;
use crate::io::Io;
use crate::json::{array, extend_decimal, object, string, unescape};
use crate::stamp::{self, Found, Stamp};
use crate::ws::receiver::Message;

/// As often as phoenix.js. Phoenix gives up a client that is silent for twice that long.
const HEARTBEAT_INTERVAL_NS: u64 = 30_000_000_000;

/// One client's channel.
#[derive(Debug, Default)]
pub(crate) struct Client {
    next_heartbeat_ns: u64,
    /// Messages sent, the join being the first.
    number: u32,
    /// A server's replies do not say to what: as a rule, to what was sent last.
    sent_broadcast: bool,
    is_usable: bool,
    awaits_heartbeat: bool,
}

impl ClientDialect for Client {
    fn handle_upgraded<I: Io>(&mut self, link: &mut Link<'_, I>, _on: &mut impl FnMut(Event)) {
        self.next_heartbeat_ns = link.now_ns + HEARTBEAT_INTERVAL_NS;
        self.number = 1;
        let [join, _] = opening(link.cfg.parts());
        link.sender.message(link.io, true, |out| out.extend_from_slice(join));
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        message: &Message<'_>,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let (payload, bytes) = (message.bytes()?, message.wire_bytes);
        if !message.text {
            on(self.judge_binary(link, payload, bytes));
            return Ok(());
        }
        let parts = link.cfg.parts();
        let is_usual = !parts.usual.is_empty() && payload.starts_with(&parts.usual);
        let event = match stamp::find(payload) {
            Found::At { .. } if !is_usual && is_refusal(payload) => Event::Rejected(Rejection::Message),
            Found::At { stamp, offset } => {
                let role = if is_usual { Role::Copy } else { self.unusual_role(payload) };
                match is_padding_sound::<Plain>(payload, offset + stamp::TEXT_BYTES, &parts.returned) {
                    true => Event::Message { role, stamp, bytes },
                    false => Event::Corrupt { bytes },
                }
            }
            Found::Corrupt => Event::Corrupt { bytes },
            Found::None => match Control::parse(payload) {
                Some(control) => {
                    self.handle_control(link.cfg, &control, bytes, on);
                    return Ok(());
                }
                None => Event::Foreign { bytes },
            },
        };
        on(event);
        Ok(())
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, I>, unix_ns: u64, kind: Kind, stamp: Stamp) {
        self.number = self.number.wrapping_add(1);
        self.sent_broadcast = kind == Kind::Broadcast;
        let (parts, number) = (link.cfg.parts(), self.number);
        if link.cfg.options().of_dialect.binary {
            return link.sender.message(link.io, false, |out| {
                let number = number.to_string();
                let strings = [JOIN_REF.as_bytes(), number.as_bytes(), &parts.start, parts.head(kind)];
                Push::write_head(out, strings);
                out.extend_from_slice(&stamp.to_binary());
                out.extend_from_slice(&parts.tail);
            });
        }
        link.sender.message(link.io, true, |out| {
            out.extend_from_slice(&parts.start);
            extend_decimal(out, u64::from(number));
            out.extend_from_slice(parts.head(kind));
            extend_decimal(out, unix_ns);
            out.extend_from_slice(BEFORE_STAMP);
            out.extend_from_slice(&stamp.to_text());
            out.extend_from_slice(&parts.tail);
        });
    }

    fn is_usable(&self) -> bool {
        self.is_usable
    }

    fn poll_timeout(&self) -> Option<u64> {
        Some(self.next_heartbeat_ns)
    }

    fn handle_timeout<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        _on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        if link.now_ns < self.next_heartbeat_ns {
            return Ok(());
        }
        if std::mem::replace(&mut self.awaits_heartbeat, true) {
            return Err(Failure::HeartbeatTimeout);
        }
        self.next_heartbeat_ns = link.now_ns + HEARTBEAT_INTERVAL_NS;
        let [_, heartbeat] = opening(link.cfg.parts());
        link.sender.message(link.io, true, |out| out.extend_from_slice(heartbeat));
        Ok(())
    }
}

/// The join and the heartbeat.
fn opening(parts: &Parts) -> [&[u8]; 2] {
    let [join, heartbeat] = &parts.opening[..] else { unreachable!("parts makes both") };
    [join, heartbeat]
}

impl Client {
    /// The role of a message that is not the usual copy.
    fn unusual_role(&self, payload: &[u8]) -> Role {
        static REPLY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""phx_reply""#));
        if REPLY.find(payload).is_some() { self.replied_role() } else { Role::Copy }
    }

    fn replied_role(&self) -> Role {
        if self.sent_broadcast { Role::Ack } else { Role::Echo }
    }

    fn judge_binary<I: Io>(&self, link: &Link<'_, I>, message: &[u8], bytes: u32) -> Event {
        let (role, data) = match Received::parse(message) {
            Some(Received::Pushed { data }) => (Role::Copy, data),
            Some(Received::Replied { status: b"ok", data }) => (self.replied_role(), data),
            Some(Received::Replied { .. }) => return Event::Rejected(Rejection::Message),
            None => return Event::Foreign { bytes },
        };
        match stamp::read_binary(data) {
            Found::At { stamp, .. } if link.cfg.is_tail(&data[stamp::BINARY_BYTES..]) => {
                Event::Message { role, stamp, bytes }
            }
            Found::None => Event::Foreign { bytes },
            _ => Event::Corrupt { bytes },
        }
    }

    #[cold]
    fn handle_control(
        &mut self,
        cfg: &Config,
        control: &Control<'_>,
        bytes: u32,
        on: &mut impl FnMut(Event),
    ) {
        let of_channel = control.number == JOIN_REF.as_bytes() || control.event != b"phx_reply";
        match (control.event, control.number) {
            (b"phx_reply" | b"phx_error" | b"phx_close", _) if of_channel && !control.is_of(cfg) => {
                on(Event::Foreign { bytes });
            }
            (b"phx_reply", number) if number == JOIN_REF.as_bytes() => match control.status {
                b"ok" if !self.is_usable => {
                    self.is_usable = true;
                    on(Event::Usable);
                }
                b"ok" => {}
                _ => on(Event::Rejected(Rejection::Subscription)),
            },
            (b"phx_reply", number) if number == HEARTBEAT_REF.as_bytes() => self.awaits_heartbeat = false,
            (b"phx_reply", _) if control.status == b"error" => on(Event::Rejected(Rejection::Message)),
            (b"phx_error", _) => on(Event::Rejected(Rejection::Crashed)),
            (b"phx_close", _) => on(Event::Rejected(Rejection::ChannelClosed)),
            // The framework's own news of who is there.
            (b"presence_state" | b"presence_diff", _) => {}
            _ => on(Event::Foreign { bytes }),
        }
    }
}

/// A message without a stamp; strings without their marks.
#[derive(Debug, Default)]
struct Control<'a> {
    topic: &'a [u8],
    number: &'a [u8],
    event: &'a [u8],
    status: &'a [u8],
}

impl<'a> Control<'a> {
    fn parse(message: &'a [u8]) -> Option<Control<'a>> {
        let (mut control, mut payload) = (Control::default(), &b"null"[..]);
        let text = |value| string(value).unwrap_or_default();
        if message.first() == Some(&b'[') {
            let mut at = 0;
            array(message, |item| {
                match at {
                    1 => control.number = text(item),
                    2 => control.topic = text(item),
                    3 => control.event = text(item),
                    4 => payload = item,
                    _ => {}
                }
                at += 1;
            })?;
        } else {
            object(message, |key, value| match key {
                b"ref" => control.number = text(value),
                b"topic" => control.topic = text(value),
                b"event" => control.event = text(value),
                b"payload" => payload = value,
                _ => {}
            })?;
        }
        // Not every payload is an object, and only a reply's has a status.
        let _ = object(payload, |key, value| {
            if key == b"status" {
                control.status = text(value);
            }
        });
        Some(control)
    }

    /// Whether it is of the topic that the client has joined.
    fn is_of(&self, cfg: &Config) -> bool {
        let own = cfg.options().of_dialect.topic.as_deref().unwrap_or(TOPIC);
        unescape(self.topic).is_some_and(|topic| topic == own.as_bytes())
    }
}

/// Whether a message of ours comes back as an error. Only what has the word is looked at closely.
fn is_refusal(payload: &[u8]) -> bool {
    static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""error""#));
    let is_error = |control: Control<'_>| control.event == b"phx_reply" && control.status == b"error";
    ERROR.find(payload).is_some() && Control::parse(payload).is_some_and(is_error)
}
