//! Things that go wrong between a client and its server, each told once.

use std::fmt;

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// The server could not be reached, for this reason.
    Unreachable(String),
    /// The server's answer broke off, or could not be read.
    BrokenAnswer,
    /// The server refused a WebSocket with this status.
    SocketRefused(u16),
    /// The server ended a WebSocket without a close frame.
    SocketLost,
    /// A WebSocket's frames could not be read, and are not recorded from there on.
    BadFrames,
    /// A body was compressed with this coding, though none was asked for: it is passed on as it is.
    Encoded(String),
    /// The server redirects to another origin, where the proxy is not.
    Elsewhere(String),
    /// A client asked for another host, as through a proxy of the system.
    NotForUs,
    /// A connection could not be accepted, for this reason.
    NotAccepted(String),
    /// All places for connections were taken; further ones waited.
    Crowded,
    /// Bodies of answers were let go, the oldest first.
    BodyLeftOut,
    /// The recording was full, and further requests and messages were not recorded.
    LeftOut,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Unreachable(why) => write!(f, "could not reach the server: {why}"),
            Trouble::BrokenAnswer => {
                f.write_str("an answer of the server broke off or is malformed: read its log")
            }
            Trouble::SocketRefused(status) => {
                let advice = match status {
                    401 | 403 => "log in through the proxy first",
                    _ => "check its path, and the server's log",
                };
                write!(f, "the server refused a WebSocket with status {status}: {advice}")
            }
            Trouble::SocketLost => f.write_str("the server closed a WebSocket without a close frame"),
            Trouble::BadFrames => f.write_str(
                "a WebSocket has a message that cannot be read; it is passed on, and no longer recorded",
            ),
            Trouble::Encoded(coding) => {
                write!(f, "an answer came as {coding}, unasked: its links lead to the server itself")
            }
            Trouble::Elsewhere(origin) => {
                write!(f, "the server redirects to {origin}, which is not recorded: throng record {origin}")
            }
            Trouble::NotForUs => f.write_str(
                "a client asked for another host: open the address above; set no proxy in the browser",
            ),
            Trouble::NotAccepted(why) => {
                write!(f, "could not accept a connection, and tries again: {why}")
            }
            Trouble::Crowded => f.write_str("256 connections are open, and further ones wait: close pages"),
            Trouble::BodyLeftOut => {
                f.write_str("the recording reached 64 MiB: the oldest bodies are left out")
            }
            Trouble::LeftOut => {
                f.write_str("the recording is full: what came after is left out; press Ctrl-C")
            }
        }
    }
}
