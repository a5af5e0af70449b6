//! The client's side.
//!
//! ```text
//! upgraded: greets; greeting --connection_ack--> subscribes, and asks a question; subscribing --its answer--> usable
//! any --error of one of the two, complete of the subscription--> rejected
//! ```

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::parts::{PROBE_ID, PUSHED, Parts, SUBSCRIPTION_ID};
use crate::contract::{Arrival, Carried, ClientProtocol, Hears, Letter, Link, Opened, Says, Spelling};
use crate::event::{Event, Kind, Rejection};
use crate::failure::Failure;
use crate::io::Io;
use crate::json::{object, string};
use crate::stamp::{self, Found};
use crate::template::Filling;
use crate::ws::receiver::Message;

/// The number of the first operation that is a message.
const FIRST_NUMBER: u32 = 2;

/// One client's operations.
#[derive(Debug, Default)]
pub(crate) struct Client {
    stage: Stage,
    /// Messages sent.
    said: u32,
    /// A result does not say what it is of: as a rule, of what was sent last.
    sent_broadcast: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Greeting,
    Subscribing,
    Usable,
}

/// A message taken apart; strings without their marks.
#[derive(Default)]
struct Packet<'a> {
    id: &'a [u8],
    kind: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    fn parse(message: &'a [u8]) -> Option<Packet<'a>> {
        let mut packet = Packet::default();
        object(message, |key, value| match key {
            b"id" => packet.id = string(value).unwrap_or_default(),
            b"type" => packet.kind = string(value).unwrap_or_default(),
            b"payload" => packet.payload = value,
            _ => {}
        })?;
        Some(packet)
    }
}

impl ClientProtocol for Client {
    type Parts = Parts;

    fn handle_upgraded<I: Io>(&mut self, link: &mut Link<'_, Parts, I>, _on: &mut impl Hears) {
        let (init, filling) = (&link.parts.init, link.filling());
        link.sender.message(link.io, true, |out| init.write(out, &filling, 0));
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message: &Message<'_>,
        on: &mut impl Hears,
    ) -> Result<(), Failure> {
        let (text, bytes) = (message.bytes()?, message.wire_bytes);
        if text.starts_with(PUSHED) {
            let found = stamp::find_before(text, link.parts.behind_id);
            if found != Found::None {
                on.hear(arrival(text, bytes, found, Says::Pushed));
                return Ok(());
            }
        }
        if let Some(carried) = self.handle_other(link, text, bytes) {
            on.hear(carried);
        }
        Ok(())
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, Parts, I>, letter: &Letter, filling: &Filling<'_>) {
        let number = u64::from(FIRST_NUMBER.wrapping_add(self.said).max(FIRST_NUMBER));
        self.said = self.said.wrapping_add(1);
        self.sent_broadcast = letter.kind == Some(Kind::Broadcast);
        if let (Some(pending), Some(kind)) = (&mut link.pending, letter.kind) {
            pending.push(number, kind, *filling.mark.stamp);
        }
        link.sender.message(link.io, true, |out| letter.text.write(out, filling, number));
    }

    fn is_ready(&self) -> bool {
        self.stage == Stage::Usable
    }
}

impl Client {
    /// What is no copy, or not as graphql-ws writes it; `None`: the protocol's own, and no more to be done.
    fn handle_other<'a, I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        text: &'a [u8],
        bytes: u32,
    ) -> Option<Carried<'a>> {
        let rejected = |rejection| Some(Carried::Event(Event::Rejected(rejection)));
        let Some(Packet { id, kind, payload }) = Packet::parse(text) else {
            return Some(Carried::Event(Event::Foreign { bytes }));
        };
        let is_of_opening = id == PROBE_ID || id == SUBSCRIPTION_ID;
        match kind {
            b"connection_ack" if self.stage == Stage::Greeting => {
                let (opening, filling) = (&link.parts.opening, link.filling());
                for operation in opening {
                    link.sender.message(link.io, true, |out| operation.write(out, &filling, 0));
                }
                self.stage = if opening.is_empty() { Stage::Usable } else { Stage::Subscribing };
                opening.is_empty().then_some(Carried::Ready)
            }
            b"next" if is_of_opening && is_refusal(payload) => rejected(Rejection::Subscription),
            b"next" if id == PROBE_ID => {
                let is_first = std::mem::replace(&mut self.stage, Stage::Usable) == Stage::Subscribing;
                is_first.then_some(Carried::Ready)
            }
            b"next" if id == SUBSCRIPTION_ID => Some(arrival(text, bytes, stamp::find(text), Says::Pushed)),
            b"next" if is_refusal(payload) => rejected(Rejection::Message),
            b"next" => Some(self.result(link, text, bytes, id)),
            b"error" if is_of_opening => rejected(Rejection::Subscription),
            b"error" => rejected(Rejection::Message),
            b"complete" if id == SUBSCRIPTION_ID => rejected(Rejection::ChannelClosed),
            b"complete" | b"pong" => None,
            b"ping" => {
                link.sender.message(link.io, true, |out| out.extend_from_slice(br#"{"type":"pong"}"#));
                None
            }
            _ => Some(Carried::Event(Event::Foreign { bytes })),
        }
    }

    /// The result of a message of ours, which may or may not have its id in it.
    fn result<'a, I>(
        &self,
        link: &mut Link<'_, Parts, I>,
        text: &'a [u8],
        bytes: u32,
        id: &[u8],
    ) -> Carried<'a> {
        let number = || std::str::from_utf8(id).ok()?.parse().ok();
        let numbered = link.pending.as_mut().and_then(|pending| pending.take(number()?));
        let last = if self.sent_broadcast { Kind::Broadcast } else { Kind::Echo };
        let kind = numbered.map_or(last, |(kind, _)| kind);
        let found = match (stamp::find_before(text, link.parts.behind_id), numbered) {
            (Found::None, Some((_, stamp))) => Found::At { stamp, offset: 0 },
            (found, _) => found,
        };
        arrival(text, bytes, found, Says::Answer(kind))
    }
}

#[inline(always)]
fn arrival<'a>(text: &'a [u8], bytes: u32, found: Found, says: Says<'a>) -> Carried<'a> {
    Carried::Arrival(Arrival { text, spelling: Spelling::Plain, found: Some(found), says, bytes, open })
}

/// The result, with its `data`.
fn open(message: &[u8]) -> Option<Opened<'_>> {
    Packet::parse(message).map(|packet| Opened { event: b"".into(), body: packet.payload.into() })
}

/// Whether a result has errors. Only what has the word is looked at closely.
fn is_refusal(payload: &[u8]) -> bool {
    static ERRORS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""errors""#));
    let mut has_errors = false;
    if ERRORS.find(payload).is_some() {
        let _ = object(payload, |key, value| has_errors |= key == b"errors" && value != b"null");
    }
    has_errors
}
