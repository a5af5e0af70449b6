//! A socket that does not lose what it could not send yet.

use std::io;

use net::poll::{Interest, Poller};
use net::socket::Socket;

use crate::backlog::{Backlog, Batch};
use crate::held::Held;

/// A socket, registered for reading, and the bytes that it has not taken yet.
pub(crate) struct Link {
    pub(crate) socket: Socket,
    /// The bytes that wait, while there are any: most links have none most of the time.
    unsent: Option<Box<Backlog>>,
}

/// The resources for sending: a poller and a token to learn when the socket has room again, and the account
/// of the bytes that wait until then.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) poller: &'a Poller,
    pub(crate) token: u64,
    pub(crate) held: &'a Held,
}

impl Link {
    pub(crate) fn new(socket: Socket) -> Link {
        Link { socket, unsent: None }
    }

    /// The number of bytes that the socket has not taken yet.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.unsent.as_ref().map_or(0, |unsent| unsent.unsent_bytes())
    }

    /// Notes how many bytes the peer has not taken, and returns whether they are fewer than at the last note.
    pub(crate) fn note_progress(&mut self) -> bool {
        let Some(unsent) = &mut self.unsent else { return false };
        unsent.note_left(self.socket.unacknowledged_bytes().unwrap_or(0) as usize)
    }

    /// Returns whether another batch of broadcasts may be kept for the client. Bytes on their way do not
    /// count, nor do answers; and one batch may wait in any case.
    pub(crate) fn has_room_for(&self, batch_bytes: usize, bytes_max: usize) -> bool {
        let behind_bytes = self.unsent.as_ref().map_or(0, |unsent| unsent.copies_behind_bytes());
        // A batch above the bound could never be kept else, be the client as fast as it may.
        behind_bytes == 0 || behind_bytes + batch_bytes <= bytes_max
    }

    /// Sends bytes as they are, or keeps the rest that the socket does not take, and has the poller report
    /// when it has room.
    pub(crate) fn send(&mut self, bytes: &[u8], way: Way<'_>) -> io::Result<()> {
        let sent = self.begin(bytes)?;
        if sent < bytes.len() {
            self.backlog(way)?.push_answer(&bytes[sent..]);
        }
        Ok(())
    }

    /// Sends broadcasts, which other clients also get, and keeps the rest that the socket does not take.
    pub(crate) fn send_copies(&mut self, batch: &mut Batch<'_>, way: Way<'_>) -> io::Result<()> {
        let sent = self.begin(batch.bytes())?;
        if sent < batch.bytes().len() {
            self.backlog(way)?.push_copies(batch, sent);
        }
        Ok(())
    }

    /// Sends the kept bytes once the socket has room. True: nothing is left.
    pub(crate) fn flush(&mut self, poller: &Poller, token: u64) -> io::Result<bool> {
        let Some(unsent) = &mut self.unsent else { return Ok(true) };
        while !unsent.next().is_empty() {
            match try_send(&self.socket, unsent.next())? {
                0 => return Ok(false),
                sent => unsent.advance(sent),
            }
        }
        // Its memory goes as soon as the client has caught up.
        self.unsent = None;
        poller.modify(&self.socket, token, Interest::ReadEdge)?;
        Ok(true)
    }

    /// Sends as many of the bytes as the socket takes at once, and returns their number: 0 while earlier
    /// bytes wait.
    #[inline]
    fn begin(&self, bytes: &[u8]) -> io::Result<usize> {
        if self.unsent.is_some() { Ok(0) } else { try_send(&self.socket, bytes) }
    }

    /// Gives the backlog for bytes that have to wait.
    fn backlog(&mut self, way: Way<'_>) -> io::Result<&mut Backlog> {
        if self.unsent.is_none() {
            // Room that has appeared since the send is not missed: epoll looks anew when the interest
            // changes.
            way.poller.modify(&self.socket, way.token, Interest::ReadWriteEdge)?;
        }
        Ok(self.unsent.get_or_insert_with(|| Box::new(Backlog::new(way.held))))
    }
}

/// Sends as many bytes as the socket takes now, and returns their number; 0 if the socket is full.
fn try_send(socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    match socket.send(bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::poll::Events;
    use net::socket::pair;

    #[test]
    fn bytes_beyond_a_full_socket_keep_order() {
        let (ours, theirs) = pair().unwrap();
        let poller = Poller::new().unwrap();
        let (mut link, held) = (Link::new(ours), Held::new(usize::MAX));
        poller.add(&link.socket, 1, Interest::ReadEdge).unwrap();
        let sent: Vec<u8> = (0..3_000_000u32).map(|number| (number % 251) as u8).collect();
        for part in sent.chunks(1_000_000) {
            link.send(part, Way { poller: &poller, token: 1, held: &held }).unwrap();
        }
        assert!(link.unsent_bytes() > 2_000_000, "{}", link.unsent_bytes());
        let (mut received, mut buffer) = (Vec::new(), vec![0; 100_000]);
        let mut events = Events::with_capacity(4);
        while received.len() < sent.len() {
            match theirs.recv(&mut buffer) {
                Ok(count) => received.extend_from_slice(&buffer[..count]),
                Err(_) => {
                    poller.wait(&mut events, Some(5_000_000_000)).unwrap();
                    assert!(events.iter().any(|event| event.writable), "never writable");
                    link.flush(&poller, 1).unwrap();
                }
            }
        }
        assert!(received == sent);
        assert_eq!((link.unsent_bytes(), held.bytes()), (0, 0));
    }

    #[test]
    fn only_readers_may_exceed_the_limit() {
        const LARGE_BYTES: usize = 4 << 20;
        let (ours, _theirs) = pair().unwrap();
        let poller = Poller::new().unwrap();
        let (mut link, held) = (Link::new(ours), Held::new(usize::MAX));
        poller.add(&link.socket, 1, Interest::ReadEdge).unwrap();
        let way = Way { poller: &poller, token: 1, held: &held };
        let large = vec![0; LARGE_BYTES];
        // Its own copy behind its own result, as one turn may have it.
        link.send(&large, way).unwrap();
        assert!(link.has_room_for(LARGE_BYTES, 1 << 20));
        link.send_copies(&mut Batch::new(&large), way).unwrap();
        assert!(!link.has_room_for(1, 1 << 20), "it does not read");
        assert!(link.has_room_for(1, 2 * LARGE_BYTES));
    }
}
