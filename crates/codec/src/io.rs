//! The I/O of a codec: where bytes go, and where randomness comes from.

/// One byte stream of a client; 0 is the main one. Fallback transports have several.
pub type StreamId = u8;

/// The driver's side: it owns the sockets, and what the codecs append here it sends.
pub trait Io {
    /// The bytes to send on `stream`. Codecs only append.
    fn out(&mut self, stream: StreamId) -> &mut Vec<u8>;
    /// Randomness for masks, handshake keys and session ids. Masks guard intermediaries against chosen bytes
    /// (RFC 6455 §10.3), so a load generator may use a fast generator that is not cryptographic.
    fn random_u64(&mut self) -> u64;
    /// Connect another stream to the same host. Only fallback transports ask for it.
    fn open_stream(&mut self, stream: StreamId);
    /// Close `stream` once everything written to it has been sent.
    fn close_stream(&mut self, stream: StreamId);
    /// The peer's reason for closing a WebSocket, where it gives one: it comes before
    /// [`Incoming::Closed`](crate::ws::Incoming::Closed).
    fn handle_reason(&mut self, _reason: &[u8]) {}
}

/// Appends what is made of parts.
#[inline]
pub fn extend(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}
