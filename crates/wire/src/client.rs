//! The client role: HTTP upgrade, WebSocket and dialect of one virtual user.

use std::fmt;

use crate::dialects::DialectId;
use crate::failure::Failure;
use crate::io::{Io, StreamId};
use crate::limits::{DeflateOptions, Limits};
use crate::stamp::Stamp;

/// What the clients of a run have in common, as the user asked for it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The dialect spoken.
    pub dialect: DialectId,
    /// The `Host` field: host name, and port unless it is the scheme's own.
    pub host: String,
    /// Path and query, in origin form.
    pub path: String,
    /// Header fields to add to the request.
    pub headers: Vec<(String, String)>,
    /// Subprotocols to offer, in order; empty: the dialect's own.
    pub subprotocols: Vec<String>,
    /// The `Origin` field.
    pub origin: Option<String>,
    /// User and password of basic authentication (RFC 7617).
    pub basic_auth: Option<(String, String)>,
    /// Offer permessage-deflate.
    pub deflate: Option<DeflateOptions>,
    /// Bounds on what the server may send.
    pub limits: Limits,
    /// What messages carry.
    pub payload: Payload,
}

/// The size and form of the messages sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Payload {
    /// Bytes: of the whole message in `raw` (33 when `None`), of the padding in the others (0 when `None`).
    pub padding: Option<u32>,
    /// `raw` only: send text, not binary.
    pub text: bool,
}

/// An option that cannot be put on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadOption {
    /// The host is empty or holds bytes a `Host` field may not.
    Host,
    /// The path does not start with `/` or holds bytes a request target may not.
    Path,
    /// A header name or value is not sendable, or is one the handshake sets itself.
    Header,
    /// A subprotocol is not a token, or is there twice.
    Subprotocol,
    /// The payload is too small for its stamp, or above the message limit.
    PayloadSize {
        /// Fewest bytes.
        min: u32,
        /// Most bytes.
        max: u32,
    },
}

/// [`Options`], checked, with everything that can be encoded once already encoded. Shared by all clients of a run.
#[derive(Debug)]
pub struct Config {
    options: Options,
}

impl Config {
    /// Checks the options and encodes the parts of a request and of a message that never change.
    pub fn new(options: Options) -> Result<Config, BadOption> {
        Ok(Config { options })
    }

    /// What was asked for.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

/// What to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A message for the server to send back.
    Echo,
    /// A message for the server to send to everyone.
    Broadcast,
}

/// What a stamped message that came in is to its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The answer to one's own echo.
    Echo,
    /// The acknowledgement of one's own broadcast (`broadcastResult`).
    Ack,
    /// A copy of a broadcast, one's own included.
    Copy,
}

/// A refusal in the dialect's own words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejection {
    /// The server refused the subscription or join.
    Subscription,
    /// The server refused a message.
    Message,
}

impl Rejection {
    /// The name under which results count it.
    pub fn name(self) -> &'static str {
        match self {
            Rejection::Subscription => "rejected_subscription",
            Rejection::Message => "rejected_message",
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rejection::Subscription => "the server refused the subscription",
            Rejection::Message => "the server refused a message",
        })
    }
}

/// What happened on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The 101 is in and verified.
    Upgraded,
    /// The dialect is ready: messages may be sent.
    Usable,
    /// A message of ours, whole and sound.
    Message {
        /// What it is to this client.
        role: Role,
        /// The mark it carried.
        stamp: Stamp,
        /// Payload bytes on the wire, all fragments together, as compressed.
        bytes: u32,
    },
    /// A message of ours that was changed on its way.
    Corrupt {
        /// Payload bytes on the wire.
        bytes: u32,
    },
    /// A message that is not ours.
    Foreign {
        /// Payload bytes on the wire.
        bytes: u32,
    },
    /// The dialect refused something.
    Rejected(Rejection),
    /// The peer's close frame is in (and answered, unless it was the answer); 1005 when it had no code.
    Closed {
        /// The peer's close code.
        code: u16,
    },
}

/// One virtual user's connection.
#[derive(Debug, Default)]
pub struct Client {}

impl Client {
    /// A client whose transport is not connected yet.
    pub fn new() -> Client {
        Client::default()
    }

    /// The transport of `stream` is connected: writes the request.
    pub fn handle_open(&mut self, cfg: &Config, now_ns: u64, stream: StreamId, io: &mut impl Io) {
        let _ = (cfg, now_ns, stream, io);
    }

    /// Bytes came in on `stream`, in any portions. After an error the connection is of no further use.
    pub fn handle_input(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        stream: StreamId,
        bytes: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let _ = (cfg, now_ns, stream, bytes, io, on);
        Ok(())
    }

    /// The peer closed `stream`. Fine after a completed close, [`Failure::Eof`] before.
    pub fn handle_eof(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        stream: StreamId,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let _ = (cfg, now_ns, stream, on);
        Ok(())
    }

    /// The time named by [`poll_timeout`](Client::poll_timeout) has come.
    pub fn handle_timeout(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        io: &mut impl Io,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let _ = (cfg, now_ns, io, on);
        Ok(())
    }

    /// When the dialect wants to be woken, if ever: nanoseconds on the clock of `now_ns`.
    pub fn poll_timeout(&self) -> Option<u64> {
        None
    }

    /// Whether messages may be sent.
    pub fn is_usable(&self) -> bool {
        false
    }

    /// Sends one stamped message. `unix_ns` is the wall clock, for dialects whose messages show it.
    pub fn send(
        &mut self,
        cfg: &Config,
        now_ns: u64,
        unix_ns: u64,
        kind: Kind,
        stamp: Stamp,
        io: &mut impl Io,
    ) {
        let _ = (cfg, now_ns, unix_ns, kind, stamp, io);
    }

    /// Starts the close handshake (RFC 6455 §7.1.2). Does nothing before the upgrade or after another close.
    pub fn close(&mut self, cfg: &Config, code: u16, io: &mut impl Io) {
        let _ = (cfg, code, io);
    }
}
