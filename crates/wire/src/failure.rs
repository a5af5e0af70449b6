//! The causes of failed connections: small, `Copy`, countable by kind.

mod coding;
mod event_stream;

use std::fmt;

use codec::{Error, ErrorCode, Http2Reason};

pub use coding::Coding;
pub use event_stream::{Media, StreamReason};

/// The reason why a session gave up on its peer. The connection is of no further use; anything the peer should
/// still be told (a close frame, an HTTP error) is already in the output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// The peer's bytes break a rule or a limit of HTTP, WebSocket or an event stream.
    Codec(Error),
    /// The peer has ended the stream of a request instead of answering it (RFC 9113 §6.4).
    Reset(ErrorCode),
    /// The peer ends the connection, and not because it has served it (RFC 9113 §6.8).
    GoAway(ErrorCode),
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
    /// The server allows fewer streams on a connection than there are clients to share it (RFC 9113 §5.1.2).
    StreamLimit {
        /// Most streams that it allows.
        allowed: u32,
        /// Clients that are to share a connection.
        clients: u32,
    },
    /// The server's windows leave no room for what is to be sent over HTTP/2 (RFC 9113 §5.2).
    NoWindow,
    /// An event stream that breaks off, breaks a limit or is none.
    EventStream(StreamReason),
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
}

impl Failure {
    /// The status that tells a client what was wrong with its request.
    pub(crate) fn status(self) -> u16 {
        match self {
            Failure::Codec(error) => error.status(),
            Failure::Refused(status) => status,
            _ => 400,
        }
    }

    /// The error code for a peer over HTTP/2 (RFC 9113 §7); `None` if it knows, or hears nothing any more.
    pub(crate) fn goodbye_code(self) -> Option<ErrorCode> {
        match self {
            Failure::Codec(error) => error.goodbye_code(),
            _ => None,
        }
    }

    /// The close code to tell the peer (RFC 6455 §7.4.1); `None` for a failure that has no WebSocket yet.
    pub fn close_code(self) -> Option<u16> {
        match self {
            Failure::Codec(error) => error.close_code(),
            Failure::BadMessage => Some(1002),
            _ => None,
        }
    }

    /// The name under which results count it.
    pub fn name(self) -> &'static str {
        match self {
            Failure::Codec(error) => error.name(),
            Failure::Reset(ErrorCode::RefusedStream) => "http2_refused",
            Failure::Reset(_) => "http2_reset",
            Failure::GoAway(_) => "http2_goaway",
            Failure::LoginRefused { .. } => "login_refused",
            Failure::LoginNoMatch { .. } => "login_no_match",
            Failure::LoginEncoded { .. } => "login_encoded",
            Failure::LoginRedirects { .. } => "login_redirects",
            Failure::LoginTooLarge { .. } => "login_too_large",
            Failure::Refused(_) => "refused_upgrade",
            Failure::SessionLost => "session_lost",
            Failure::SessionUpgrade(_) => "session_upgrade",
            Failure::NoUpgrade => "no_upgrade",
            Failure::NoTunnel => "no_http2_websocket",
            Failure::NoStreams => "http2_no_streams",
            Failure::StreamLimit { .. } => "http2_stream_limit",
            Failure::NoWindow => "http2_no_window",
            Failure::EventStream(reason) => reason.name(),
            Failure::BadMessage => "bad_message",
            Failure::HeartbeatTimeout => "heartbeat_timeout",
            Failure::Silent => "silent",
            Failure::Closed(_) => "closed",
            Failure::Eof => "eof",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // With the limits that throng sets, and the flags that change them.
            Failure::Codec(Error::HeadTooLarge) => {
                f.write_str("an HTTP head above 16 KiB, or of more than 100 fields")
            }
            Failure::Codec(Error::BodyTooLarge) => f.write_str("an HTTP body above 1 MiB"),
            Failure::Codec(Error::MessageTooLarge) => f.write_str("a message above the limit (--max-message)"),
            Failure::Codec(Error::EventTooLarge) => {
                f.write_str("an event or a line above --max-message, or an id above 8 KiB")
            }
            Failure::Codec(error) => error.fmt(f),
            Failure::Reset(code) => write!(f, "the peer ended a request's stream with {code}"),
            Failure::GoAway(code) => write!(f, "the peer ended the connection with {code}"),
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
            Failure::StreamLimit { allowed, clients } => write!(
                f,
                "the server allows {allowed} streams on a connection (SETTINGS_MAX_CONCURRENT_STREAMS), and \
                 {clients} clients are to share one: --streams {allowed}"
            ),
            Failure::NoWindow => {
                f.write_str("the server's HTTP/2 windows are full: nothing of what waits for room was sent")
            }
            Failure::EventStream(reason) => reason.fmt(f),
            Failure::BadMessage => f.write_str("a message that breaks the rules of the protocol"),
            Failure::HeartbeatTimeout => f.write_str("the server has missed a heartbeat"),
            Failure::Silent => f.write_str("the client has been silent for too long"),
            Failure::Eof => f.write_str("the peer closed without a close handshake"),
            Failure::Closed(code) => write!(f, "the server closed the session with code {code}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    #[inline]
    fn from(error: Error) -> Failure {
        Failure::Codec(error)
    }
}

impl From<Http2Reason> for Failure {
    fn from(reason: Http2Reason) -> Failure {
        Failure::Codec(Error::BadHttp2(reason))
    }
}
