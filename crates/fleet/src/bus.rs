//! The connection to NATS.

use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ConnectErrorKind, Message, Subscriber};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::Error;
use crate::access::Nats;
use crate::seal::SEAL_BYTES;
use crate::transport::Part;

/// Timeout of connecting, and of an answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two attempts to connect again: well within the lease, so that a restart of NATS costs
/// nothing.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(100);
/// The time after which a packet that the bus does not take is lost.
const PUBLISH_TIMEOUT: Duration = Duration::from_millis(100);
/// Bytes of a packet besides its part: five numbers of ten bytes, and to spare, and a signature.
pub(crate) const PACKET_OVERHEAD: usize = 64 + SEAL_BYTES;

/// A runtime for one connection.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread().enable_all().build().map_err(|error| Error::Start(error.to_string()))
}

/// A packet between a coordinator and one agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Packet {
    /// The claim that it belongs to.
    pub(crate) session: u64,
    /// The next part that the sender expects.
    pub(crate) ack: u32,
    pub(crate) content: Content,
}

/// Contents of a packet.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Content {
    /// A beat of the coordinator, sent at this time of its clock.
    Beat { sent_ns: u64 },
    /// An agent's answer to a beat, with its own clock's time, and its memory if that can be read.
    Answer { sent_ns: u64, here_ns: u64, rss_bytes: Option<u64> },
    /// No content: the packet only acknowledges.
    Ack,
    /// Part of a message.
    Part { number: u32, last: bool, bytes: Vec<u8> },
}

impl From<Part> for Content {
    fn from(Part { number, last, bytes }: Part) -> Self {
        Content::Part { number, last, bytes }
    }
}

impl Packet {
    /// The packet as it goes over the bus.
    pub(crate) fn write(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("our packets can be encoded")
    }

    /// Reads a packet of this session; `None` for anything else.
    pub(crate) fn read(bytes: &[u8], session: u64) -> Option<Packet> {
        postcard::from_bytes(bytes).ok().filter(|packet: &Packet| packet.session == session)
    }
}

/// A connection to NATS that reconnects by itself.
#[derive(Clone)]
pub(crate) struct Bus {
    client: Client,
}

impl Bus {
    /// Connects.
    pub(crate) async fn connect(nats: &Nats) -> Result<Bus, Error> {
        let failed = |why: String| Error::Connect { url: nats.address(), why };
        let (url, options) = nats.options().map_err(failed)?;
        let options = options
            .name("throng")
            .no_echo() // nobody has to hear himself
            .connection_timeout(CONNECT_TIMEOUT)
            .reconnect_delay_callback(|_| RECONNECT_INTERVAL);
        let client = options.connect(url.as_str()).await.map_err(|error| match error.kind() {
            ConnectErrorKind::AuthorizationViolation => Error::Denied { url: nats.address() },
            _ => failed(error.to_string()),
        })?;
        Ok(Bus { client })
    }

    /// The largest payload that the server takes.
    pub(crate) fn payload_bytes_max(&self) -> usize {
        self.client.max_payload()
    }

    /// Subscribes to a subject from now on.
    pub(crate) async fn subscribe(&self, subject: String) -> Result<Subscriber, Error> {
        let heard = self.client.subscribe(subject).await.map_err(|error| Error::Lost(error.to_string()))?;
        self.flush().await?;
        Ok(heard)
    }

    /// Waits until the server has everything.
    pub(crate) async fn flush(&self) -> Result<(), Error> {
        let flushed = timeout(CONNECT_TIMEOUT, self.client.flush()).await;
        let flushed = flushed.map_err(|_| Error::Lost("NATS does not answer".into()))?;
        flushed.map_err(|error| Error::Lost(error.to_string()))
    }

    /// Returns whether there is a server at the other end.
    pub(crate) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Publishes, if the bus takes it soon, and returns whether it did: messages that must arrive use a
    /// transport.
    pub(crate) async fn publish(&self, subject: &str, payload: Vec<u8>) -> bool {
        if !self.is_connected() {
            return false;
        }
        let taken = timeout(PUBLISH_TIMEOUT, self.client.publish(subject.to_owned(), payload.into())).await;
        taken.is_ok_and(|published| published.is_ok())
    }

    /// Asks all listeners of a subject, and takes their answers until `enough` have come or `within` is over.
    pub(crate) async fn ask(
        &self,
        subject: &str,
        question: Vec<u8>,
        within: Duration,
        mut enough: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        let inbox = self.client.new_inbox();
        let mut answers = self.subscribe(inbox.clone()).await?;
        let asked = self.client.publish_with_reply(subject.to_owned(), inbox, question.into()).await;
        asked.map_err(|error| Error::Lost(error.to_string()))?;
        let hear = async {
            while let Some(answer) = answers.next().await {
                // Without listeners the server says so at once, with nothing in it (NATS "no responders").
                if answer.status.is_some() || enough(&answer.payload) {
                    return;
                }
            }
        };
        let _ = timeout(within, hear).await;
        Ok(())
    }

    /// Answers a question.
    pub(crate) async fn answer(&self, question: &Message, answer: Vec<u8>) {
        if let Some(inbox) = &question.reply {
            self.publish(inbox.as_str(), answer).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_other_sessions_and_noise_are_none() {
        let content = Content::Part { number: u32::MAX, last: true, bytes: vec![1; 900] };
        let packet = Packet { session: u64::MAX, ack: u32::MAX, content };
        let bytes = packet.write();
        assert!(bytes.len() <= 900 + PACKET_OVERHEAD);
        assert_eq!(Packet::read(&bytes, u64::MAX).map(|packet| packet.content), Some(packet.content));
        assert!(Packet::read(&bytes, 7).is_none());
        for end in 0..bytes.len() {
            assert!(Packet::read(&bytes[..end], u64::MAX).is_none());
        }
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let noise: Vec<u8> = (0..rng.usize(..64)).map(|_| rng.u8(..)).collect();
            let _ = Packet::read(&noise, 0);
        }
    }
}
