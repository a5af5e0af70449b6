//! How broadcasts get from one process to others: batches over socket pairs, to each of its siblings.
//!
//! A batch is the number of bytes that follow (u32), the messages (u32), the topic (u64), the dialect (u8),
//! all little-endian, and the frames. Batches are never forwarded, so that none can come twice. Siblings are
//! this program, so that bytes of another form are its own error.

use std::io;

use net::poll::{Event, Interest, Poller};
use net::socket::Socket;
use wire::{DialectId, Room};

use crate::group::RoomBatch;
use crate::held::Held;
use crate::link::{Link, Way};
use crate::mailbox::QUEUED_BYTES_MAX;

/// The size of a batch's length field, which holds the number of bytes that follow.
const LENGTH_BYTES: usize = 4;

/// The size of a batch's head behind the length, without the frames.
const HEAD_BYTES: usize = 13;

/// The first worker's links to the other processes; none in a server of one process.
pub(crate) struct Mesh {
    /// The links to the siblings; a sibling that has ended leaves a gap, and gets no broadcasts.
    peers: Vec<Option<Peer>>,
    first_token: u64,
    /// The peer's own account, so that each peer has its own bound.
    held: Held,
}

struct Peer {
    link: Link,
    /// The start of a batch whose rest has not arrived.
    partial: Vec<u8>,
}

impl Mesh {
    /// Watches the sockets with tokens from `first_token` on.
    pub(crate) fn new(sockets: Vec<Socket>, poller: &Poller, first_token: u64) -> io::Result<Mesh> {
        for (token, socket) in (first_token..).zip(&sockets) {
            poller.add(socket, token, Interest::ReadEdge)?;
        }
        let peer = |socket| Some(Peer { link: Link::new(socket), partial: Vec::new() });
        Ok(Mesh { peers: sockets.into_iter().map(peer).collect(), first_token, held: Held::new(usize::MAX) })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// Sends a batch to every sibling, and returns the number of siblings that did not take it, because they
    /// were too far behind, or gone.
    pub(crate) fn send(&mut self, room_batch: &RoomBatch, poller: &Poller) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let bytes = encode(room_batch);
        let mut refused = 0;
        for (token, slot) in (self.first_token..).zip(&mut self.peers) {
            let Some(peer) = slot else {
                refused += 1;
                continue;
            };
            // A batch is left out whole: half of one would put all that follows out of step.
            if peer.link.unsent_bytes() + bytes.len() > QUEUED_BYTES_MAX {
                refused += 1;
            } else if peer.link.send(&bytes, Way { poller, token, held: &self.held }).is_err() {
                *slot = None;
                refused += 1;
            }
        }
        refused
    }

    /// Handles an event of the peer of that token: appends the batches that are complete to `arrived`.
    pub(crate) fn handle_event(
        &mut self,
        event: Event,
        poller: &Poller,
        buffer: &mut [u8],
        arrived: &mut Vec<RoomBatch>,
    ) {
        let slot = &mut self.peers[(event.token - self.first_token) as usize];
        let Some(peer) = slot else { return };
        let flushed = if event.writable { peer.link.flush(poller, event.token) } else { Ok(true) };
        if flushed.and_then(|_| peer.read(buffer, arrived)).is_err() {
            *slot = None;
        }
    }
}

impl Peer {
    fn read(&mut self, buffer: &mut [u8], arrived: &mut Vec<RoomBatch>) -> io::Result<()> {
        loop {
            match self.link.socket.recv(buffer) {
                // The peer has ended: its place becomes a gap.
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.partial.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            let mut rest = &self.partial[..];
            while let Some((bytes, behind)) = split(rest) {
                arrived.push(decode(bytes));
                rest = behind;
            }
            let done = self.partial.len() - rest.len();
            self.partial.drain(..done);
        }
    }
}

fn encode(room_batch: &RoomBatch) -> Vec<u8> {
    let length = HEAD_BYTES + room_batch.frames.len();
    let mut bytes = Vec::with_capacity(LENGTH_BYTES + length);
    bytes.extend((length as u32).to_le_bytes());
    bytes.extend(room_batch.messages.to_le_bytes());
    bytes.extend(room_batch.room.topic.to_le_bytes());
    let dialect = DialectId::ALL.iter().position(|&dialect| dialect == room_batch.room.dialect);
    // By its place in ALL, which all processes of one version share.
    bytes.push(dialect.expect("ALL has every dialect") as u8);
    bytes.extend_from_slice(&room_batch.frames);
    bytes
}

/// Splits bytes into the first batch and the rest; `None` while the batch is incomplete.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    let length = u32::from_le_bytes(*length) as usize;
    // Else a wrong length would have everything that follows gathered as one batch.
    assert!(length <= HEAD_BYTES + QUEUED_BYTES_MAX, "a sibling's batch has {length} bytes");
    rest.split_at_checked(length)
}

/// Decodes a batch, whole and without its length.
fn decode(bytes: &[u8]) -> RoomBatch {
    let (head, frames) = bytes.split_first_chunk::<HEAD_BYTES>().expect("a sibling's batch has a head");
    let [m0, m1, m2, m3, topic @ .., dialect] = *head;
    let messages = u32::from_le_bytes([m0, m1, m2, m3]);
    let dialect = *DialectId::ALL.get(usize::from(dialect)).expect("a sibling has the same ALL");
    let room = Room { dialect, topic: u64::from_le_bytes(topic) };
    RoomBatch { room, messages, frames: frames.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::poll::Events;
    use net::socket::pair;

    /// Makes a batch of a dialect whose messages may be any bytes.
    fn room_batch(frames: &[u8]) -> RoomBatch {
        let room = Room { dialect: DialectId::Binary, topic: 0x0102_0304_0506_0708 };
        RoomBatch { room, messages: 2, frames: frames.into() }
    }

    const ONE: &[u8] = &[0x82, 1, 1, 0x82, 0];
    const ANOTHER: &[u8] = &[0x82, 2, 7, 8, 0x82, 1, 9];

    #[test]
    fn parcels_survive_any_segmentation() {
        let bytes = [encode(&room_batch(ONE)), encode(&room_batch(ANOTHER))].concat();
        for step in 1..=bytes.len() {
            let (ours, theirs) = pair().unwrap();
            let mut peer = Peer { link: Link::new(theirs), partial: Vec::new() };
            let mut arrived = Vec::new();
            for part in bytes.chunks(step) {
                ours.send(part).unwrap();
                peer.read(&mut [0; 64], &mut arrived).unwrap();
            }
            let frames: Vec<&[u8]> = arrived.iter().map(|room_batch| &room_batch.frames[..]).collect();
            assert_eq!(frames, [ONE, ANOTHER], "in steps of {step}");
            assert!(arrived.iter().all(|of| of.messages == 2 && of.room == room_batch(b"").room));
            assert!(peer.partial.is_empty());
        }
    }

    #[test]
    #[should_panic(expected = "a sibling's batch has 4294967295 bytes")]
    fn impossible_lengths_are_errors_of_this_program() {
        split(&[0xff; LENGTH_BYTES]);
    }

    #[test]
    fn batches_for_the_gone_and_slow_are_counted() {
        let poller = Poller::new().unwrap();
        let (ours, gone) = pair().unwrap();
        let (also_ours, sleeper) = pair().unwrap();
        let mut mesh = Mesh::new(vec![ours, also_ours], &poller, 7).unwrap();
        drop(gone);
        let large = room_batch(&vec![0; QUEUED_BYTES_MAX / 2]);
        assert_eq!(mesh.send(&large, &poller), 1, "one is gone");
        assert_eq!(mesh.send(&large, &poller), 1, "the other has room");
        assert_eq!(mesh.send(&large, &poller), 2, "full");
        assert!(mesh.peers[1].as_ref().unwrap().link.unsent_bytes() <= QUEUED_BYTES_MAX);
        drop(sleeper);
        let mut events = Events::with_capacity(4);
        poller.wait(&mut events, Some(1_000_000_000)).unwrap();
        for event in events.iter() {
            mesh.handle_event(event, &poller, &mut [0; 64], &mut Vec::new());
        }
        assert!(mesh.peers.iter().all(Option::is_none));
    }
}
