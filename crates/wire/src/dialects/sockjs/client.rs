//! The client's side over a WebSocket, and what a frame means on any transport.
//!
//! ```text
//! waiting --o--> open --c--> over
//! raw: there are no frames
//! ```

use super::frames::Strings;
use super::transport::Transport;
use crate::config::Config;
use crate::dialects::contract::{ClientDialect, Link};
use crate::dialects::json;
use crate::event::{Event, Kind};
use crate::failure::Failure;
use crate::io::Io;
use crate::json::extend_decimal;
use crate::stamp::{self, Stamp};
use crate::ws::receiver::Message;

/// The code for a session that the server has lost, which sockjs-client uses too.
const LOST: u16 = 1006;

/// How far a session has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Phase {
    #[default]
    Waiting,
    Open,
    Over,
}

/// One connection's side.
#[derive(Debug)]
pub(crate) enum Client {
    Framed(Phase),
    Raw(json::Client),
}

impl Default for Client {
    fn default() -> Client {
        Client::Framed(Phase::Waiting)
    }
}

impl ClientDialect for Client {
    fn handle_upgraded<I: Io>(&mut self, link: &mut Link<'_, I>, on: &mut impl FnMut(Event)) {
        if Transport::of(link.cfg.options()) == Ok(Transport::RawWebSocket) {
            let mut raw = json::Client;
            raw.handle_upgraded(link, on);
            *self = Client::Raw(raw);
        }
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        message: &Message<'_>,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        match self {
            Client::Raw(raw) => raw.handle_message(link, message, on),
            Client::Framed(phase) => {
                let frame = message.bytes()?;
                if !is_one_of_ours(frame, link.cfg) {
                    return handle_frame(phase, frame, link.cfg, on);
                }
                if *phase == Phase::Open {
                    let string = &frame[ONE_BEFORE.len()..frame.len() - ONE_AFTER.len()];
                    on(json::classify::<json::Escaped>(string, message.wire_bytes, link.cfg.tail()));
                }
                Ok(())
            }
        }
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, I>, unix_ns: u64, kind: Kind, stamp: Stamp) {
        match self {
            Client::Raw(raw) => raw.send(link, unix_ns, kind, stamp),
            Client::Framed(_) => {
                let cfg = link.cfg;
                link.sender.message(link.io, true, |out| {
                    out.push(b'[');
                    write_string(out, cfg, unix_ns, kind, stamp);
                    out.push(b']');
                });
            }
        }
    }

    fn is_usable(&self) -> bool {
        matches!(self, Client::Raw(_) | Client::Framed(Phase::Open))
    }
}

/// What surrounds the message in a frame that has but one.
const ONE_BEFORE: &[u8] = b"a[\"";
const ONE_AFTER: &[u8] = b"\"]";
/// What such a frame usually starts with, if the message is ours.
const ONE_OF_OURS: &[u8] = br#"a["{\"type\":"#;

/// Whether the frame has one message of ours, as nearly all have, which is worth a short cut: it is too short for two.
#[inline]
fn is_one_of_ours(frame: &[u8], cfg: &Config) -> bool {
    let [echo, _] = cfg.heads();
    let shortest = echo.len() + stamp::TEXT_BYTES + cfg.tail().len();
    frame.len() < 2 * shortest
        && frame.len() > shortest
        && frame.starts_with(ONE_OF_OURS)
        && frame.ends_with(ONE_AFTER)
}

/// Takes one frame of the server's.
pub(crate) fn handle_frame(
    phase: &mut Phase,
    frame: &[u8],
    cfg: &Config,
    on: &mut impl FnMut(Event),
) -> Result<(), Failure> {
    let (&kind, rest) = frame.split_first().ok_or(Failure::BadMessage)?;
    match (kind, *phase) {
        (b'h', _) | (_, Phase::Over) => {}
        (b'o', Phase::Waiting) => {
            *phase = Phase::Open;
            on(Event::Usable);
        }
        // A session that was open is there anew: the server has lost it, and all that was sent to it.
        (b'o', Phase::Open) => {
            *phase = Phase::Over;
            on(Event::Closed { code: LOST });
        }
        (b'a', Phase::Open) => {
            let mut strings = Strings::default();
            while let Some(string) = strings.next(rest)? {
                let string = &rest[string];
                on(json::classify::<json::Escaped>(string, string.len() as u32, cfg.tail()));
            }
        }
        (b'c', _) => {
            *phase = Phase::Over;
            on(Event::Closed { code: close_code(rest)? });
        }
        _ => return Err(Failure::BadMessage),
    }
    Ok(())
}

/// The code of `[3000,"Go away!"]`.
fn close_code(array: &[u8]) -> Result<u16, Failure> {
    let digits = array.strip_prefix(b"[").ok_or(Failure::BadMessage)?;
    let end = digits.iter().position(|b| !b.is_ascii_digit()).ok_or(Failure::BadMessage)?;
    let code = std::str::from_utf8(&digits[..end]).expect("digits");
    code.parse().map_err(|_| Failure::BadMessage)
}

/// Appends a stamped message as a JSON string.
#[inline]
pub(crate) fn write_string(out: &mut Vec<u8>, cfg: &Config, unix_ns: u64, kind: Kind, stamp: Stamp) {
    let [echo, broadcast] = cfg.heads();
    out.push(b'"');
    out.extend_from_slice(match kind {
        Kind::Echo => echo,
        Kind::Broadcast => broadcast,
    });
    extend_decimal(out, unix_ns);
    out.extend_from_slice(br#"\",\"id\":\""#);
    out.extend_from_slice(&stamp.to_text());
    out.extend_from_slice(cfg.tail());
    out.push(b'"');
}
