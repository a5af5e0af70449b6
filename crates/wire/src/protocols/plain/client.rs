//! The client's side: no state.

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
        if link.parts.by_line {
            hear_lines(text, message, on);
        } else {
            on.hear(arrival(text, message.text, message.wire_bytes));
        }
        Ok(())
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, Parts, I>, letter: &Letter, filling: &Filling<'_>) {
        link.sender.message(link.io, !letter.is_binary, |out| letter.text.write(out, filling, 0));
    }
}

/// Tells each line of a frame, of which the last need not end; empty ones are nothing. Of the frame's bytes, compressed perhaps,
/// each line has its share.
fn hear_lines(frame: &[u8], message: &Message<'_>, on: &mut impl Hears) {
    let so_far = |end: usize| u64::from(message.wire_bytes) * end as u64 / frame.len() as u64;
    let (mut told, mut end) = (0, 0);
    for line in frame.split_inclusive(|&byte| byte == b'\n') {
        end += line.len();
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if !text.is_empty() {
            let bytes = so_far(end) - std::mem::replace(&mut told, so_far(end));
            on.hear(arrival(text, message.text, bytes as u32));
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
