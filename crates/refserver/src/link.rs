//! A socket that does not lose what it could not send yet.

use std::io;

use net::poll::{Interest, Poller};
use net::socket::Socket;

/// A socket, registered for reading, and the bytes that it has not taken yet.
pub(crate) struct Link {
    pub(crate) socket: Socket,
    /// Exists only while there are some: most links have none most of the time.
    unsent: Option<Box<Unsent>>,
}

struct Unsent {
    bytes: Vec<u8>,
    sent: usize,
}

impl Link {
    pub(crate) fn new(socket: Socket) -> Link {
        Link { socket, unsent: None }
    }

    /// Bytes that the socket has not taken yet.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.unsent.as_ref().map_or(0, |unsent| unsent.bytes.len() - unsent.sent)
    }

    /// Sends bytes as they are, or keeps what the socket does not take and has `poller` say when it does.
    pub(crate) fn send(&mut self, bytes: &[u8], poller: &Poller, token: u64) -> io::Result<()> {
        if let Some(unsent) = &mut self.unsent {
            unsent.append(bytes);
            return Ok(());
        }
        let sent = self.try_send(bytes)?;
        if sent < bytes.len() {
            self.unsent = Some(Box::new(Unsent { bytes: bytes[sent..].to_vec(), sent: 0 }));
            poller.modify(&self.socket, token, Interest::ReadWriteEdge)?;
        }
        Ok(())
    }

    /// The socket has room: sends what was kept. True when nothing is left.
    pub(crate) fn flush(&mut self, poller: &Poller, token: u64) -> io::Result<bool> {
        let Some(mut unsent) = self.unsent.take() else { return Ok(true) };
        unsent.sent += self.try_send(&unsent.bytes[unsent.sent..])?;
        if unsent.sent < unsent.bytes.len() {
            self.unsent = Some(unsent);
            return Ok(false);
        }
        poller.modify(&self.socket, token, Interest::ReadEdge)?;
        Ok(true)
    }

    /// As many bytes as the socket takes now; 0 if it is full.
    fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.socket.send(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            result => result,
        }
    }
}

impl Unsent {
    fn append(&mut self, bytes: &[u8]) {
        if self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::poll::Events;
    use net::socket::pair;

    #[test]
    fn what_a_full_socket_does_not_take_comes_out_later_in_order() {
        let (ours, theirs) = pair().unwrap();
        let poller = Poller::new().unwrap();
        let mut link = Link::new(ours);
        poller.add(&link.socket, 1, Interest::ReadEdge).unwrap();
        let sent: Vec<u8> = (0..3_000_000u32).map(|number| (number % 251) as u8).collect();
        for part in sent.chunks(1_000_000) {
            link.send(part, &poller, 1).unwrap();
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
        assert_eq!(link.unsent_bytes(), 0);
    }
}
