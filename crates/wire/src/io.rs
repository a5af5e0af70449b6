//! What a session may do to the world.

/// One byte stream of a client; 0 is the main one. Fallback transports have several.
pub type StreamId = u8;

/// The driver's side of a session: where bytes go, and where randomness comes from.
pub trait Io {
    /// The bytes to send on `stream`. Sessions only append.
    fn out(&mut self, stream: StreamId) -> &mut Vec<u8>;
    /// Randomness for masks, handshake keys and session ids. Masks guard intermediaries against chosen bytes
    /// (RFC 6455 §10.3), so a load generator may use a fast generator that is not cryptographic.
    fn random_u64(&mut self) -> u64;
    /// Connect another stream to the same host. Only fallback transports ask for it.
    fn open_stream(&mut self, stream: StreamId);
    /// Close `stream` once everything written to it has been sent.
    fn close_stream(&mut self, stream: StreamId);
}
