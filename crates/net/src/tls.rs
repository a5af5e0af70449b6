//! TLS without a socket of its own: ciphertext in, plaintext out, and the other way round (rustls with ring).
//!
//! rustls' own buffers would be 4 KiB for each connection, mostly empty. Its unbuffered side decrypts where
//! the bytes were read and encrypts to where they are sent from, so that an idle connection keeps its keys
//! and little else.

mod config;
mod error;
mod expiry;
mod sessions;

pub use config::{
    ClientTls, PEM_BYTES_MAX, ServerTls, TlsOptions, TlsVersion, check_authorities, check_identity, check_key,
};
pub use error::TlsError;

use std::sync::Arc;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus, WriteTraffic,
};
use rustls::{ClientConfig, CommonState, HandshakeKind};

/// The most bytes by which a record is longer than its plaintext, and the most plaintext of a record (RFC
/// 8446 §5.2; RFC 5246 §6.2).
const RECORD_OVERHEAD: usize = 64;
const RECORD_PLAIN_MAX: usize = 16 << 10;

/// One connection's TLS state, at the [`ClientSide`] or the [`ServerSide`]. No I/O: the caller moves the
/// ciphertext.
pub struct Tls<S> {
    /// The state, in a box: an optional `Tls` is one pointer in a connection without TLS.
    state: Box<State<S>>,
}

struct State<S> {
    side: S,
    /// The buffers; absent while they are empty, which they are most of the time.
    buffers: Option<Box<RecordBuffers>>,
}

/// Buffers between a connection and its caller.
#[derive(Default, PartialEq)]
struct RecordBuffers {
    /// The beginning of a record whose rest has not arrived.
    partial: Vec<u8>,
    /// Bytes written before they could be encrypted.
    early: Vec<u8>,
    /// Bytes to send.
    output: Vec<u8>,
    peer_closed: bool,
    /// True if an error has occurred, after which nothing is sent or received.
    has_failed: bool,
}

/// The side of TLS that connects.
pub type ClientSide = UnbufferedClientConnection;
/// The side of TLS that accepts the connection.
pub type ServerSide = UnbufferedServerConnection;

/// Operations of both sides.
pub trait Side {
    /// rustls's data of this side only.
    type Data;

    /// Reads the records, and returns the next thing to do.
    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;

    /// rustls's state of either side.
    fn common(&self) -> &CommonState;
}

impl Side for ClientSide {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }

    fn common(&self) -> &CommonState {
        self
    }
}

impl Side for ServerSide {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }

    fn common(&self) -> &CommonState {
        self
    }
}

/// Writes of the caller.
#[derive(Clone, Copy)]
enum Outgoing<'a> {
    Nothing,
    Plain(&'a [u8]),
    CloseNotify,
}

impl Tls<ClientSide> {
    /// The client's side of a connection to `server_name`, a DNS name or an IP address, which the server's
    /// certificate must carry. The first flight is ready for [`poll_output`](Tls::poll_output).
    pub fn new_client(tls: &ClientTls, server_name: &str) -> Result<Self, TlsError> {
        Self::client_of(tls.of_newcomers(), server_name)
    }

    /// The side of a client that was connected before, and resumes its TLS session if the session was kept
    /// and the server allows it.
    pub fn new_client_again(tls: &ClientTls, server_name: &str) -> Result<Self, TlsError> {
        Self::client_of(tls.of_the_returned(), server_name)
    }

    fn client_of(config: Arc<ClientConfig>, server_name: &str) -> Result<Self, TlsError> {
        let name = ServerName::try_from(server_name.to_owned()).map_err(|_| TlsError::BadServerName)?;
        Ok(Self::new(UnbufferedClientConnection::new(config, name)?))
    }
}

impl Tls<ServerSide> {
    /// The server's side of a connection.
    pub fn new_server(tls: &ServerTls) -> Self {
        Self::new(UnbufferedServerConnection::new(tls.config()).expect("a config that was checked"))
    }
}

impl<S: Side> Tls<S> {
    fn new(side: S) -> Self {
        Self { state: Box::new(State { side, buffers: None }) }
    }

    /// Takes the bytes that arrived from the peer, overwrites them, and appends their plaintext to `plain`.
    /// Afterwards, also after an error (the alert that tells the peer), [`poll_output`](Tls::poll_output) may
    /// have something to send.
    pub fn handle_input(&mut self, ciphertext: &mut [u8], plain: &mut Vec<u8>) -> Result<(), TlsError> {
        self.state.with_buffers(|side, buffers| buffers.handle_input(side, ciphertext, plain))
    }

    /// Encrypts `plain`, and appends the bytes to send to `out`. Plaintext that is written during the
    /// handshake is kept, and comes out of [`poll_output`](Tls::poll_output) when the handshake has ended.
    pub fn write(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        self.state.say(Outgoing::Plain(plain), out);
    }

    /// Appends the bytes to send (handshake messages, alerts) to `out`.
    pub fn poll_output(&mut self, out: &mut Vec<u8>) {
        self.state.say(Outgoing::Nothing, out);
    }

    /// Returns whether the peer has announced that it will write nothing more. An end of the stream without
    /// that may be an attacker's (RFC 8446 section 6.1); WebSocket and HTTP show by themselves whether they
    /// were complete.
    pub fn peer_closed(&self) -> bool {
        self.state.buffers.as_ref().is_some_and(|buffers| buffers.peer_closed)
    }

    /// Returns whether application data cannot flow yet.
    pub fn is_handshaking(&self) -> bool {
        self.state.side.common().is_handshaking()
    }

    /// Returns whether the handshake resumed an earlier session, without certificates. Known once the
    /// handshake has ended.
    pub fn is_resumed(&self) -> bool {
        self.state.side.common().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The end of the peer's certificate, as the certificate states it: `20301231235959Z` (RFC 5280
    /// §4.1.2.5). Known once the handshake has ended, unless that was resumed.
    pub fn certificate_ends(&self) -> Option<String> {
        expiry::not_after(self.state.side.common().peer_certificates()?.first()?)
    }

    /// Checks that the server agreed to the protocol that the client asked for (RFC 7301). Call it once
    /// application data can flow.
    ///
    /// # Errors
    /// [`TlsError::NoProtocol`]: the server has not agreed to the protocol.
    pub fn check_agreed(&self, tls: &ClientTls) -> Result<(), TlsError> {
        match tls.expects(self.state.side.common().alpn_protocol()) {
            true => Ok(()),
            false => Err(TlsError::NoProtocol),
        }
    }

    /// Appends the announcement that nothing more will be written (close_notify) to `out`.
    pub fn close_notify(&mut self, out: &mut Vec<u8>) {
        self.state.say(Outgoing::CloseNotify, out);
    }
}

impl<S: Side> State<S> {
    /// Appends the bytes that wait to be sent, and then those of the caller.
    fn say(&mut self, saying: Outgoing<'_>, out: &mut Vec<u8>) {
        self.with_buffers(|side, buffers| buffers.say(side, saying, out));
    }

    /// Works with the buffers, which exist as long as one of them holds something.
    fn with_buffers<T>(&mut self, work: impl FnOnce(&mut S, &mut RecordBuffers) -> T) -> T {
        let mut buffers = self.buffers.take().map(|buffers| *buffers).unwrap_or_default();
        let outcome = work(&mut self.side, &mut buffers);
        if buffers != RecordBuffers::default() {
            self.buffers = Some(Box::new(buffers));
        }
        outcome
    }
}

/// The result of reading the records.
enum Next {
    /// There may be more to do.
    More,
    /// More has to arrive first.
    Wait,
}

impl RecordBuffers {
    fn handle_input<S: Side>(
        &mut self,
        side: &mut S,
        ciphertext: &mut [u8],
        plain: &mut Vec<u8>,
    ) -> Result<(), TlsError> {
        let mut records = std::mem::take(&mut self.partial);
        if records.is_empty() {
            let used = self.process(side, ciphertext, plain, Outgoing::Nothing)?;
            self.keep(&ciphertext[used..]);
        } else {
            records.extend_from_slice(ciphertext);
            let used = self.process(side, &mut records, plain, Outgoing::Nothing)?;
            match used {
                // Nothing of it could be used: kept as it is, without a copy for each of the packets that a
                // record arrives in.
                0 => self.partial = records,
                _ => self.keep(&records[used..]),
            }
        }
        Ok(())
    }

    /// Keeps the beginning of a record; bytes after the peer's close_notify are dropped (RFC 8446 §6.1).
    fn keep(&mut self, beginning: &[u8]) {
        if !self.peer_closed {
            self.partial = beginning.to_vec();
        }
    }

    fn say<S: Side>(&mut self, side: &mut S, saying: Outgoing<'_>, out: &mut Vec<u8>) {
        // Its room is given back: an idle connection would keep the room that its handshake took.
        out.append(&mut std::mem::take(&mut self.output));
        // Records of TLS itself are appended in place: the caller's buffer takes the place of `output` for
        // the call.
        std::mem::swap(out, &mut self.output);
        let mut records = std::mem::take(&mut self.partial);
        // An error in the bytes that arrived was reported when they arrived.
        let _ = self.process(side, &mut records, &mut Vec::new(), saying);
        self.partial = records;
        std::mem::swap(out, &mut self.output);
    }

    /// Goes through records until more have to arrive. Returns the number of bytes that were used up.
    fn process<S: Side>(
        &mut self,
        side: &mut S,
        records: &mut [u8],
        plain: &mut Vec<u8>,
        mut saying: Outgoing<'_>,
    ) -> Result<usize, TlsError> {
        let mut used = 0;
        while !self.has_failed {
            let (done, next) = self.handle(side.process(&mut records[used..]), plain, &mut saying);
            used += done;
            match next {
                Ok(Next::More) => {}
                Ok(Next::Wait) => break,
                Err(error) => {
                    self.has_failed = true;
                    // The alert informs the peer. It is encoded before any bytes that arrived are read again.
                    while side.common().wants_write() {
                        let _ =
                            self.handle(side.process(&mut records[used..]), plain, &mut Outgoing::Nothing);
                    }
                    return Err(error.into());
                }
            }
        }
        Ok(used)
    }

    /// Carries out the next request of rustls. Returns the number of bytes that were used up, and the next
    /// step.
    fn handle<Data>(
        &mut self,
        status: UnbufferedStatus<'_, '_, Data>,
        plain: &mut Vec<u8>,
        saying: &mut Outgoing<'_>,
    ) -> (usize, Result<Next, rustls::Error>) {
        let UnbufferedStatus { mut discard, state } = status;
        let state = match state {
            Ok(state) => state,
            Err(error) => return (discard, Err(error)),
        };
        let next = match state {
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    match record {
                        Ok(record) => {
                            discard += record.discard;
                            plain.extend_from_slice(record.payload);
                        }
                        Err(error) => return (discard, Err(error)),
                    }
                }
                Next::More
            }
            ConnectionState::EncodeTlsData(mut data) => {
                let fits = |error| match error {
                    EncodeError::InsufficientSize(size) => Some(size),
                    EncodeError::AlreadyEncoded => None,
                };
                append(&mut self.output, 0, |room| data.encode(room).map_err(fits));
                Next::More
            }
            // The caller sends it, or drops the connection.
            ConnectionState::TransmitTlsData(data) => {
                data.done();
                Next::More
            }
            ConnectionState::PeerClosed => {
                self.peer_closed = true;
                Next::More
            }
            ConnectionState::WriteTraffic(mut traffic) => {
                self.encrypt(&mut traffic, *saying);
                Next::Wait
            }
            // Nothing can be encrypted yet.
            _ => {
                if let Outgoing::Plain(plain) = std::mem::replace(saying, Outgoing::Nothing) {
                    self.early.extend_from_slice(plain);
                }
                Next::Wait
            }
        };
        (discard, Ok(next))
    }

    /// Encrypts the plaintext that has waited, and then the contents of `saying`.
    fn encrypt<Data>(&mut self, traffic: &mut WriteTraffic<'_, Data>, saying: Outgoing<'_>) {
        let fits = |error| match error {
            EncryptError::InsufficientSize(size) => Some(size),
            // Beyond this number of records nothing may be sent with the key (RFC 8446 §5.5); the peer hears
            // no more.
            EncryptError::EncryptExhausted => None,
        };
        let early = std::mem::take(&mut self.early);
        let said = if let Outgoing::Plain(plain) = saying { plain } else { b"" };
        for plain in [&early[..], said].into_iter().filter(|plain| !plain.is_empty()) {
            let records = plain.len().div_ceil(RECORD_PLAIN_MAX);
            let bytes = plain.len() + records * RECORD_OVERHEAD;
            append(&mut self.output, bytes, |room| traffic.encrypt(plain, room).map_err(fits));
        }
        if let Outgoing::CloseNotify = saying {
            append(&mut self.output, RECORD_OVERHEAD, |room| traffic.queue_close_notify(room).map_err(fits));
        }
    }
}

/// Appends the bytes that `write` puts into the space it is given; if the space is too small, `write` is
/// called with more.
fn append(
    out: &mut Vec<u8>,
    bytes: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<InsufficientSizeError>>,
) {
    let start = out.len();
    out.resize(start + bytes, 0);
    let written = match write(&mut out[start..]) {
        Err(Some(InsufficientSizeError { required_size })) => {
            out.resize(start + required_size, 0);
            write(&mut out[start..]).unwrap_or(0)
        }
        written => written.unwrap_or(0),
    };
    out.truncate(start + written);
}

#[cfg(test)]
mod tests;
