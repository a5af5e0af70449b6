//! Tokens by which events find their client, or the connection that several share.

use codec::StreamId;

/// The most clients of one worker: a process cannot have more files.
pub(crate) const CLIENTS_MAX: u32 = 1 << 24;

/// A bit in the tokens of connections that publish. Other tokens count attempts there, which never get that
/// far.
pub(crate) const PUBLISHER: u64 = 1 << 63;
/// A bit in the tokens of connections that clients share.
pub(crate) const POOLED: u64 = 1 << 62;

/// The token that epoll gives back with an event. It names the client, its connection and the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) client: u32,
    pub(crate) stream: StreamId,
    pub(crate) attempt: u32,
}

impl Token {
    /// Packs the token: the client in 24 bits, the stream in 8, the attempt in 32.
    pub(crate) fn pack(self) -> u64 {
        debug_assert!(self.client < CLIENTS_MAX);
        u64::from(self.attempt) << 32 | u64::from(self.stream) << 24 | u64::from(self.client)
    }

    pub(crate) fn unpack(bits: u64) -> Self {
        Self { client: bits as u32 & 0x00ff_ffff, stream: (bits >> 24) as u8, attempt: (bits >> 32) as u32 }
    }
}
