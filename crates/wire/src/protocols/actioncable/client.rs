//! The client's side.
//!
//! ```text
//! greeting --welcome--> subscribes; subscribing --confirm_subscription of the last that is missing--> usable
//! greeting --welcome that has restored a subscription--> asks for what was missed, and counts it as confirmed
//! any --reject_subscription of one of its own, disconnect--> rejected
//! usable --visits a room--> subscribes, is confirmed or rejected, and unsubscribes, which nothing confirms
//! ```

use app::conditions::Opened;
use app::template::{Filling, Mark, PersonData as _};
use codec::json::{array, decimal, members, string, unescape};
use codec::ws::MessageType;
use codec::ws::receiver::Message;
use codec::{Found, stamp};
use memchr::memmem;

use super::parts::Parts;
use super::positions::{known_of, note, write_asking};
use crate::carried::{MessageHint, MessageTemplate, ProtocolEvent, ProtocolHandler};
use crate::contract::{ClientProtocol, RoomProtocol};
use crate::event::{Direction, Event, Rejection, RoomChange};
use crate::failure::Failure;
use crate::io::Io;
use crate::link::Link;
use crate::resumption::Resumption;

/// The answer to a ping.
const PONG: &[u8] = br#"{"command":"pong"}"#;
const NS_PER_S: u64 = 1_000_000_000;

/// One client's subscriptions: eight bytes in a connection, where nothing has to be known of them.
#[derive(Debug, Default)]
pub(crate) enum Client {
    /// No message was exchanged yet.
    #[default]
    New,
    /// All subscriptions are confirmed, in the plain protocol.
    Usable,
    /// Some subscriptions are not confirmed yet; in the extended protocol the client stays in this state.
    Held(Box<Held>),
}

/// The state of a client's subscriptions.
#[derive(Debug, Default)]
pub(crate) struct Held {
    stage: Stage,
    /// In the extended protocol, the data for resuming this session on another connection; before the welcome,
    /// the data of the earlier session that is to be resumed.
    known: Option<Resumption>,
}

#[derive(PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Greeting,
    /// The client is subscribing: these subscriptions are confirmed, by their place among all.
    Subscribing(Vec<usize>),
    Usable,
}

impl ClientProtocol for Client {
    type Parts = Parts;

    /// The server speaks first.
    fn handle_upgraded<I: Io>(&mut self, _link: &mut Link<'_, Parts, I>, _on: &mut impl ProtocolHandler) {}

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message: &Message<'_>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let (payload, bytes) = (message.bytes()?, message.wire_bytes);
        let parts = link.parts;
        let action = payload.strip_prefix(&parts.usual[..]).and_then(name_in);
        if action.is_none() && payload.starts_with(br#"{"type":"ping","#) {
            self.handle_ping(link);
            return Ok(());
        }
        if let Client::Held(held) = self
            && let Some(known) = &mut held.known
        {
            note(known, payload, parts, |identifier| place_of(link, identifier));
        }
        let found = stamp::find(payload);
        let event = match found {
            Found::At { .. } if action.is_none() && is_of_another_subscription(link, payload) => {
                ProtocolEvent::Event(Event::Beside)
            }
            // Messages with a stamp are the load, and need not be read as commands.
            Found::None if self.handle_control(link, payload, on) => return Ok(()),
            _ => ProtocolEvent::text(
                payload,
                bytes,
                found,
                action.map_or(MessageHint::Unknown, MessageHint::Named),
                open,
            ),
        };
        on.handle(event);
        Ok(())
    }

    fn resume(&mut self, resumption: &Resumption) {
        *self = Client::Held(Box::new(Held { known: Some(resumption.clone()), ..Held::default() }));
    }

    fn resumption(&self) -> Option<&Resumption> {
        match self {
            Client::Held(held) => held.known.as_ref(),
            Client::New | Client::Usable => None,
        }
    }

    #[inline]
    fn send<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message_template: &MessageTemplate,
        filling: &Filling<'_>,
    ) {
        link.sender.message(link.io, MessageType::Text, |out| message_template.text.write(out, filling, 0));
    }

    fn rooms(&mut self) -> Option<&mut impl RoomProtocol<Parts>> {
        Some(self)
    }

    fn is_ready(&self) -> bool {
        match self {
            Client::New => false,
            Client::Usable => true,
            Client::Held(held) => held.stage == Stage::Usable,
        }
    }
}

impl RoomProtocol<Parts> for Client {
    fn pass<I: Io>(&mut self, link: &mut Link<'_, Parts, I>, place: usize, way: Direction, _: Mark<'_>) {
        match way {
            Direction::In => link.say(&link.parts.subscribe[place]),
            Direction::Out => link.say(&link.parts.unsubscribe[place]),
        }
    }
}

/// The rest of a string, up to its mark: an action's name.
#[inline]
fn name_in(rest: &[u8]) -> Option<&[u8]> {
    rest.iter().position(|&byte| byte == b'"').map(|end| &rest[..end])
}

/// The message to a subscription, and its action, if it has one.
fn open(payload: &[u8]) -> Option<Opened<'_>> {
    let [body] = members(payload, ["message"]).filter(|[body]| !body.is_empty())?;
    // Not every message is an object.
    let [action] = members(body, ["action"]).unwrap_or_default();
    Some(Opened { event: string(action).unwrap_or_default().into(), body: body.into() })
}

impl Client {
    /// Returns whether it was a message of the protocol's own.
    #[cold]
    fn handle_control<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        payload: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> bool {
        let words = members(payload, ["type", "reason", "identifier"]).map(|words| words.map(string));
        let Some([Some(kind), reason, identifier]) = words else { return false };
        let place = || place_of(link, identifier?);
        match kind {
            b"welcome" => self.handle_welcome(link, payload, on),
            b"confirm_subscription" => {
                let Some(number) = place() else { return false };
                match link.parts.visited[number] {
                    Some(kind) => {
                        on.handle(ProtocolEvent::Event(Event::RoomChange { kind, passed: RoomChange::In }))
                    }
                    None => self.handle_confirmed(link.parts, number, on),
                }
            }
            b"reject_subscription" if place().is_none() => return false,
            b"reject_subscription"
                if let Some(kind) = place().and_then(|number| link.parts.visited[number]) =>
            {
                on.handle(ProtocolEvent::Event(Event::RoomChange { kind, passed: RoomChange::Refused }));
            }
            b"reject_subscription" => {
                on.handle(ProtocolEvent::Event(Event::Rejected(Rejection::Subscription)))
            }
            b"disconnect" => {
                // As @anycable/core has it: such a session is not gone on with, but what was missed is asked
                // for.
                if let Some(known) = self.known() {
                    known.session.clear();
                }
                on.handle(ProtocolEvent::Event(Event::Rejected(rejection_of(reason.unwrap_or_default()))))
            }
            b"ping" => self.handle_ping(link),
            b"confirm_history" | b"reject_history" => {}
            _ => return false,
        }
        true
    }

    fn known(&mut self) -> Option<&mut Resumption> {
        match self {
            Client::Held(held) => held.known.as_mut(),
            Client::New | Client::Usable => None,
        }
    }

    /// The server is there: subscribes to whatever it has not restored, and asks for what was missed.
    fn handle_welcome<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        payload: &[u8],
        on: &mut impl ProtocolHandler,
    ) {
        let Held { known: before, .. } = match std::mem::take(self) {
            Client::New => Held::default(),
            Client::Held(held) if held.stage == Stage::Greeting => *held,
            // A second welcome changes nothing: its subscriptions are under way.
            greeted => return *self = greeted,
        };
        let [sid, restored, ids] = members(payload, ["sid", "restored", "restored_ids"]).unwrap_or_default();
        let parts = link.parts;
        let has_restored = before.is_some() && restored == b"true";
        let named = if has_restored { places_of(link, ids) } else { Vec::new() };
        let mut confirmed = Vec::new();
        let all = parts.identifiers.iter().enumerate();
        for (at, identifier) in all.filter(|(at, _)| parts.visited[*at].is_none()) {
            // All of them are, where the server names none.
            let is_restored = has_restored && (ids.is_empty() || named.contains(&at));
            match &before {
                None => link.say(&parts.subscribe[at]),
                Some(known) => {
                    let command = if is_restored { "history" } else { "subscribe" };
                    let filling = link.filling();
                    link.sender.message(link.io, MessageType::Text, |out| {
                        write_asking(out, &filling, command, at, identifier, known);
                    });
                }
            }
            confirmed.extend(is_restored.then_some(at));
        }
        let sid = string(sid).unwrap_or_default();
        let known = parts.is_extended.then(|| known_of(sid, before, now_s(link)));
        *self = Client::Held(Box::new(Held { stage: Stage::Subscribing(confirmed), known }));
        self.find_usable(parts, on);
    }

    /// Handles the confirmation of a subscription.
    fn handle_confirmed(&mut self, parts: &Parts, at: usize, on: &mut impl ProtocolHandler) {
        if let Client::Held(held) = self
            && let Stage::Subscribing(confirmed) = &mut held.stage
            && !confirmed.contains(&at)
        {
            confirmed.push(at);
            self.find_usable(parts, on);
        }
    }

    /// Makes the client ready, and reports that, once all its subscriptions are confirmed.
    fn find_usable(&mut self, parts: &Parts, on: &mut impl ProtocolHandler) {
        let Client::Held(held) = self else { return };
        let Stage::Subscribing(confirmed) = &held.stage else { return };
        if confirmed.len() == parts.standing {
            held.stage = Stage::Usable;
            if held.known.is_none() {
                // The box goes: an idle client of a million holds no more than it needs.
                *self = Client::Usable;
            }
            on.handle(ProtocolEvent::Ready);
        }
    }

    #[cold]
    fn handle_ping<I: Io>(&mut self, link: &mut Link<'_, Parts, I>) {
        if let Some(known) = self.known() {
            known.alive_s = now_s(link);
        }
        if link.parts.answers_pings {
            link.sender.message(link.io, MessageType::Text, |out| out.extend_from_slice(PONG));
        }
    }
}

/// The rejection for the server's reason to disconnect a client
/// (`ActionCable::INTERNAL[:disconnect_reasons]`).
fn rejection_of(reason: &[u8]) -> Rejection {
    match reason {
        b"unauthorized" => Rejection::Unauthorized,
        b"invalid_request" => Rejection::InvalidRequest,
        b"server_restart" => Rejection::ServerRestart,
        b"remote" => Rejection::Remote,
        _ => Rejection::Disconnected,
    }
}

/// Returns whether a subscription is named by this, as it stands in a string: servers may escape it in other
/// ways.
fn is_identifier_of(subscribe: &[u8], identifier: &[u8]) -> bool {
    let own = members(subscribe, ["identifier"]).and_then(|[own]| unescape(string(own)?));
    own.is_some() && own == unescape(identifier)
}

/// The second of the wall clock.
fn now_s<I: Io>(link: &Link<'_, Parts, I>) -> u64 {
    link.identities.unix_ns(link.now_ns) / NS_PER_S
}

/// The client's subscription that is named by this.
fn place_of<I: Io>(link: &Link<'_, Parts, I>, identifier: &[u8]) -> Option<usize> {
    let (filling, all) = (link.filling(), &link.parts.subscribe);
    // Mostly it comes back as it was sent; only else is it worth reading.
    let as_sent = [b":\"", identifier, b"\""].concat();
    let same = memmem::Finder::new(&as_sent);
    let is_same = |own: &[u8]| same.find(own).is_some();
    let is_this = |own: &[u8]| is_same(own) || is_identifier_of(own, identifier);
    let position = |is_it: &dyn Fn(&[u8]) -> bool| all.iter().position(|own| is_it(&own.filled(&filling)));
    // Of the hundreds that a flag may ask for, each is looked for where its number says.
    number_of(identifier)
        .filter(|&at| all.get(at).is_some_and(|own| is_this(&own.filled(&filling))))
        .or_else(|| position(&is_same))
        .or_else(|| position(&is_this))
}

/// The place that an identifier has by the number at its end.
fn number_of(identifier: &[u8]) -> Option<usize> {
    let text = identifier.strip_suffix(b"}")?;
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    decimal::<usize>(&text[text.len() - digits..])?.checked_sub(1)
}

/// The subscriptions that are named by these, which stand in an array.
fn places_of<I: Io>(link: &Link<'_, Parts, I>, identifiers: &[u8]) -> Vec<usize> {
    let mut places = Vec::new();
    let _ = array(identifiers, |id| places.extend(string(id).and_then(|id| place_of(link, id))));
    places
}

/// Returns whether a message came through another subscription than those that count.
fn is_of_another_subscription<I: Io>(link: &Link<'_, Parts, I>, payload: &[u8]) -> bool {
    let (all, counted) = (&link.parts.subscribe, link.parts.counted());
    if counted.len() == all.len() {
        return false;
    }
    let Some([identifier]) = members(payload, ["identifier"]) else { return false };
    let filling = link.filling();
    let otherwise = string(identifier).filter(|inside| is_escaped_otherwise(inside));
    !counted.iter().any(|own| {
        let own = own.filled(&filling);
        memmem::find(&own, identifier).is_some()
            || otherwise.is_some_and(|inside| is_identifier_of(&own, inside))
    })
}

/// Returns whether a string has escapes that identifiers, as we write them, have no need of: where it has
/// none, equal ones have equal bytes.
fn is_escaped_otherwise(inside: &[u8]) -> bool {
    let mut bytes = inside.iter();
    while bytes.by_ref().any(|&byte| byte == b'\\') {
        if !matches!(bytes.next(), Some(b'"' | b'\\')) {
            return true;
        }
    }
    false
}
