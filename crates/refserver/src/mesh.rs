//! How broadcasts get from one process to its siblings: parcels over socket pairs, each with every other.
//!
//! A parcel is a header (bytes of frames, u32; messages, u32; topic, u64; dialect, u8; little-endian) and the
//! frames. Parcels are never forwarded, so that none can come twice.

use std::io;

use net::poll::{Event, Interest, Poller};
use net::socket::Socket;
use wire::{DialectId, Room};

use crate::link::Link;
use crate::mailbox::{Parcel, QUEUED_BYTES_MAX};

const HEADER_BYTES: usize = 17;

/// The first worker's links to the other processes; none in a server of one process.
pub(crate) struct Mesh {
    /// A sibling that has ended leaves a gap, and goes without broadcasts.
    peers: Vec<Option<Peer>>,
    first_token: u64,
}

struct Peer {
    link: Link,
    /// The start of a parcel whose rest has not arrived.
    partial: Vec<u8>,
}

impl Mesh {
    /// Watches the sockets with tokens from `first_token` on.
    pub(crate) fn new(sockets: Vec<Socket>, poller: &Poller, first_token: u64) -> io::Result<Mesh> {
        for (token, socket) in (first_token..).zip(&sockets) {
            poller.add(socket, token, Interest::ReadEdge)?;
        }
        let peer = |socket| Some(Peer { link: Link::new(socket), partial: Vec::new() });
        Ok(Mesh { peers: sockets.into_iter().map(peer).collect(), first_token })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// Sends a parcel to every sibling; says how many did not take it, being too far behind, or gone.
    pub(crate) fn send(&mut self, parcel: &Parcel, poller: &Poller) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let bytes = encode(parcel);
        let mut refused = 0;
        for (token, slot) in (self.first_token..).zip(&mut self.peers) {
            let Some(peer) = slot else { continue };
            if peer.link.unsent_bytes() + bytes.len() > QUEUED_BYTES_MAX {
                refused += 1;
            } else if peer.link.send(&bytes, poller, token).is_err() {
                *slot = None;
                refused += 1;
            }
        }
        refused
    }

    /// Something happened to the sibling of that token: appends the parcels that are complete to `arrived`.
    pub(crate) fn handle_event(
        &mut self,
        event: Event,
        poller: &Poller,
        buffer: &mut [u8],
        arrived: &mut Vec<Parcel>,
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
    fn read(&mut self, buffer: &mut [u8], arrived: &mut Vec<Parcel>) -> io::Result<()> {
        loop {
            match self.link.socket.recv(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.partial.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            let mut rest = &self.partial[..];
            while let Some((parcel, behind)) = decode(rest)? {
                arrived.push(parcel);
                rest = behind;
            }
            let done = self.partial.len() - rest.len();
            self.partial.drain(..done);
        }
    }
}

fn encode(parcel: &Parcel) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + parcel.frames.len());
    bytes.extend((parcel.frames.len() as u32).to_le_bytes());
    bytes.extend(parcel.messages.to_le_bytes());
    bytes.extend(parcel.room.topic.to_le_bytes());
    let dialect = DialectId::ALL.iter().position(|&dialect| dialect == parcel.room.dialect);
    bytes.push(dialect.expect("ALL has every dialect") as u8);
    bytes.extend_from_slice(&parcel.frames);
    bytes
}

/// The first parcel and what is behind it; `None` while it is incomplete. Fails on what no sibling sends.
fn decode(bytes: &[u8]) -> io::Result<Option<(Parcel, &[u8])>> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let [l0, l1, l2, l3, m0, m1, m2, m3, topic @ .., dialect] = *header;
    let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    let dialect = *DialectId::ALL.get(usize::from(dialect)).ok_or(io::ErrorKind::InvalidData)?;
    if len > QUEUED_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let Some((frames, behind)) = rest.split_at_checked(len) else { return Ok(None) };
    let messages = u32::from_le_bytes([m0, m1, m2, m3]);
    let room = Room { dialect, topic: u64::from_le_bytes(topic) };
    Ok(Some((Parcel { room, messages, frames: frames.into() }, behind)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::poll::Events;
    use net::socket::pair;

    fn parcel(text: &[u8]) -> Parcel {
        let room = Room { dialect: DialectId::Json, topic: 0x0102_0304_0506_0708 };
        Parcel { room, messages: 3, frames: text.into() }
    }

    #[test]
    fn parcels_survive_any_segmentation() {
        let bytes = [encode(&parcel(b"one")), encode(&parcel(b""))].concat();
        for step in 1..=bytes.len() {
            let (ours, theirs) = pair().unwrap();
            let mut peer = Peer { link: Link::new(theirs), partial: Vec::new() };
            let mut arrived = Vec::new();
            for part in bytes.chunks(step) {
                ours.send(part).unwrap();
                peer.read(&mut [0; 64], &mut arrived).unwrap();
            }
            let frames: Vec<&[u8]> = arrived.iter().map(|parcel| &parcel.frames[..]).collect();
            assert_eq!(frames, [&b"one"[..], b""], "in steps of {step}");
            assert!(arrived.iter().all(|of| of.messages == 3 && of.room == parcel(b"").room));
            assert!(peer.partial.is_empty());
        }
    }

    #[test]
    fn what_no_sibling_sends_is_an_error() {
        assert!(decode(&[1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 99]).is_err(), "an unknown dialect");
        assert!(
            decode(&[0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_err(),
            "an absurd length"
        );
    }

    #[test]
    fn a_sibling_that_is_gone_refuses_and_one_that_sleeps_is_bounded() {
        let poller = Poller::new().unwrap();
        let (ours, gone) = pair().unwrap();
        let (also_ours, sleeper) = pair().unwrap();
        let mut mesh = Mesh::new(vec![ours, also_ours], &poller, 7).unwrap();
        drop(gone);
        let large = parcel(&vec![0; QUEUED_BYTES_MAX / 2]);
        assert_eq!(mesh.send(&large, &poller), 1, "one is gone");
        assert_eq!(mesh.send(&large, &poller), 0, "the other has room, and the gone one is forgotten");
        assert_eq!(mesh.send(&large, &poller), 1, "full");
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
