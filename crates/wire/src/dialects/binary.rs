//! websocket-bench's binary protocol.
//!
//! ```text
//! byte 0: 'e' echo, 'b' broadcast, 'r' its result | u32 BE: size of the rest | i64 BE: unix ns | padding
//! ```
//!
//! The server sends back what it got, to everyone if it is a broadcast; the sender's result has 'r' for 'b'. The
//! padding starts with the stamp and is as large as it at least.

use super::contract::{ClientDialect, Link};
use super::parts::Parts;
use crate::config::Config;
use crate::event::{Event, Kind, Role};
use crate::failure::Failure;
use crate::io::Io;
use crate::options::{BadOption, Options};
use crate::stamp::{self, Found, Stamp, padding};
use crate::ws::receiver::Message;

const HEAD_BYTES: usize = 5;
const TIME_BYTES: usize = 8;
const STAMP_AT: usize = HEAD_BYTES + TIME_BYTES;
/// Where in a message its kind is, and what it is for a broadcast and its result.
pub(crate) const KIND_AT: usize = 0;
const ECHO: u8 = b'e';
const BROADCAST: u8 = b'b';
pub(crate) const RESULT: u8 = b'r';

/// The padding after the stamp.
pub(crate) fn parts(options: &Options) -> Result<Parts, BadOption> {
    let min = stamp::BINARY_BYTES as u32;
    let max =
        u32::try_from(options.limits.message_bytes_max - STAMP_AT).unwrap_or(u32::MAX - STAMP_AT as u32);
    let size = options.payload.padding.unwrap_or(0).max(min);
    if size > max {
        return Err(BadOption::PayloadSize { min, max });
    }
    Ok(Parts { tail: padding((size - min) as usize).collect(), ..Parts::default() })
}

/// What a client asks of the server, if the message is of this dialect: its size must be as announced.
#[inline]
pub(crate) fn recognise(message: &[u8]) -> Option<Kind> {
    let (head, rest) = message.split_first_chunk::<HEAD_BYTES>()?;
    let [kind, size @ ..] = *head;
    if rest.len() < TIME_BYTES || u32::from_be_bytes(size) as usize != rest.len() {
        return None;
    }
    match kind {
        ECHO => Some(Kind::Echo),
        BROADCAST => Some(Kind::Broadcast),
        _ => None,
    }
}

/// The client's side: no state.
#[derive(Debug, Default)]
pub(crate) struct Client;

impl ClientDialect for Client {
    fn handle_upgraded<I: Io>(&mut self, _link: &mut Link<'_, I>, on: &mut impl FnMut(Event)) {
        on(Event::Usable);
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        message: &Message<'_>,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let payload = message.bytes()?;
        let bytes = message.wire_bytes;
        let found = if message.text || payload.len() < STAMP_AT {
            Found::None
        } else {
            stamp::read_binary(&payload[STAMP_AT..])
        };
        on(match found {
            Found::At { stamp, .. } => match role(payload, stamp, link.cfg) {
                Some(role) => Event::Message { role, stamp, bytes },
                None => Event::Corrupt { bytes },
            },
            Found::Corrupt => Event::Corrupt { bytes },
            Found::None => Event::Foreign { bytes },
        });
        Ok(())
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, I>, unix_ns: u64, kind: Kind, stamp: Stamp) {
        let tail = link.cfg.tail();
        link.sender.message(link.io, false, |out| {
            let mut head = [0; STAMP_AT];
            head[KIND_AT] = match kind {
                Kind::Echo => ECHO,
                Kind::Broadcast => BROADCAST,
            };
            let size = (TIME_BYTES + stamp::BINARY_BYTES + tail.len()) as u32;
            head[1..HEAD_BYTES].copy_from_slice(&size.to_be_bytes());
            head[HEAD_BYTES..].copy_from_slice(&unix_ns.to_be_bytes());
            out.extend_from_slice(&head);
            out.extend_from_slice(&stamp.to_binary());
            out.extend_from_slice(tail);
        });
    }
}

/// What a message with a sound stamp is to this client; `None` when something else in it is damaged.
#[inline]
fn role(payload: &[u8], stamp: Stamp, cfg: &Config) -> Option<Role> {
    let size = u32::from_be_bytes(payload[1..HEAD_BYTES].try_into().expect("4 bytes"));
    let unix_ns = u64::from_be_bytes(payload[HEAD_BYTES..STAMP_AT].try_into().expect("8 bytes"));
    if size as usize != payload.len() - HEAD_BYTES
        || cfg.unix_ns_of(stamp).is_some_and(|sent_ns| sent_ns != unix_ns)
        || !cfg.is_tail(&payload[STAMP_AT + stamp::BINARY_BYTES..])
    {
        return None;
    }
    match payload[KIND_AT] {
        ECHO => Some(Role::Echo),
        BROADCAST => Some(Role::Copy),
        RESULT => Some(Role::Ack),
        _ => None,
    }
}
