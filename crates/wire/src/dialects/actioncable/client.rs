//! The client's side.
//!
//! ```text
//! greeting --welcome--> subscribes; subscribing --confirm_subscription of the last that is missing--> usable
//! any --reject_subscription of one of its own, disconnect--> rejected
//! ```

use memchr::memmem;

use super::parts::BEFORE_STAMP;
use crate::dialects::contract::{ClientDialect, Link};
use crate::dialects::json::{self, Plain, is_padding_sound};
use crate::event::{Event, Kind, Rejection, Role};
use crate::failure::Failure;
use crate::io::Io;
use crate::json::{extend_decimal, object, string, unescape};
use crate::stamp::{self, Found, Stamp};
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
    Subscribing(Vec<usize>),
    Usable,
}

impl ClientDialect for Client {
    /// The server speaks first.
    fn handle_upgraded<I: Io>(&mut self, _link: &mut Link<'_, I>, _on: &mut impl FnMut(Event)) {}

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        message: &Message<'_>,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let (payload, bytes) = (message.bytes()?, message.wire_bytes);
        let parts = link.cfg.parts();
        let usual = payload.strip_prefix(&parts.usual[..]).and_then(usual_role);
        if usual.is_none() && payload.starts_with(br#"{"type":"ping","#) {
            return Ok(());
        }
        let event = match stamp::find(payload) {
            Found::At { .. } if usual.is_none() && is_of_another_subscription(payload, &parts.opening) => {
                Event::Beside { bytes }
            }
            Found::At { stamp, offset } => {
                let is_sound =
                    is_padding_sound::<Plain>(payload, offset + stamp::TEXT_BYTES, &parts.returned);
                match usual.or_else(|| json::role::<Plain>(payload)).filter(|_| is_sound) {
                    Some(role) => Event::Message { role, stamp, bytes },
                    None => Event::Corrupt { bytes },
                }
            }
            Found::Corrupt => Event::Corrupt { bytes },
            Found::None if self.handle_control(link, payload, on) => return Ok(()),
            Found::None => Event::Foreign { bytes },
        };
        on(event);
        Ok(())
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, I>, unix_ns: u64, kind: Kind, stamp: Stamp) {
        let parts = link.cfg.parts();
        link.sender.message(link.io, true, |out| {
            out.extend_from_slice(parts.head(kind));
            extend_decimal(out, unix_ns);
            out.extend_from_slice(BEFORE_STAMP);
            out.extend_from_slice(&stamp.to_text());
            out.extend_from_slice(&parts.tail);
        });
    }

    fn is_usable(&self) -> bool {
        self.stage == Stage::Usable
    }
}

impl Client {
    /// Whether it was a message of the protocol's own.
    #[cold]
    fn handle_control<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        payload: &[u8],
        on: &mut impl FnMut(Event),
    ) -> bool {
        let (mut kind, mut reason, mut identifier) = (None, None, None);
        let walked = object(payload, |key, value| match key {
            b"type" => kind = string(value),
            b"reason" => reason = string(value),
            b"identifier" => identifier = string(value),
            _ => {}
        });
        let (Some(()), Some(kind)) = (walked, kind) else { return false };
        let opening = &link.cfg.parts().opening;
        let subscription = || {
            let identifier = identifier?;
            opening.iter().position(|own| is_identifier_of(own, identifier))
        };
        match kind {
            b"welcome" if self.stage == Stage::Greeting => {
                for command in opening {
                    link.sender.message(link.io, true, |out| out.extend_from_slice(command));
                }
                self.stage = Stage::Subscribing(Vec::new());
            }
            b"confirm_subscription" => {
                let Some(number) = subscription() else { return false };
                if let Stage::Subscribing(confirmed) = &mut self.stage
                    && !confirmed.contains(&number)
                {
                    confirmed.push(number);
                    if confirmed.len() == opening.len() {
                        self.stage = Stage::Usable;
                        on(Event::Usable);
                    }
                }
            }
            b"reject_subscription" if subscription().is_none() => return false,
            b"reject_subscription" => on(Event::Rejected(Rejection::Subscription)),
            b"disconnect" => on(Event::Rejected(rejection_of(reason.unwrap_or_default()))),
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

/// What a message is whose action stands where it was sent.
#[inline]
fn usual_role(action: &[u8]) -> Option<Role> {
    if action.starts_with(b"broadcast\"") {
        Some(Role::Copy)
    } else if action.starts_with(b"broadcastResult\"") {
        Some(Role::Ack)
    } else {
        action.starts_with(b"echo\"").then_some(Role::Echo)
    }
}

/// Whether a subscription is named by this, as it stands in a string: servers may escape it in other ways.
fn is_identifier_of(subscribe: &[u8], identifier: &[u8]) -> bool {
    let mut own = None;
    let walked = object(subscribe, |key, value| {
        if key == b"identifier" {
            own = string(value);
        }
    });
    let own = walked.and(own).and_then(unescape);
    own.is_some() && own == unescape(identifier)
}

/// Whether a message came through another subscription than the one that counts, the first.
fn is_of_another_subscription(payload: &[u8], opening: &[Vec<u8>]) -> bool {
    let [own, _, ..] = opening else { return false };
    let mut identifier = None;
    let walked = object(payload, |key, value| {
        if key == b"identifier" {
            identifier = Some(value);
        }
    });
    walked.and(identifier).is_some_and(|identifier| memmem::find(own, identifier).is_none())
}
