//! The causes of failed connections: small, `Copy`, countable by kind.

mod coding;
mod event_stream;
mod http2;

use std::fmt;

pub use coding::Coding;
pub use event_stream::{Media, StreamReason};
pub use http2::{ErrorCode, Http2Reason};

/// The reason why a session gave up on its peer. The connection is of no further use; anything the peer should
/// still be told (a close frame, an HTTP error) is already in the output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
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
    /// The peer has ended the stream of a request instead of answering it (RFC 9113 §6.4).
    Reset(ErrorCode),
    /// The peer ends the connection, and not because it has served it (RFC 9113 §6.8).
    GoAway(ErrorCode),
    /// A head above [`Limits::head_bytes_max`](crate::Limits::head_bytes_max) or `headers_max`.
    HeadTooLarge,
    /// A body above [`Limits::body_bytes_max`](crate::Limits::body_bytes_max).
    BodyTooLarge,
    /// The server has set more cookies than a request has room for.
    TooManyCookies,
    /// The answer to a request of the login has another status than was expected.
    LoginRefused {
        /// The request's number, from 0.
        request: u8,
        /// The status of its answer.
        status: u16,
    },
    /// The answer to a request of the login has not in it what is to be kept of it.
    LoginNoMatch {
        /// The request's number, from 0.
        request: u8,
        /// The number of the value to keep, from 0.
        keep: u8,
    },
    /// The answer to a request of the login is encoded, so that what is to be kept of its body cannot be
    /// found.
    LoginEncoded {
        /// The request's number, from 0.
        request: u8,
        /// How.
        coding: Coding,
    },
    /// A request of the login is redirected over and over, or to where this client has no connection.
    LoginRedirects {
        /// The request's number, from 0.
        request: u8,
    },
    /// The answer to a request of the login is larger than any page, or sets more cookies than a head has
    /// room for.
    LoginTooLarge {
        /// The request's number, from 0.
        request: u8,
    },
    /// The server role refused an upgrade with this HTTP status.
    Refused(u16),
    /// `Sec-WebSocket-Accept` is missing or wrong (RFC 6455 §4.1).
    BadAccept,
    /// `Upgrade` or `Connection` of a 101 is missing or wrong (RFC 6455 §4.1).
    BadUpgrade,
    /// The server does not know the session of plain requests that it has opened: it has ended it, or several
    /// nodes share the load, and another was asked.
    SessionLost,
    /// The WebSocket of a session of plain requests was refused with this status.
    SessionUpgrade(u16),
    /// The server offers no WebSocket for a session of plain requests.
    NoUpgrade,
    /// The server speaks HTTP/2, and has no WebSockets over it (RFC 8441 §3).
    NoTunnel,
    /// The server allows no streams over HTTP/2 (RFC 9113 §5.1.2), so that nothing may be sent.
    NoStreams,
    /// The server's windows leave no room for what is to be sent over HTTP/2 (RFC 9113 §5.2).
    NoWindow,
    /// The server chose a subprotocol that was not offered.
    UnaskedProtocol,
    /// The server chose an extension, or a parameter of one, that was not offered.
    UnaskedExtension,
    /// The peer broke RFC 6455 or 7692.
    Protocol(Reason),
    /// A frame or message above the limits, before or after inflation.
    MessageTooLarge,
    /// An event stream that breaks off, breaks a limit or is none.
    EventStream(StreamReason),
    /// A compressed message that does not inflate.
    Deflate,
    /// A message that breaks the rules of the protocol.
    BadMessage,
    /// The server has not answered a heartbeat, or has not sent the one it promised.
    HeartbeatTimeout,
    /// The client has been silent for too long.
    Silent,
    /// The peer closed the byte stream of a WebSocket without a close frame.
    Eof,
    /// The peer closed a WebSocket with this code in the midst of an answer.
    Closed(u16),
    /// The server closed the connection before an HTTP answer was whole.
    EofBeforeAnswer,
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

impl Failure {
    /// The failure of a connection with bytes on it that are no answer: surplus if it `has_answered` before.
    pub(crate) fn unasked(has_answered: bool) -> Failure {
        if has_answered { Failure::BadHttp(HttpReason::Surplus) } else { Failure::NotHttp }
    }

    /// The error code for a peer over HTTP/2 (RFC 9113 §7); `None` if it knows, or hears nothing any more.
    pub(crate) fn goodbye_code(self) -> Option<ErrorCode> {
        match self {
            Failure::BadHttp2(reason) => Some(reason.code()),
            Failure::HeadTooLarge => Some(ErrorCode::EnhanceYourCalm),
            _ => None,
        }
    }

    /// The close code to tell the peer (RFC 6455 §7.4.1); `None` for a failure that has no WebSocket yet.
    pub fn close_code(self) -> Option<u16> {
        match self {
            Failure::Protocol(Reason::BadUtf8) | Failure::Deflate => Some(1007),
            Failure::Protocol(Reason::TooManyFragments) => Some(1008),
            Failure::Protocol(_) | Failure::BadMessage => Some(1002),
            Failure::MessageTooLarge => Some(1009),
            _ => None,
        }
    }

    /// The name under which results count it.
    pub fn name(self) -> &'static str {
        match self {
            Failure::HttpStatus(_) => "http_status",
            Failure::NotHttp => "not_http",
            Failure::BadHttp(_) => "bad_http",
            Failure::NotHttp2 => "not_http2",
            Failure::BadHttp2(_) => "bad_http2",
            Failure::Reset(ErrorCode::RefusedStream) => "http2_refused",
            Failure::Reset(_) => "http2_reset",
            Failure::GoAway(_) => "http2_goaway",
            Failure::HeadTooLarge => "head_too_large",
            Failure::BodyTooLarge => "body_too_large",
            Failure::TooManyCookies => "too_many_cookies",
            Failure::LoginRefused { .. } => "login_refused",
            Failure::LoginNoMatch { .. } => "login_no_match",
            Failure::LoginEncoded { .. } => "login_encoded",
            Failure::LoginRedirects { .. } => "login_redirects",
            Failure::LoginTooLarge { .. } => "login_too_large",
            Failure::Refused(_) => "refused_upgrade",
            Failure::BadAccept => "bad_accept",
            Failure::BadUpgrade => "bad_upgrade",
            Failure::SessionLost => "session_lost",
            Failure::SessionUpgrade(_) => "session_upgrade",
            Failure::NoUpgrade => "no_upgrade",
            Failure::NoTunnel => "no_http2_websocket",
            Failure::NoStreams => "http2_no_streams",
            Failure::NoWindow => "http2_no_window",
            Failure::UnaskedProtocol => "unasked_protocol",
            Failure::UnaskedExtension => "unasked_extension",
            Failure::Protocol(_) => "protocol",
            Failure::MessageTooLarge => "message_too_large",
            Failure::EventStream(reason) => reason.name(),
            Failure::Deflate => "deflate",
            Failure::BadMessage => "bad_message",
            Failure::HeartbeatTimeout => "heartbeat_timeout",
            Failure::Silent => "silent",
            Failure::Closed(_) => "closed",
            Failure::Eof | Failure::EofBeforeAnswer => "eof",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::HttpStatus(status) => write!(f, "the server answered with HTTP {status}"),
            Failure::NotHttp => f.write_str("the peer does not speak HTTP/1.1"),
            Failure::BadHttp(reason) => write!(f, "bad HTTP: {}", reason.text()),
            Failure::NotHttp2 => f.write_str("the peer does not speak HTTP/2"),
            Failure::BadHttp2(reason) => write!(f, "bad HTTP/2: {}", reason.text()),
            Failure::Reset(code) => write!(f, "the peer ended a request's stream with {code}"),
            Failure::GoAway(code) => write!(f, "the peer ended the connection with {code}"),
            Failure::HeadTooLarge => f.write_str("an HTTP head above 16 KiB, or of more than 100 fields"),
            Failure::BodyTooLarge => f.write_str("an HTTP body above 1 MiB"),
            Failure::TooManyCookies => {
                f.write_str("the server has set cookies of more than 16 KiB in all: no request has room for them")
            }
            Failure::LoginRefused { status, .. } => write!(f, "the login was answered with HTTP {status}"),
            Failure::LoginNoMatch { .. } => {
                f.write_str("a value that is to be kept is not in the login's answer")
            }
            Failure::LoginEncoded { coding, .. } => write!(
                f,
                "the login's answer is encoded (Content-Encoding: {}), which throng does not ask for: \
                 switch compression off there",
                coding
            ),
            Failure::LoginRedirects { .. } => {
                f.write_str(
                    "the login is redirected over and over, or to another server; if that is the same one over \
                     TLS, give the URL with https:// or wss://",
                )
            }
            Failure::LoginTooLarge { .. } => f.write_str("an answer to the login above the limit"),
            Failure::Refused(status) => write!(f, "the upgrade was refused with HTTP {status}"),
            Failure::BadAccept => f.write_str("Sec-WebSocket-Accept is missing or wrong"),
            Failure::BadUpgrade => f.write_str("the 101 has no proper Upgrade and Connection"),
            Failure::SessionLost => f.write_str(
                "the server does not know the session that it had opened: it ended it, or another node was asked \
                 (with several, the balancer has to keep each client at one: sticky sessions)",
            ),
            Failure::SessionUpgrade(status) => write!(
                f,
                "the session's upgrade was answered with HTTP {status}: what stands in between has to forward \
                 Upgrade and Connection, and to keep each client at one node (sticky sessions)"
            ),
            Failure::NoUpgrade => f.write_str("the server offers no upgrade to a WebSocket"),
            Failure::NoTunnel => f.write_str("the server has no WebSockets over HTTP/2"),
            Failure::NoStreams => f.write_str(
                "the server allows no streams (SETTINGS_MAX_CONCURRENT_STREAMS is 0): nothing was sent",
            ),
            Failure::NoWindow => {
                f.write_str("the server's HTTP/2 windows are full: what is to be sent waits for room")
            }
            Failure::UnaskedProtocol => f.write_str("the server chose a subprotocol nobody offered"),
            Failure::UnaskedExtension => f.write_str("the server chose an extension nobody offered"),
            Failure::Protocol(reason) => write!(f, "bad WebSocket: {}", reason.text()),
            Failure::MessageTooLarge => f.write_str("a message above the limit (--max-message)"),
            Failure::EventStream(reason) => reason.fmt(f),
            Failure::Deflate => f.write_str("a compressed message that does not inflate"),
            Failure::BadMessage => f.write_str("a message that breaks the rules of the protocol"),
            Failure::HeartbeatTimeout => f.write_str("the server has missed a heartbeat"),
            Failure::Silent => f.write_str("the client has been silent for too long"),
            Failure::Eof => f.write_str("the peer closed without a close handshake"),
            Failure::Closed(code) => write!(f, "the server closed the session with code {code}"),
            Failure::EofBeforeAnswer => {
                f.write_str("the server closed the connection before its answer was whole")
            }
        }
    }
}

impl std::error::Error for Failure {}

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
