//! One connection's bytes: socket, TLS if any, and what could not be sent yet.

use std::io::{self, ErrorKind};

use net::socket::Socket;
use net::tls::Tls;

use crate::cause::Cause;

/// The most that is kept for a server that does not read. Beyond it the client is given up as `unread`: an
/// unbounded buffer would hide the stall and eat the generator's memory.
const UNSENT_BYTES_MAX: usize = 1 << 20;

/// A connection, or none. What only busy or secured connections need lives in boxes.
#[derive(Default)]
pub(crate) struct Link {
    pub(crate) socket: Option<Socket>,
    pub(crate) tls: Option<Box<Tls>>,
    #[allow(clippy::box_collection)] // 8 bytes in an idle connection, not 24
    unsent: Option<Box<Vec<u8>>>,
    /// The TCP connect is under way.
    pub(crate) is_connecting: bool,
    is_closing: bool,
}

impl Link {
    /// The link over a socket that is connecting.
    pub(crate) fn connecting(socket: Socket) -> Self {
        Self { socket: Some(socket), is_connecting: true, ..Self::default() }
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

    /// Sends what TLS itself has to say. `scratch` is overwritten.
    pub(crate) fn write_tls(&mut self, scratch: &mut Vec<u8>) -> Result<(), Cause> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        scratch.clear();
        tls.poll_output(scratch);
        self.send(scratch)
    }

    /// Room to send has appeared.
    pub(crate) fn handle_writable(&mut self) -> Result<(), Cause> {
        let Some(mut unsent) = self.unsent.take() else { return Ok(()) };
        let sent = self.try_send(&unsent)?;
        if sent < unsent.len() {
            unsent.drain(..sent);
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
        let sent = if self.unsent.is_some() { 0 } else { self.try_send(bytes)? };
        if sent == bytes.len() {
            return Ok(());
        }
        let unsent = self.unsent.get_or_insert_default();
        unsent.extend_from_slice(&bytes[sent..]);
        if unsent.len() > UNSENT_BYTES_MAX { Err(Cause::Unread) } else { Ok(()) }
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

/// The cause that an I/O error amounts to.
pub(crate) fn cause_of(error: &io::Error) -> Cause {
    Cause::Net(net::errors::ErrorKind::of(error))
}
