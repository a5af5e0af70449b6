//! The client's side.
//!
//! ```text
//! upgraded: greets; greeting --connection_ack--> subscribes, and asks a question; subscribing --its answer--> usable
//! any --error of one of the two, complete of the subscription--> rejected
//! ```

use std::sync::LazyLock;

use app::Kind;
use app::conditions::Opened;
use app::template::Filling;
use codec::json::members;
use codec::ws::MessageType;
use codec::ws::receiver::Message;
use codec::{Found, stamp};
use memchr::memmem::Finder;

use super::message::{Packet, pong};
use super::parts::{PROBE_ID, PUSHED, Parts, SUBSCRIPTION_ID};
use crate::carried::{MessageHint, MessageTemplate, ProtocolEvent, ProtocolHandler};
use crate::contract::ClientProtocol;
use crate::event::{Event, Rejection};
use crate::failure::Failure;
use crate::io::Io;
use crate::link::Link;
use crate::pending;

/// The number of the first operation that is a message.
const FIRST_NUMBER: u64 = 2;

/// One client's operations.
#[derive(Debug, Default)]
pub(crate) struct Client {
    is_greeted: bool,
    is_usable: bool,
    /// Messages sent.
    said: u64,
    /// A result does not say what it is of: as a rule, of what was sent last.
    sent_broadcast: bool,
}

impl ClientProtocol for Client {
    type Parts = Parts;

    fn handle_upgraded<I: Io>(&mut self, link: &mut Link<'_, Parts, I>, _on: &mut impl ProtocolHandler) {
        link.say(&link.parts.init);
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message: &Message<'_>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let (text, bytes) = (message.bytes()?, message.wire_bytes);
        if text.starts_with(PUSHED) {
            let found = stamp::find_before(text, link.parts.behind_id);
            if found != Found::None {
                on.handle(ProtocolEvent::text(text, bytes, found, MessageHint::Pushed, open));
                return Ok(());
            }
        }
        if let Some(event) = self.handle_other(link, text, bytes) {
            on.handle(event);
        }
        Ok(())
    }

    #[inline]
    fn send<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message_template: &MessageTemplate,
        filling: &Filling<'_>,
    ) {
        let number = FIRST_NUMBER + self.said;
        self.said += 1;
        self.sent_broadcast = message_template.kind == Some(Kind::Broadcast);
        pending::push(&mut link.pending, number, message_template.kind, *filling.mark.stamp);
        link.sender
            .message(link.io, MessageType::Text, |out| message_template.text.write(out, filling, number));
    }

    fn is_ready(&self) -> bool {
        self.is_usable
    }
}

impl Client {
    /// Handles a message that is no copy, or not as graphql-ws writes it; `None` if it was the protocol's
    /// own, and no more to be done.
    fn handle_other<'a, I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        text: &'a [u8],
        bytes: u32,
    ) -> Option<ProtocolEvent<'a>> {
        let foreign = ProtocolEvent::Event(Event::Foreign { bytes });
        let Some(packet) = Packet::parse(text).filter(Packet::is_valid) else { return Some(foreign) };
        let Packet { id, kind, payload, .. } = packet;
        let id = &*id;
        let rejected = |rejection| Some(ProtocolEvent::Event(Event::Rejected(rejection)));
        let is_opening = id == PROBE_ID || id == SUBSCRIPTION_ID;
        let refused = if is_opening { Rejection::Subscription } else { Rejection::Message };
        match &*kind {
            // Nothing may be asked before it: servers close with 4401 then.
            b"connection_ack" if !self.is_greeted => {
                let opening = &link.parts.opening;
                for operation in opening {
                    link.say(operation);
                }
                (self.is_greeted, self.is_usable) = (true, opening.is_empty());
                self.is_usable.then_some(ProtocolEvent::Ready)
            }
            b"error" => rejected(refused),
            // A request that is no good is answered with `error`, one that failed with a result that says so.
            b"next" if has_errors(payload) => rejected(refused),
            b"next" if id == PROBE_ID => {
                let was_usable = std::mem::replace(&mut self.is_usable, true);
                (!was_usable).then_some(ProtocolEvent::Ready)
            }
            b"next" if id == SUBSCRIPTION_ID => {
                Some(ProtocolEvent::text(text, bytes, stamp::find(text), MessageHint::Pushed, open))
            }
            b"next" => {
                let numbered = pending::take(&mut link.pending, id);
                let last = if self.sent_broadcast { Kind::Broadcast } else { Kind::Echo };
                let kind = numbered.map_or(last, |(kind, _)| kind);
                let found =
                    stamp::find_before(text, link.parts.behind_id).or(numbered.map(|(_, stamp)| stamp));
                Some(ProtocolEvent::text(text, bytes, found, MessageHint::Answer(kind), open))
            }
            b"complete" if id == SUBSCRIPTION_ID => rejected(Rejection::ChannelClosed),
            b"complete" | b"pong" => None,
            b"ping" => {
                link.sender.message(link.io, MessageType::Text, |out| codec::io::extend(out, &pong(payload)));
                None
            }
            _ => Some(foreign),
        }
    }
}

/// The result, with its `data`.
fn open(message: &[u8]) -> Option<Opened<'_>> {
    Opened::whole(Packet::parse(message)?.payload)
}

/// Returns whether a result has errors. Only what has the word is looked at closely.
fn has_errors(result: &[u8]) -> bool {
    static ERRORS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""errors""#));
    let errors = ERRORS.find(result).and_then(|_| members(result, ["errors"]));
    errors.is_some_and(|[errors]| !matches!(errors, b"" | b"null"))
}
