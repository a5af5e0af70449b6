//! wsdemo's messages: any text or binary message comes back as it is.
//!
//! A message is the stamp and then padding, 33 bytes of binary unless told otherwise.

use codec::Stamp;
use codec::stamp::{self, padding};

use super::Expected;
use crate::event::Role;
use crate::options::{BadOption, Options};

/// The size of wsdemo's messages.
const DEFAULT_BYTES: u32 = 33;

/// The padding after the stamp.
pub(super) fn tail(options: &Options) -> Result<Vec<u8>, BadOption> {
    let min = if options.payload.text { stamp::TEXT_BYTES } else { stamp::BINARY_BYTES } as u32;
    let max = u32::try_from(options.limits.message_bytes_max).unwrap_or(u32::MAX);
    let size = options.payload.padding.unwrap_or(DEFAULT_BYTES.max(min));
    if size < min || size > max {
        return Err(BadOption::PayloadSize { min, max });
    }
    Ok(padding((size - min) as usize).collect())
}

/// An echo, if nothing is before its stamp, and after it what was sent.
#[inline(always)]
pub(super) fn role(message: &[u8], stamp: Stamp, offset: usize, expected: &Expected) -> Option<Role> {
    // A stamp has as many bytes as its spelling takes.
    let after = offset + stamp::bytes_at(&message[offset..]);
    (offset == 0 && expected.is_tail_of(stamp, &message[after..])).then_some(Role::Echo)
}
