//! TLS over somebody else's socket: ciphertext in, plaintext out, and the other way round (rustls with ring).

mod config;
mod error;

pub use config::{ClientTls, ServerTls, TlsOptions};
pub use error::TlsError;

use std::io::{Read, Write};

use rustls::pki_types::ServerName;

/// One connection's TLS state. No I/O: the caller moves the ciphertext.
pub struct Tls {
    /// Boxed whole: an optional `Tls` is one pointer in a connection that has none.
    state: Box<State>,
}

struct State {
    connection: rustls::Connection,
    peer_closed: bool,
}

impl Tls {
    /// The client's side of a connection to `server_name`, a DNS name or an IP address, which the server's
    /// certificate must carry. The first flight is ready for [`poll_output`](Tls::poll_output).
    pub fn new_client(tls: &ClientTls, server_name: &str) -> Result<Tls, TlsError> {
        let name = ServerName::try_from(server_name.to_owned()).map_err(|_| TlsError::BadServerName)?;
        Ok(Tls::new(rustls::ClientConnection::new(tls.config(), name)?.into()))
    }

    /// The server's side of a connection.
    pub fn new_server(tls: &ServerTls) -> Tls {
        let connection = rustls::ServerConnection::new(tls.config()).expect("a config that was checked");
        Tls::new(connection.into())
    }

    fn new(mut connection: rustls::Connection) -> Tls {
        // The caller bounds what it writes; a second limit here could only lose bytes.
        connection.set_buffer_limit(None);
        Tls { state: Box::new(State { connection, peer_closed: false }) }
    }

    /// Takes what arrived from the peer and appends what it decrypts to to `plain`. Afterwards, also after an
    /// error (the alert that tells the peer), [`poll_output`](Tls::poll_output) may have something to send.
    pub fn handle_input(&mut self, mut ciphertext: &[u8], plain: &mut Vec<u8>) -> Result<(), TlsError> {
        let State { connection, peer_closed } = &mut *self.state;
        while !ciphertext.is_empty() {
            // Never fails for want of room, as all plaintext is taken out below before more goes in.
            let taken = connection.read_tls(&mut ciphertext).map_err(|_| TlsError::Misbehaved)?;
            let io = connection.process_new_packets()?;
            *peer_closed |= io.peer_has_closed();
            take_plain(connection, io.plaintext_bytes_to_read(), plain);
            if taken == 0 {
                break; // rustls reads no further than the peer's close_notify
            }
        }
        Ok(())
    }

    /// Encrypts `plain`; appends what is to be sent to `out`. What is written while the handshake still runs is
    /// kept, and comes out of [`poll_output`](Tls::poll_output) when it has ended.
    pub fn write(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        self.state
            .connection
            .writer()
            .write_all(plain)
            .expect("the buffer has no limit, and memory does not fail");
        self.poll_output(out);
    }

    /// Appends what is to be sent (handshake messages, alerts) to `out`.
    pub fn poll_output(&mut self, out: &mut Vec<u8>) {
        while self.state.connection.wants_write() {
            self.state.connection.write_tls(out).expect("writing into a Vec does not fail");
        }
    }

    /// Whether the peer has said that it will write nothing more. An end of the stream without that may be an
    /// attacker's (RFC 8446 section 6.1); WebSocket and HTTP say for themselves whether they were complete.
    pub fn peer_closed(&self) -> bool {
        self.state.peer_closed
    }

    /// Whether application data cannot flow yet.
    pub fn is_handshaking(&self) -> bool {
        self.state.connection.is_handshaking()
    }

    /// Says that nothing more will be written (close_notify), appending it to `out`.
    pub fn close_notify(&mut self, out: &mut Vec<u8>) {
        self.state.connection.send_close_notify();
        self.poll_output(out);
    }
}

/// Moves `bytes` decrypted bytes into `plain`.
fn take_plain(connection: &mut rustls::Connection, bytes: usize, plain: &mut Vec<u8>) {
    let start = plain.len();
    plain.resize(start + bytes, 0);
    connection.reader().read_exact(&mut plain[start..]).expect("rustls has as many bytes as it said");
}

#[cfg(test)]
mod tests;
