//! The client's side over a WebSocket: a packet is a message.

use super::talk::{self, Phase, Talk};
use crate::dialects::contract::{ClientDialect, Link};
use crate::event::{Event, Kind};
use crate::failure::Failure;
use crate::io::Io;
use crate::stamp::Stamp;
use crate::ws::receiver::Message;

/// One connection's side.
#[derive(Debug, Default)]
pub(crate) struct Client {
    talk: Talk,
}

impl Client {
    /// The side of a session that has begun over requests.
    pub(crate) fn of(talk: Talk) -> Client {
        Client { talk }
    }
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
        let Link { cfg, now_ns, sender, io, .. } = link;
        if message.text {
            let say = &mut |packet: &[u8]| sender.message(*io, true, |out| out.extend_from_slice(packet));
            return self.talk.handle_text(cfg, *now_ns, (payload, bytes), say, on);
        }
        let before = self.talk.version.before_attachment();
        let attachment = payload.strip_prefix(before).ok_or(Failure::BadMessage)?;
        self.talk.handle_attachment(cfg, (attachment, bytes), on)
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, I>, unix_ns: u64, kind: Kind, stamp: Stamp) {
        let cfg = link.cfg;
        link.sender.message(link.io, true, |out| talk::write_text(out, cfg, unix_ns, kind, stamp));
        if cfg.options().of_dialect.binary {
            let before = self.talk.version.before_attachment();
            link.sender.message(link.io, false, |out| {
                out.extend_from_slice(before);
                talk::write_attachment(out, cfg, stamp);
            });
        }
    }

    fn is_usable(&self) -> bool {
        self.talk.phase == Phase::Usable
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.talk.poll_timeout()
    }

    fn handle_timeout<I: Io>(
        &mut self,
        link: &mut Link<'_, I>,
        _on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        if self.talk.handle_timeout(link.now_ns)? {
            link.sender.message(link.io, true, |out| out.push(b'2'));
        }
        Ok(())
    }
}
