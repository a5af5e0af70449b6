//! wsdemo's protocol: any text or binary message comes back as it is.
//!
//! A message is the stamp and then padding, 33 bytes of binary unless told otherwise.

use super::contract::{ClientDialect, Link};
use super::parts::Parts;
use crate::event::{Event, Kind, Role};
use crate::failure::Failure;
use crate::io::Io;
use crate::options::{BadOption, Options};
use crate::stamp::{self, Found, Stamp, padding};
use crate::ws::receiver::Message;

/// What wsdemo sent.
const DEFAULT_BYTES: u32 = 33;

/// The padding after the stamp.
pub(crate) fn parts(options: &Options) -> Result<Parts, BadOption> {
    let min = if options.payload.text { stamp::TEXT_BYTES } else { stamp::BINARY_BYTES } as u32;
    let max = u32::try_from(options.limits.message_bytes_max).unwrap_or(u32::MAX);
    let size = options.payload.padding.unwrap_or(DEFAULT_BYTES.max(min));
    if size < min || size > max {
        return Err(BadOption::PayloadSize { min, max });
    }
    Ok(Parts { tail: padding((size - min) as usize).collect(), ..Parts::default() })
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
        let (found, after) = match message.text {
            true => (stamp::find(payload), stamp::TEXT_BYTES),
            false => (stamp::read_binary(payload), stamp::BINARY_BYTES),
        };
        let bytes = message.wire_bytes;
        on(match found {
            Found::At { stamp, offset: 0 } if link.cfg.is_tail_of(stamp, &payload[after..]) => {
                Event::Message { role: Role::Echo, stamp, bytes }
            }
            Found::None => Event::Foreign { bytes },
            _ => Event::Corrupt { bytes },
        });
        Ok(())
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, I>, _unix_ns: u64, kind: Kind, stamp: Stamp) {
        assert!(kind == Kind::Echo, "raw has no broadcast");
        let text = link.cfg.options().payload.text;
        let tail = link.cfg.tail_of(stamp);
        link.sender.message(link.io, text, |out| {
            match text {
                true => out.extend_from_slice(&stamp.to_text()),
                false => out.extend_from_slice(&stamp.to_binary()),
            }
            out.extend_from_slice(tail);
        });
    }
}
