//! One connection's bytes: socket, TLS if any, and what could not be sent yet.

use std::io::{self, ErrorKind};

use net::clock;
use net::socket::Socket;
use net::tls::{ClientSide, ClientTls, Tls};
use wire::Outgoing;

use crate::books::Cause;

/// A lag beyond which the wall clock must have been set: no event waits this long in a loop that makes
/// progress.
const LAG_NS_MAX: u64 = 60_000_000_000;

/// A connection, or none. What only busy or secured connections need lives in boxes.
#[derive(Default)]
pub(crate) struct Link {
    pub(crate) socket: Option<Socket>,
    pub(crate) tls: Option<Tls<ClientSide>>,
    /// Output that the socket has not taken yet. A client with more of it than is kept is given up as
    /// `unread`. The plan limits the size of messages before the run.
    unsent: Option<Box<Outgoing>>,
    /// The TCP connect is under way.
    pub(crate) is_connecting: bool,
    is_closing: bool,
}

/// The state of TLS behind bytes that came in.
#[derive(Clone, Copy)]
pub(crate) struct Secured {
    pub(crate) was_handshaking: bool,
    pub(crate) is_handshaking: bool,
    /// True if the handshake, which is over with these bytes, went on with an earlier session.
    pub(crate) is_resumed: bool,
}

impl Link {
    /// The link over a socket that is connecting.
    pub(crate) fn connecting(socket: Socket) -> Self {
        Self { socket: Some(socket), is_connecting: true, ..Self::default() }
    }

    /// Notes that the socket, which was connecting, is writable: it is connected, or has failed.
    pub(crate) fn handle_connected(&mut self) -> Result<(), Cause> {
        let Some(socket) = &self.socket else { return Ok(()) };
        if let Some(error) = socket.take_error().map_err(|e| cause_of(&e))? {
            return Err(cause_of(&error));
        }
        self.is_connecting = false;
        Ok(())
    }

    /// Decrypts what was received into `plain`, and has TLS answer; `None` if the link has no TLS. A
    /// handshake has to agree on the protocol that was `asked` for. `scratch` is overwritten.
    pub(crate) fn decrypt(
        &mut self,
        received: &mut [u8],
        asked: Option<&ClientTls>,
        plain: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<Secured>, Cause> {
        let Some(tls) = &mut self.tls else { return Ok(None) };
        let was_handshaking = tls.is_handshaking();
        plain.clear();
        let outcome = tls.handle_input(received, plain).map_err(Cause::Tls);
        let is_handshaking = tls.is_handshaking();
        let agreed = match asked {
            Some(asked) if was_handshaking && !is_handshaking => tls.check_agreed(asked),
            _ => Ok(()),
        };
        let is_resumed = was_handshaking && !is_handshaking && tls.is_resumed();
        // Before a failure is returned: the peer is owed the alert that says why (RFC 8446 §6.2).
        self.write_tls(scratch)?;
        outcome.and(agreed.map_err(Cause::Tls))?;
        Ok(Some(Secured { was_handshaking, is_handshaking, is_resumed }))
    }

    /// Returns whether TLS is not there yet.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::is_handshaking)
    }

    /// Reads once. Returns the number of bytes and, where packets are stamped, how long ago the kernel had
    /// them. `None` if nothing is here, or there is no connection.
    #[inline]
    pub(crate) fn read(
        &self,
        is_stamped: bool,
        buffer: &mut [u8],
    ) -> Result<Option<(usize, Option<u64>)>, Cause> {
        let Some(socket) = self.socket.as_ref().filter(|_| !self.is_connecting) else { return Ok(None) };
        let received = if is_stamped {
            socket.recv_stamped(buffer).map(|(received, at_ns)| (received, at_ns.and_then(lag_since)))
        } else {
            socket.recv(buffer).map(|received| (received, None))
        };
        match received {
            Ok(received) => Ok(Some(received)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(cause_of(&error)),
        }
    }

    /// Time since this end last sent something over TCP.
    pub(crate) fn silent_for_ns(&self) -> Option<u64> {
        let socket = self.socket.as_ref().filter(|_| !self.is_connecting)?;
        socket.silent_for_ms().ok().map(|ms| u64::from(ms) * 1_000_000)
    }

    /// Ends the connection, at once or when what is left has been sent.
    pub(crate) fn close_when_sent(&mut self) {
        match self.unsent {
            Some(_) => self.is_closing = true,
            None => *self = Self::default(),
        }
    }

    /// Sends plain bytes: through TLS if the connection has it. `scratch` is overwritten.
    pub(crate) fn write(&mut self, plain: &[u8], scratch: &mut Vec<u8>) -> Result<(), Cause> {
        let Some(tls) = &mut self.tls else { return self.send(plain) };
        scratch.clear();
        tls.write(plain, scratch);
        self.send(scratch)
    }

    /// Sends TLS's own records. `scratch` is overwritten.
    pub(crate) fn write_tls(&mut self, scratch: &mut Vec<u8>) -> Result<(), Cause> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        scratch.clear();
        tls.poll_output(scratch);
        self.send(scratch)
    }

    /// Handles room to send.
    pub(crate) fn handle_writable(&mut self) -> Result<(), Cause> {
        let Some(mut unsent) = self.unsent.take() else { return Ok(()) };
        let sent = self.try_send(unsent.left())?;
        unsent.spend(sent);
        if !unsent.left().is_empty() {
            self.unsent = Some(unsent);
        } else if self.is_closing {
            *self = Self::default();
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        if bytes.is_empty() {
            return Ok(());
        }
        // Behind what waits, even if the socket has room by now: the bytes stay in order.
        if let Some(unsent) = &mut self.unsent {
            let ((), fits) = unsent.add(|out| out.extend_from_slice(bytes));
            return if fits { Ok(()) } else { Err(Cause::Unread) };
        }
        let sent = self.try_send(bytes)?;
        if sent < bytes.len() {
            // The first to wait fits, whatever its size: the plan has bounded messages.
            self.unsent.insert(Box::default()).add(|out| out.extend_from_slice(&bytes[sent..]));
        }
        Ok(())
    }

    fn try_send(&self, bytes: &[u8]) -> Result<usize, Cause> {
        let Some(socket) = &self.socket else { return Ok(0) };
        match socket.send(bytes) {
            Ok(n) => Ok(n),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(cause_of(&error)),
        }
    }
}

/// How long ago the kernel received something, if the two readings of the wall clock can be believed.
fn lag_since(stamped_ns: u64) -> Option<u64> {
    clock::realtime_ns().checked_sub(stamped_ns).filter(|&lag_ns| lag_ns < LAG_NS_MAX)
}

/// The cause that an I/O error amounts to.
pub(crate) fn cause_of(error: &io::Error) -> Cause {
    Cause::Net(net::errors::ErrorKind::of(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: usize = 8 << 20;

    /// A link over one end of a pair, and the other end.
    fn link() -> (Link, Socket) {
        let (ours, theirs) = net::socket::pair().unwrap();
        (Link { socket: Some(ours), ..Link::default() }, theirs)
    }

    fn message(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn setting_the_wall_clock_makes_no_lag() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let now_ns = clock::realtime_ns();
        assert!(lag_since(now_ns - 1_000_000).is_some_and(|lag_ns| lag_ns >= 1_000_000));
        assert_eq!(lag_since(now_ns + HOUR_NS), None, "set back by an hour since");
        assert_eq!(lag_since(now_ns - HOUR_NS), None, "set forward by an hour since");
    }

    #[test]
    fn large_messages_go_out_in_ordered_parts() {
        let (mut link, theirs) = link();
        let sent = [message(LARGE), message(LARGE + 1)].concat();
        link.send(&sent[..LARGE]).unwrap();
        link.send(&sent[LARGE..]).unwrap();
        link.close_when_sent();
        let (mut received, mut buffer) = (Vec::new(), vec![0; 1 << 20]);
        while received.len() < sent.len() {
            match theirs.recv(&mut buffer) {
                Ok(count) => received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => link.handle_writable().unwrap(),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(received == sent);
        assert!(link.handle_writable().is_ok() && link.socket.is_none(), "closed once it was out");
    }

    #[test]
    fn servers_that_do_not_read_are_found() {
        let (mut link, _theirs) = link();
        // One large message may wait behind another, and nothing behind that.
        assert!((0..2).all(|_| link.send(&message(LARGE)).is_ok()));
        assert_eq!(link.send(b"x"), Err(Cause::Unread));
    }
}
