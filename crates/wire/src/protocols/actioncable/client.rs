//! The client's side.
//!
//! ```text
//! greeting --welcome--> subscribes; subscribing --confirm_subscription of the last that is missing--> usable
//! any --reject_subscription of one of its own, disconnect--> rejected
//! ```

use memchr::memmem;

use super::parts::Parts;
use crate::carried::{Carried, Hears, Letter, Opened, Says};
use crate::contract::ClientProtocol;
use crate::event::{Event, Rejection};
use crate::failure::Failure;
use crate::io::Io;
use crate::json::{members, string, unescape};
use crate::link::Link;
use crate::stamp::{self, Found};
use crate::template::Filling;
use crate::ws::receiver::Message;

/// One client's subscriptions.
#[derive(Debug, Default)]
pub(crate) struct Client {
    stage: Stage,
}

#[derive(PartialEq, Eq, Debug, Default)]
enum Stage {
    /// Nothing was said yet.
    #[default]
    Greeting,
    /// These subscriptions are confirmed, by their place among all.
    #[allow(clippy::box_collection)] // 8 bytes in a connection, not 24
    Subscribing(Box<Vec<usize>>),
    Usable,
}

impl ClientProtocol for Client {
    type Parts = Parts;

    /// The server speaks first.
    fn handle_upgraded<I: Io>(&mut self, _link: &mut Link<'_, Parts, I>, _on: &mut impl Hears) {}

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message: &Message<'_>,
        on: &mut impl Hears,
    ) -> Result<(), Failure> {
        let (payload, bytes) = (message.bytes()?, message.wire_bytes);
        let parts = link.parts;
        let action = payload.strip_prefix(&parts.usual[..]).and_then(name_in);
        if action.is_none() && payload.starts_with(br#"{"type":"ping","#) {
            return Ok(());
        }
        let found = stamp::find(payload);
        let carried = match found {
            Found::At { .. } if action.is_none() && is_of_another_subscription(link, payload) => {
                Carried::Event(Event::Beside { bytes })
            }
            Found::None if self.handle_control(link, payload, on) => return Ok(()),
            _ => Carried::text(payload, bytes, found, action.map_or(Says::Unknown, Says::Named), open),
        };
        on.hear(carried);
        Ok(())
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, Parts, I>, letter: &Letter, filling: &Filling<'_>) {
        link.sender.message(link.io, true, |out| letter.text.write(out, filling, 0));
    }

    fn is_ready(&self) -> bool {
        self.stage == Stage::Usable
    }
}

/// The rest of a string, up to its mark: an action's name.
#[inline]
fn name_in(rest: &[u8]) -> Option<&[u8]> {
    rest.iter().position(|&byte| byte == b'"').map(|end| &rest[..end])
}

/// What was sent to a subscription, and its action, if it has one.
fn open(payload: &[u8]) -> Option<Opened<'_>> {
    let [body] = members(payload, ["message"]).filter(|[body]| !body.is_empty())?;
    // Not every message is an object.
    let [action] = members(body, ["action"]).unwrap_or_default();
    Some(Opened { event: string(action).unwrap_or_default().into(), body: body.into() })
}

impl Client {
    /// Whether it was a message of the protocol's own.
    #[cold]
    fn handle_control<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        payload: &[u8],
        on: &mut impl Hears,
    ) -> bool {
        let words = members(payload, ["type", "reason", "identifier"]).map(|words| words.map(string));
        let Some([Some(kind), reason, identifier]) = words else { return false };
        let (opening, filling) = (&link.parts.subscribe, link.filling());
        let subscription = || {
            let identifier = identifier?;
            opening.iter().position(|own| is_identifier_of(&own.filled(&filling), identifier))
        };
        match kind {
            b"welcome" if self.stage == Stage::Greeting => {
                for command in opening {
                    link.say(command);
                }
                self.stage = Stage::Subscribing(Box::default());
            }
            b"confirm_subscription" => {
                let Some(number) = subscription() else { return false };
                if let Stage::Subscribing(confirmed) = &mut self.stage
                    && !confirmed.contains(&number)
                {
                    confirmed.push(number);
                    if confirmed.len() == opening.len() {
                        self.stage = Stage::Usable;
                        on.hear(Carried::Ready);
                    }
                }
            }
            b"reject_subscription" if subscription().is_none() => return false,
            b"reject_subscription" => on.hear(Carried::Event(Event::Rejected(Rejection::Subscription))),
            b"disconnect" => {
                on.hear(Carried::Event(Event::Rejected(rejection_of(reason.unwrap_or_default()))))
            }
            b"welcome" | b"ping" | b"confirm_history" | b"reject_history" => {}
            _ => return false,
        }
        true
    }
}

/// Why the server disconnects a client (`ActionCable::INTERNAL[:disconnect_reasons]`).
fn rejection_of(reason: &[u8]) -> Rejection {
    match reason {
        b"unauthorized" => Rejection::Unauthorized,
        b"invalid_request" => Rejection::InvalidRequest,
        b"server_restart" => Rejection::ServerRestart,
        b"remote" => Rejection::Remote,
        _ => Rejection::Disconnected,
    }
}

/// Whether a subscription is named by this, as it stands in a string: servers may escape it in other ways.
fn is_identifier_of(subscribe: &[u8], identifier: &[u8]) -> bool {
    let own = members(subscribe, ["identifier"]).and_then(|[own]| unescape(string(own)?));
    own.is_some() && own == unescape(identifier)
}

/// Whether a message came through another subscription than the one that counts, the first.
fn is_of_another_subscription<I: Io>(link: &Link<'_, Parts, I>, payload: &[u8]) -> bool {
    let [own, _, ..] = &link.parts.subscribe[..] else { return false };
    let is_another = |identifier| memmem::find(&own.filled(&link.filling()), identifier).is_none();
    members(payload, ["identifier"]).is_some_and(|[identifier]| is_another(identifier))
}
