//! The client's side over a WebSocket: a packet is a message.

use app::template::Filling;
use codec::ws::MessageType;
use codec::ws::receiver::Message;
use codec::ws::sender::Sender;

use super::packed;
use super::parts::Parts;
use super::talk::{self, Phase, Said, Talk, TextPacket};
use crate::carried::{MessageTemplate, ProtocolHandler};
use crate::contract::ClientProtocol;
use crate::failure::Failure;
use crate::io::Io;
use crate::link::Link;
use crate::resumption::Resumption;

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
    fn handle_upgraded<I: Io>(&mut self, _link: &mut Link<'_, Parts, I>, _on: &mut impl ProtocolHandler) {}

    #[inline]
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message: &Message<'_>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let (payload, bytes) = (message.bytes()?, message.wire_bytes);
        let Link { parts, pending, identities, kept, now_ns, sender, io } = link;
        let unpacked = match message.message_type {
            // With this parser every binary message is a packet, as none has attachments of its own.
            MessageType::Binary if parts.is_packed => {
                Some(packed::unpack(payload).ok_or(Failure::BadMessage)?)
            }
            _ => None,
        };
        if message.message_type == MessageType::Text || unpacked.is_some() {
            let payload = unpacked.as_deref().unwrap_or(payload);
            let say = &mut |said: Said<'_>| {
                let filling = Filling::of(identities.context(io.client(), *now_ns, kept));
                put(sender, *io, parts, |out| match said {
                    Said::Connect(namespace) => namespace.write_connect(out, &filling),
                    Said::Resume(session) => parts.write_resume(out, &filling, session),
                    Said::Packet(packet) => out.extend_from_slice(packet),
                });
            };
            return self.talk.handle_text(
                parts,
                pending,
                *now_ns,
                TextPacket { text: payload, bytes },
                say,
                on,
            );
        }
        let before = self.talk.version.before_attachment();
        let attachment = payload.strip_prefix(before).ok_or(Failure::BadMessage)?;
        self.talk.handle_attachment(attachment, bytes, on)
    }

    fn resume(&mut self, resumption: &Resumption) {
        self.talk.resume(resumption);
    }

    fn resumption(&self) -> Option<&Resumption> {
        self.talk.resumption()
    }

    #[inline]
    fn send<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        message_template: &MessageTemplate,
        filling: &Filling<'_>,
    ) {
        let number = talk::number(&mut link.pending, message_template, filling);
        put(link.sender, link.io, link.parts, |out| message_template.text.write(out, filling, number));
        if let Some(attachment) = &message_template.attachment {
            let before = self.talk.version.before_attachment();
            link.sender.message(link.io, MessageType::Binary, |out| {
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
            link.sender.message(link.io, MessageType::Text, |out| out.push(b'2'));
        }
        Ok(())
    }
}

/// Sends the packet that `fill` appends as text, in the form that the server's parser reads.
#[inline]
fn put(sender: &mut Sender, io: &mut impl Io, parts: &Parts, fill: impl FnOnce(&mut Vec<u8>)) {
    if !parts.is_packed {
        return sender.message(io, MessageType::Text, fill);
    }
    let mut text = Vec::new();
    fill(&mut text);
    match packed::pack(&text) {
        // What is no packet of Socket.IO, such as a heartbeat, has no such form, and stays text.
        Some(map) => sender.message(io, MessageType::Binary, |out| out.extend_from_slice(&map)),
        None => sender.message(io, MessageType::Text, |out| out.extend_from_slice(&text)),
    }
}
