//! Peers' errors: small, `Copy`, countable by kind.

mod http2;

use std::fmt;

pub use http2::{ErrorCode, Http2Reason};

/// The reason why a peer's bytes are of no further use. The peer has not been told: [`Error::status`],
/// [`Error::goodbye_code`] and [`Error::close_code`] are for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Error {
    /// A request was answered with this HTTP status instead of the one expected: 101 for an upgrade.
    HttpStatus(u16),
    /// The peer does not speak HTTP/1.1.
    NotHttp,
    /// The peer speaks HTTP/1.1 but breaks its rules.
    BadHttp(HttpReason),
    /// The peer was to speak HTTP/2, and does not.
    NotHttp2,
    /// The peer speaks HTTP/2 but breaks its rules.
    BadHttp2(Http2Reason),
    /// A head above [`Limits::head_bytes_max`](crate::Limits::head_bytes_max) or `headers_max`.
    HeadTooLarge,
    /// A body above [`Limits::body_bytes_max`](crate::Limits::body_bytes_max).
    BodyTooLarge,
    /// The server has set more cookies than a request has room for.
    TooManyCookies,
    /// The server closed the connection before an HTTP answer was whole.
    EofBeforeAnswer,
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
    /// A line or an event of an event stream above the limits.
    EventTooLarge,
}

/// The rule of RFC 6455 or 7692 that the peer broke.
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

/// The rule of RFC 9110 or 9112 that the peer broke.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HttpReason {
    /// A bare CR or LF (RFC 9112 §2.2).
    LineEnd,
    /// A NUL or another control character (RFC 9110 §5.5).
    Control,
    /// A request line or status line out of shape (RFC 9112 §3, §4).
    StartLine,
    /// A field line out of shape: space before the colon, folding, a bad name (RFC 9112 §5).
    FieldLine,
    /// A version other than 1.0 and 1.1.
    Version,
    /// A request target that is neither a path nor an `http` URI (RFC 9112 §3.2).
    Target,
    /// `Host` missing, there twice, or not a host and port (RFC 9112 §3.2).
    Host,
    /// `Content-Length` not a number, there twice, or beside `Transfer-Encoding` (RFC 9112 §6.3).
    ContentLength,
    /// `Transfer-Encoding` other than one final `chunked` (RFC 9112 §6.1).
    TransferEncoding,
    /// `Transfer-Encoding` with a coding before the final `chunked`, which nothing here undoes.
    Coding,
    /// A chunk out of shape (RFC 9112 §7.1).
    Chunk,
    /// Bytes behind the end of an answer, and no other answer (RFC 9112 §6.3): its length is too small, or it
    /// is one without a body.
    Surplus,
}

impl Error {
    /// The error of a connection with bytes on it that are no answer: surplus if it `has_answered` before.
    pub fn unasked(has_answered: bool) -> Error {
        if has_answered { Error::BadHttp(HttpReason::Surplus) } else { Error::NotHttp }
    }

    /// The status that tells a client what was wrong with its request.
    pub fn status(self) -> u16 {
        match self {
            Error::HeadTooLarge => 431,
            Error::BodyTooLarge => 413,
            Error::BadHttp(HttpReason::Coding) => 501,
            Error::BadHttp(HttpReason::Version) => 505,
            _ => 400,
        }
    }

    /// The error code for a peer over HTTP/2 (RFC 9113 §7); `None` if it knows, or hears nothing any more.
    pub fn goodbye_code(self) -> Option<ErrorCode> {
        match self {
            Error::BadHttp2(reason) => Some(reason.code()),
            Error::HeadTooLarge => Some(ErrorCode::EnhanceYourCalm),
            _ => None,
        }
    }

    /// The close code to tell the peer (RFC 6455 §7.4.1); `None` for an error that has no WebSocket yet.
    pub fn close_code(self) -> Option<u16> {
        match self {
            Error::Protocol(Reason::BadUtf8) | Error::Deflate => Some(1007),
            Error::Protocol(Reason::TooManyFragments) => Some(1008),
            Error::Protocol(_) => Some(1002),
            Error::MessageTooLarge => Some(1009),
            _ => None,
        }
    }

    /// A name to count it by.
    pub fn name(self) -> &'static str {
        match self {
            Error::HttpStatus(_) => "http_status",
            Error::NotHttp => "not_http",
            Error::BadHttp(_) => "bad_http",
            Error::NotHttp2 => "not_http2",
            Error::BadHttp2(_) => "bad_http2",
            Error::HeadTooLarge => "head_too_large",
            Error::BodyTooLarge => "body_too_large",
            Error::TooManyCookies => "too_many_cookies",
            Error::EofBeforeAnswer => "eof",
            Error::BadAccept => "bad_accept",
            Error::BadUpgrade => "bad_upgrade",
            Error::UnaskedProtocol => "unasked_protocol",
            Error::UnaskedExtension => "unasked_extension",
            Error::Protocol(_) => "protocol",
            Error::MessageTooLarge => "message_too_large",
            Error::Deflate => "deflate",
            Error::EventTooLarge => "event_too_large",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::HttpStatus(status) => write!(f, "the server answered with HTTP {status}"),
            Error::NotHttp => f.write_str("the peer does not speak HTTP/1.1"),
            Error::BadHttp(reason) => write!(f, "bad HTTP: {}", reason.text()),
            Error::NotHttp2 => f.write_str("the peer does not speak HTTP/2"),
            Error::BadHttp2(reason) => write!(f, "bad HTTP/2: {}", reason.text()),
            Error::HeadTooLarge => f.write_str("an HTTP head above the limits"),
            Error::BodyTooLarge => f.write_str("an HTTP body above the limit"),
            Error::TooManyCookies => f.write_str(
                "the server has set cookies of more than 16 KiB in all: no request has room for them",
            ),
            Error::EofBeforeAnswer => {
                f.write_str("the server closed the connection before its answer was whole")
            }
            Error::BadAccept => f.write_str("Sec-WebSocket-Accept is missing or wrong"),
            Error::BadUpgrade => f.write_str("the 101 has no proper Upgrade and Connection"),
            Error::UnaskedProtocol => f.write_str("the server chose a subprotocol nobody offered"),
            Error::UnaskedExtension => f.write_str("the server chose an extension nobody offered"),
            Error::Protocol(reason) => write!(f, "bad WebSocket: {}", reason.text()),
            Error::MessageTooLarge => f.write_str("a message above the limit"),
            Error::Deflate => f.write_str("a compressed message that does not inflate"),
            Error::EventTooLarge => f.write_str("an event or a line above the limit, or an id above 8 KiB"),
        }
    }
}

impl std::error::Error for Error {}

impl Reason {
    fn text(self) -> &'static str {
        match self {
            Reason::ReservedBit => "a reserved bit is set",
            Reason::ReservedOpcode => "a reserved opcode",
            Reason::Unmasked => "a client's frame without a mask",
            Reason::Masked => "a server's frame with a mask",
            Reason::BadLength => "a length not in its shortest form",
            Reason::BadControl => "a control frame in fragments or too long",
            Reason::StrayContinuation => "a continuation of nothing",
            Reason::UnfinishedMessage => "a message inside another",
            Reason::BadUtf8 => "text that is not UTF-8",
            Reason::BadClose => "a close code that may not be sent",
            Reason::TooManyFragments => "too many fragments",
        }
    }
}

impl HttpReason {
    fn text(self) -> &'static str {
        match self {
            HttpReason::LineEnd => "a bare CR or LF",
            HttpReason::Control => "a control character",
            HttpReason::StartLine => "the start line",
            HttpReason::FieldLine => "a field line",
            HttpReason::Version => "the version",
            HttpReason::Target => "the request target",
            HttpReason::Host => "Host",
            HttpReason::ContentLength => "Content-Length",
            HttpReason::TransferEncoding => "Transfer-Encoding",
            HttpReason::Coding => "a transfer coding that is not understood",
            HttpReason::Chunk => "a chunk",
            HttpReason::Surplus => {
                "bytes behind an answer: its Content-Length is too small, or it may have no body"
            }
        }
    }
}
