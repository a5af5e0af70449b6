//! What a client's dialect does when it goes over plain HTTP requests instead of a WebSocket: one client with
//! several streams, each an [`Exchange`](crate::http::Exchange).

use crate::config::Config;
use crate::event::{Event, Kind};
use crate::failure::Failure;
use crate::io::{Io, Sending, StreamId};
use crate::stamp::Stamp;

/// Most bytes that wait for a request to be answered. What comes up beyond is not sent, and so never answered:
/// an unbounded queue would hide a server that has stopped to answer.
pub(crate) const QUEUED_BYTES_MAX: usize = 1 << 20;

/// What such a dialect acts through.
pub(crate) struct HttpLink<'a, I> {
    pub(crate) cfg: &'a Config,
    pub(crate) now_ns: u64,
    pub(crate) io: &'a mut I,
}

/// A dialect over plain requests, on the client's side.
pub(crate) trait HttpClientDialect {
    /// A stream is connected; the first time stream 0, of the driver's own accord.
    fn handle_open<I: Io>(&mut self, link: &mut HttpLink<'_, I>, stream: StreamId);

    /// Bytes came in on a stream, in any portions.
    fn handle_input<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, I>,
        stream: StreamId,
        bytes: &[u8],
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure>;

    /// The server closed a stream, which is gone already.
    fn handle_eof<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, I>,
        stream: StreamId,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure>;

    /// A stream is broken: whether the session goes on without it.
    fn handle_lost<I: Io>(&mut self, _link: &mut HttpLink<'_, I>, _stream: StreamId) -> bool {
        false
    }

    /// Whether messages may be sent.
    fn is_usable(&self) -> bool;

    /// Sends a stamped message, or queues it behind the request that is under way.
    fn send<I: Io>(&mut self, link: &mut HttpLink<'_, I>, unix_ns: u64, kind: Kind, stamp: Stamp) -> Sending;

    /// Says goodbye, where there is a way to, and closes the streams.
    fn close<I: Io>(&mut self, cfg: &Config, io: &mut I);

    /// Whether nothing more will come.
    fn is_closed(&self) -> bool;

    /// When to be woken.
    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    /// The time has come.
    fn handle_timeout<I: Io>(
        &mut self,
        _link: &mut HttpLink<'_, I>,
        _on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        Ok(())
    }
}
