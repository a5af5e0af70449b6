//! One end of the link between a coordinator and an agent: a transport, and when the other end was last
//! heard.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bus::{Bus, Content, PACKET_OVERHEAD, Packet};
use crate::envelope::Envelope;
use crate::seal::Seal;
use crate::talk::LEASE_NS;
use crate::transport::{Part, ProtocolViolation, Transport};

/// Parts after which an acknowledgement goes out at once, so that an end that sends much need not wait for
/// the next beat.
const ACK_PARTS: u32 = 8;

/// One end of a link.
pub(crate) struct Link {
    /// The subject that the other end listens to.
    subject: String,
    session: u64,
    transport: Transport,
    /// The next expected part, as the other end was last told.
    told: u32,
    heard_ns: u64,
    /// Signs what goes out.
    signs: Option<Seal>,
    /// Checks the signatures of what comes in.
    obeys: Option<Seal>,
}

/// Something received.
pub(crate) enum Incoming<T> {
    /// Nothing for this link, or only a part of a message.
    Nothing,
    /// The other end is there.
    Beat(Content),
    /// A whole message.
    Message(T),
}

impl Link {
    /// A link whose other end has just been heard.
    pub(crate) fn new(bus: &Bus, subject: String, session: u64, now_ns: u64) -> Self {
        let transport = Transport::new(bus.payload_bytes_max(), PACKET_OVERHEAD);
        Self { subject, session, transport, told: 0, heard_ns: now_ns, signs: None, obeys: None }
    }

    /// Seals what goes out, so that only the other end can read it.
    pub(crate) fn sealing(self, envelope: Envelope) -> Self {
        Self { transport: self.transport.sealing(envelope), ..self }
    }

    /// Opens what comes in, which the other end seals.
    pub(crate) fn opening(self, envelope: Envelope) -> Self {
        Self { transport: self.transport.opening(envelope), ..self }
    }

    /// Signs what goes out, if there is a seal.
    pub(crate) fn signing(self, seal: Option<Seal>) -> Self {
        Self { signs: seal, ..self }
    }

    /// Ignores what comes in without a valid signature, if there is a seal to check it with.
    pub(crate) fn obeying(self, seal: Option<Seal>) -> Self {
        Self { obeys: seal, ..self }
    }

    /// Queues a message for the other end, which goes out with the next [`pump`](Self::pump).
    pub(crate) fn send(&mut self, message: &impl Serialize) {
        self.transport.send(message);
    }

    /// Sends what is due.
    pub(crate) async fn pump(&mut self, bus: &Bus, now_ns: u64) {
        while let Some(part) = self.transport.poll_part(now_ns) {
            self.put(bus, part.into()).await;
        }
        if self.transport.expected() - self.told >= ACK_PARTS {
            self.put(bus, Content::Ack).await;
        }
    }

    /// Sends this content at once, with an acknowledgement of what has arrived here.
    pub(crate) async fn put(&mut self, bus: &Bus, content: Content) {
        self.told = self.transport.expected();
        let packet = Packet { session: self.session, ack: self.told, content }.write();
        let packet = self.signs.as_mut().map(|seal| seal.close(&packet)).unwrap_or(packet);
        bus.publish(&self.subject, packet).await;
    }

    /// Handles a packet from the bus.
    pub(crate) fn handle<T: DeserializeOwned>(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
    ) -> Result<Incoming<T>, ProtocolViolation> {
        self.handle_if(true, bytes, now_ns)
    }

    /// Handles a packet, but a message only if `takes_messages`: otherwise the other end sends it again, as
    /// if the bus had lost it.
    pub(crate) fn handle_if<T: DeserializeOwned>(
        &mut self,
        takes_messages: bool,
        bytes: &[u8],
        now_ns: u64,
    ) -> Result<Incoming<T>, ProtocolViolation> {
        let opened = self.obeys.as_mut().map_or(Some(bytes), |seal| seal.open(bytes));
        let packet = opened.and_then(|bytes| Packet::read(bytes, self.session));
        let Some(packet) = packet else { return Ok(Incoming::Nothing) };
        // Only for packets that pass the seal: forged ones must not keep the lease.
        self.heard_ns = now_ns;
        self.transport.handle_ack(packet.ack, now_ns);
        match packet.content {
            // The acknowledgement in it has been taken, and the other end is known to be there; only the part
            // is left for later.
            Content::Part { .. } if !takes_messages => Ok(Incoming::Nothing),
            Content::Part { number, last, bytes } => {
                let message = self.transport.handle_part(&Part { number, last, bytes })?;
                Ok(message.map_or(Incoming::Nothing, Incoming::Message))
            }
            Content::Ack => Ok(Incoming::Nothing),
            beat @ (Content::Beat { .. } | Content::Answer { .. }) => Ok(Incoming::Beat(beat)),
        }
    }

    /// Returns whether the other end has been silent for longer than the lease.
    pub(crate) fn is_lost(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.heard_ns) > LEASE_NS
    }

    /// Returns whether the other end has said nothing for most of the lease, in which it is asked six times.
    pub(crate) fn is_silent(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.heard_ns) > LEASE_NS / 4 * 3
    }

    /// Returns whether a message that can wait may go out.
    pub(crate) fn has_room(&self) -> bool {
        self.transport.has_room()
    }

    /// Returns whether too much waits to add more.
    pub(crate) fn is_full(&self) -> bool {
        self.transport.is_full()
    }

    /// Returns whether everything has arrived at the other end.
    pub(crate) fn is_idle(&self) -> bool {
        self.transport.is_idle()
    }
}
