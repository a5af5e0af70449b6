//! Why a connection failed: small, `Copy`, countable by kind.

/// Why a session gave up on its peer. The connection is of no further use; anything the peer should still be
/// told (a close frame, an HTTP error) is already in the output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// The upgrade was answered with this HTTP status instead of 101.
    HttpStatus(u16),
    /// The peer does not speak HTTP/1.1.
    NotHttp,
    /// The peer speaks HTTP/1.1 but breaks its rules (RFC 9112).
    BadHttp,
    /// A head above [`Limits::head_bytes_max`](crate::Limits::head_bytes_max) or `headers_max`.
    HeadTooLarge,
    /// A body above [`Limits::body_bytes_max`](crate::Limits::body_bytes_max).
    BodyTooLarge,
    /// The server role refused an upgrade with this HTTP status.
    Refused(u16),
    /// `Sec-WebSocket-Accept` is missing or wrong (RFC 6455 §4.1).
    BadAccept,
    /// `Upgrade` or `Connection` of a 101 is missing or wrong (RFC 6455 §4.1).
    BadUpgrade,
    /// The server chose a subprotocol that was not offered.
    UnaskedProtocol,
    /// The server chose an extension, or a parameter of one, that was not offered.
    UnaskedExtension,
    /// The peer broke RFC 6455 or 7692.
    Protocol(Reason),
    /// A frame or message above the limits, before or after inflation.
    MessageTooLarge,
    /// A compressed message that does not inflate.
    Deflate,
    /// The peer closed the byte stream in mid-handshake, or without a close frame.
    Eof,
}

/// Which rule of RFC 6455 or 7692 the peer broke.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    /// A reserved bit that no negotiated extension defines (§5.2), or RSV1 where RFC 7692 §6 forbids it.
    ReservedBit,
    /// Opcode 3–7 or 11–15 (§5.2).
    ReservedOpcode,
    /// A client's frame without a mask (§5.1).
    Unmasked,
    /// A server's frame with a mask (§5.1).
    Masked,
    /// A length with the top bit set, or not in its shortest form (§5.2).
    BadLength,
    /// A control frame in fragments or above 125 bytes (§5.5).
    BadControl,
    /// A continuation with nothing to continue (§5.4).
    StrayContinuation,
    /// A new message inside a fragmented one (§5.4).
    UnfinishedMessage,
    /// Text or a close reason that is not UTF-8 (§8.1).
    BadUtf8,
    /// A close frame of one byte, or with a code no endpoint may send (§7.4).
    BadClose,
    /// More frames in one message than [`Limits::fragments_max`](crate::Limits::fragments_max).
    TooManyFragments,
}

impl Failure {
    /// The close code to tell the peer (RFC 6455 §7.4.1); `None` for a failure that has no WebSocket yet.
    pub fn close_code(self) -> Option<u16> {
        match self {
            Failure::Protocol(Reason::BadUtf8) | Failure::Deflate => Some(1007),
            Failure::Protocol(Reason::TooManyFragments) => Some(1008),
            Failure::Protocol(_) => Some(1002),
            Failure::MessageTooLarge => Some(1009),
            _ => None,
        }
    }
}
