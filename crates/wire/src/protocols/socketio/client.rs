//! The client's side over a WebSocket: a packet is a message.

use super::parts::Parts;
use super::talk::{self, Phase, Said, Talk};
use crate::carried::{Hears, Letter};
use crate::contract::ClientProtocol;
use crate::failure::Failure;
use crate::io::Io;
use crate::link::Link;
use crate::resumption::Resumption;
use crate::template::Filling;
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
        let Link { parts, pending, roll, kept, now_ns, sender, io } = link;
        if message.text {
            let say = &mut |said: Said<'_>| {
                let filling = Filling::of(roll.who(io.client(), *now_ns, kept));
                sender.message(*io, true, |out| match said {
                    Said::Connect(packet) => packet.write(out, &filling, 0),
                    Said::Resume(session) => parts.write_resume(out, &filling, session),
                    Said::Packet(packet) => out.extend_from_slice(packet),
                });
            };
            return self.talk.handle_text(parts, pending, *now_ns, (payload, bytes), say, on);
        }
        let before = self.talk.version.before_attachment();
        let attachment = payload.strip_prefix(before).ok_or(Failure::BadMessage)?;
        self.talk.handle_attachment((attachment, bytes), on)
    }

    fn resume(&mut self, resumption: &Resumption) {
        self.talk.resume(resumption);
    }

    fn resumption(&self) -> Option<&Resumption> {
        self.talk.resumption()
    }

    #[inline]
    fn send<I: Io>(&mut self, link: &mut Link<'_, Parts, I>, letter: &Letter, filling: &Filling<'_>) {
        let number = talk::number(&mut link.pending, letter, filling);
        link.sender.message(link.io, true, |out| letter.text.write(out, filling, number));
        if let Some(attachment) = &letter.attachment {
            let before = self.talk.version.before_attachment();
            link.sender.message(link.io, false, |out| {
                out.extend_from_slice(before);
                attachment.write(out, filling, number);
            });
        }
    }

    fn is_ready(&self) -> bool {
        self.talk.phase == Phase::Usable
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.talk.poll_timeout()
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut Link<'_, Parts, I>) -> Result<(), Failure> {
        if self.talk.handle_timeout(link.now_ns)? {
            link.sender.message(link.io, true, |out| out.push(b'2'));
        }
        Ok(())
    }
}
