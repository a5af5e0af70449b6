//! TLS over somebody else's socket: ciphertext in, plaintext out, and the other way round (rustls with ring).

mod config;
mod error;

pub use config::{ClientTls, ServerTls, TlsOptions};
pub use error::TlsError;

/// One connection's TLS state. No I/O: the caller moves the ciphertext.
pub struct Tls {
    connection: Box<rustls::Connection>,
}

impl Tls {
    /// The client's side of a connection to `server_name`, a DNS name or an IP address, which the server's
    /// certificate must carry. The first flight is ready for [`poll_output`](Tls::poll_output).
    pub fn new_client(tls: &ClientTls, server_name: &str) -> Result<Tls, TlsError> {
        let name = rustls::pki_types::ServerName::try_from(server_name.to_owned())
            .map_err(|_| TlsError::BadServerName)?;
        let connection = rustls::ClientConnection::new(tls.config(), name).map_err(TlsError::from)?;
        Ok(Tls { connection: Box::new(connection.into()) })
    }

    /// The server's side of a connection.
    pub fn new_server(tls: &ServerTls) -> Tls {
        let connection = rustls::ServerConnection::new(tls.config()).expect("a config that was checked");
        Tls { connection: Box::new(connection.into()) }
    }

    /// Takes what arrived from the peer and appends what it decrypts to to `plain`. Afterwards, also after an
    /// error (the alert that tells the peer), [`poll_output`](Tls::poll_output) may have something to send.
    pub fn handle_input(&mut self, ciphertext: &[u8], plain: &mut Vec<u8>) -> Result<(), TlsError> {
        let _ = (ciphertext, plain);
        unimplemented!()
    }

    /// Encrypts `plain`; appends what is to be sent to `out`. What is written while the handshake still runs is
    /// kept, and comes out of [`poll_output`](Tls::poll_output) when it has ended.
    pub fn write(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        let _ = (plain, out);
        unimplemented!()
    }

    /// Appends what is to be sent (handshake messages, alerts) to `out`.
    pub fn poll_output(&mut self, out: &mut Vec<u8>) {
        let _ = out;
        unimplemented!()
    }

    /// Whether application data cannot flow yet.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Says that nothing more will be written (close_notify), appending it to `out`.
    pub fn close_notify(&mut self, out: &mut Vec<u8>) {
        self.connection.send_close_notify();
        self.poll_output(out);
    }
}
