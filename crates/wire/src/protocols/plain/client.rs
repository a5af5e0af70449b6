//! The client's side: no state.

use memchr::memmem::Finder;

use super::parts::Parts;
use crate::carried::{Arrival, Carried, Hears, Letter, Opened, Says, Spelling};
use crate::contract::ClientProtocol;
use crate::failure::Failure;
use crate::io::Io;
use crate::link::Link;
use crate::template::Filling;
use crate::ws::receiver::Message;

#[derive(Debug)]
pub(crate) struct Client;

impl ClientProtocol for Client {
    type Parts = Parts;

    fn handle_upgraded<I: Io>(&mut self, _link: &mut Link<'_, Parts, I>, on: &mut impl Hears) {
        on.hear(Carried::Ready);
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message: &Message<'_>,
        on: &mut impl Hears,
    ) -> Result<(), Failure> {
        let text = message.bytes()?;
        match &link.parts.separator {
            None => on.hear(arrival(text, message.text, message.wire_bytes)),
            Some(separator) => hear_records(separator, text, message, on),
        }
        Ok(())
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, Parts, I>, letter: &Letter, filling: &Filling<'_>) {
        link.sender.message(link.io, !letter.is_binary, |out| letter.text.write(out, filling, 0));
    }
}

/// Tells each record of a frame, of which the last need not end; empty ones are nothing. Of the frame's bytes, compressed perhaps,
/// each record has its share.
fn hear_records(separator: &Finder<'_>, frame: &[u8], message: &Message<'_>, on: &mut impl Hears) {
    let so_far = |end: usize| (u64::from(message.wire_bytes) * end as u64 / frame.len().max(1) as u64) as u32;
    let (mut told, mut start) = (0, 0);
    while start < frame.len() {
        let length = separator.find(&frame[start..]);
        let record = &frame[start..][..length.unwrap_or(frame.len() - start)];
        start = length.map_or(frame.len(), |length| start + length + separator.needle().len());
        if !record.is_empty() {
            let bytes = so_far(start) - std::mem::replace(&mut told, so_far(start));
            on.hear(arrival(record, message.text, bytes));
        }
    }
}

#[inline(always)]
fn arrival(text: &[u8], is_text: bool, bytes: u32) -> Carried<'_> {
    let spelling = Spelling::Whole { is_text };
    Carried::Arrival(Arrival { text, spelling, found: None, says: Says::Unknown, bytes, open })
}

/// There is no envelope.
fn open(text: &[u8]) -> Option<Opened<'_>> {
    Some(Opened { event: b"".into(), body: text.into() })
}
