//! The client's side: no state.

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
    type Parts = ();

    fn handle_upgraded<I: Io>(&mut self, _link: &mut Link<'_, (), I>, on: &mut impl Hears) {
        on.hear(Carried::Ready);
    }

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        _link: &mut Link<'_, (), I>,
        message: &Message<'_>,
        on: &mut impl Hears,
    ) -> Result<(), Failure> {
        let text = message.bytes()?;
        on.hear(Carried::Arrival(Arrival {
            text,
            spelling: Spelling::Whole { is_text: message.text },
            found: None,
            says: Says::Unknown,
            bytes: message.wire_bytes,
            open,
        }));
        Ok(())
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, (), I>, letter: &Letter, filling: &Filling<'_>) {
        link.sender.message(link.io, !letter.is_binary, |out| letter.text.write(out, filling, 0));
    }
}

/// There is no envelope.
fn open(text: &[u8]) -> Option<Opened<'_>> {
    Some(Opened { event: b"".into(), body: text.into() })
}
