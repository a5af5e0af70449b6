//! The server role: HTTP, WebSocket and dialect of one accepted connection.

use crate::dialects::DialectId;
use crate::failure::Failure;
use crate::io::{Io, StreamId};
use crate::limits::{DeflateOptions, Limits};

/// What the connections of a server have in common.
#[derive(Clone, Debug, Default)]
pub struct ServerConfig {
    /// Bounds on what a client may send.
    pub limits: Limits,
    /// Accept permessage-deflate when offered.
    pub deflate: Option<DeflateOptions>,
    /// Origins served; empty: all. A request without `Origin` is not from a browser and is served.
    pub origins: Vec<String>,
    /// Subprotocols spoken; the client's first choice among them is taken.
    pub subprotocols: Vec<String>,
    /// The one dialect spoken; `None`: raw, json and binary, told apart by each message.
    pub dialect: Option<DialectId>,
}

/// What happened on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerEvent<'a> {
    /// The 101 is written: from now on a member of the dialect's broadcast group.
    Upgraded {
        /// The group: [`DialectId::Raw`] stands for the family of raw, json and binary.
        dialect: DialectId,
    },
    /// A message was answered into the output.
    Echoed {
        /// Payload bytes of the message.
        bytes: u32,
    },
    /// A message for every member of the group, the sender included. The sender's result is already in its output.
    Broadcast {
        /// The group.
        dialect: DialectId,
        /// The encoded frame, the same for every member.
        frame: &'a [u8],
    },
    /// A plain HTTP request was answered into the output.
    Requested {
        /// False: the connection closes once the answer is sent.
        keep_alive: bool,
    },
    /// The peer's close frame is in (and answered, unless it was the answer); 1005 when it had no code.
    Closed {
        /// The peer's close code.
        code: u16,
    },
}

/// One accepted connection.
#[derive(Debug, Default)]
pub struct Server {}

impl Server {
    /// A connection that was just accepted.
    pub fn new() -> Server {
        Server::default()
    }

    /// Bytes came in on `stream`, in any portions. After an error the connection is to be closed once the
    /// output, which tells the peer why, is sent.
    pub fn handle_input(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        stream: StreamId,
        bytes: &[u8],
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        let _ = (cfg, now_ns, stream, bytes, io, on);
        Ok(())
    }

    /// The peer closed `stream`. Fine between requests and after a completed close, [`Failure::Eof`] elsewhere.
    pub fn handle_eof(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        stream: StreamId,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        let _ = (cfg, now_ns, stream, on);
        Ok(())
    }

    /// The time named by [`poll_timeout`](Server::poll_timeout) has come.
    pub fn handle_timeout(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        io: &mut impl Io,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        let _ = (cfg, now_ns, io, on);
        Ok(())
    }

    /// When the dialect wants to be woken, if ever: nanoseconds on the clock of `now_ns`.
    pub fn poll_timeout(&self) -> Option<u64> {
        None
    }

    /// Starts the close handshake. Does nothing before the upgrade or after another close.
    pub fn close(&mut self, cfg: &ServerConfig, code: u16, io: &mut impl Io) {
        let _ = (cfg, code, io);
    }
}
