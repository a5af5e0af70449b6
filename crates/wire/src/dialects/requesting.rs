//! A client over plain requests, whichever dialect it speaks.

use super::over_http::{HttpClientDialect, HttpLink};
use super::registry::ClientState;
use super::{http, socketio, sockjs};
use crate::config::Config;
use crate::dialect_id::DialectId;
use crate::event::{Event, Kind};
use crate::failure::Failure;
use crate::io::{Io, Sending, StreamId};
use crate::opening::Socket;
use crate::stamp::Stamp;

/// The state of a client over plain requests, of any dialect that can do so.
#[derive(Debug)]
pub(crate) enum HttpClientState {
    Sockjs(sockjs::requests::Client),
    Http(http::Requests),
    Socketio(socketio::requests::Client),
}

/// Calls the dialect, whichever it is.
macro_rules! of_any {
    ($state:expr, $client:ident => $call:expr) => {
        match $state {
            HttpClientState::Sockjs($client) => $call,
            HttpClientState::Http($client) => $call,
            HttpClientState::Socketio($client) => $call,
        }
    };
}

impl HttpClientState {
    /// The state of a new client; `None` when its dialect and transport use a WebSocket.
    pub(crate) fn new(cfg: &Config) -> Option<HttpClientState> {
        match cfg.options().dialect {
            DialectId::Sockjs => sockjs::requests::Client::new(cfg).map(HttpClientState::Sockjs),
            DialectId::Http => Some(HttpClientState::Http(http::Requests::new())),
            DialectId::Socketio => socketio::requests::Client::new(cfg).map(HttpClientState::Socketio),
            _ => None,
        }
    }

    pub(crate) fn handle_open<I: Io>(&mut self, link: &mut HttpLink<'_, I>, stream: StreamId) {
        of_any!(self, client => client.handle_open(link, stream));
    }

    pub(crate) fn handle_input<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, I>,
        stream: StreamId,
        bytes: &[u8],
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        of_any!(self, client => client.handle_input(link, stream, bytes, on))
    }

    pub(crate) fn handle_eof<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, I>,
        stream: StreamId,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        of_any!(self, client => client.handle_eof(link, stream, on))
    }

    pub(crate) fn handle_lost<I: Io>(&mut self, link: &mut HttpLink<'_, I>, stream: StreamId) -> bool {
        of_any!(self, client => client.handle_lost(link, stream))
    }

    /// The WebSocket that goes on from here with the client, on stream 0, and its dialect's state; once.
    pub(crate) fn take_over(&mut self) -> Option<(Socket, ClientState)> {
        let HttpClientState::Socketio(client) = self else { return None };
        client.take_over().map(|(socket, client)| (socket, ClientState::Socketio(client)))
    }

    pub(crate) fn is_usable(&self) -> bool {
        of_any!(self, client => client.is_usable())
    }

    pub(crate) fn send<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, I>,
        unix_ns: u64,
        kind: Kind,
        stamp: Stamp,
    ) -> Sending {
        of_any!(self, client => client.send(link, unix_ns, kind, stamp))
    }

    pub(crate) fn close<I: Io>(&mut self, cfg: &Config, io: &mut I) {
        of_any!(self, client => client.close(cfg, io));
    }

    pub(crate) fn is_closed(&self) -> bool {
        of_any!(self, client => client.is_closed())
    }

    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        of_any!(self, client => client.poll_timeout())
    }

    pub(crate) fn handle_timeout<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, I>,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        of_any!(self, client => client.handle_timeout(link, on))
    }
}
