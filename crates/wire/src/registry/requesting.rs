//! A client over plain requests, whichever protocol it speaks.

use app::template::Filling;
use codec::StreamId;
use codec::http::cookies::Cookies;

use super::Parts;
use super::clients::ClientState;
use crate::backoff::Reconnection;
use crate::carried::{MessageTemplate, ProtocolHandler};
use crate::contract::{HttpClientProtocol, Protocol, Side};
use crate::failure::Failure;
use crate::io::{Io, Sending};
use crate::link::HttpLink;
use crate::opening::Socket;
use crate::protocols;
use crate::resumption::Resumption;

macro_rules! requesting {
    ($($id:ident: $module:ident, by $($dialect:ident)|+;)*) => {
        /// The state of a client over plain requests, of any protocol that can do so. Each has a box of its
        /// own size: a client that waits for events takes a fifth of what Socket.IO's takes.
        #[derive(Debug)]
        pub(crate) enum HttpClientState {
            $($id(Box<<protocols::$module::$id as Protocol>::Requests>),)*
        }

        /// Calls the protocol, whichever it is.
        macro_rules! of_any {
            ($state:expr, $client:ident => $call:expr) => {
                match $state { $(HttpClientState::$id($client) => $call,)* }
            };
            ($state:expr, $link:ident, $client:ident => $call:expr) => {
                match ($state, $link.parts) {
                    $((HttpClientState::$id($client), Parts::$id(parts)) => {
                        let $link = &mut $link.with(parts);
                        $call
                    })*
                    _ => unreachable!("a client has the parts of its own protocol"),
                }
            };
        }

        impl HttpClientState {
            /// The state of a new client; `None` when its protocol and transport use a WebSocket.
            pub(crate) fn new(parts: &Parts) -> Option<HttpClientState> {
                match parts {
                    $(Parts::$id(parts) => match protocols::$module::$id::client(parts) {
                        Side::Requests(client) => Some(HttpClientState::$id(Box::new(client))),
                        Side::Socket(_) => None,
                    })*
                }
            }

            /// The WebSocket that goes on from here with the client, on stream 0, and its protocol's state;
            /// once.
            pub(crate) fn take_over(&mut self) -> Option<(Socket, ClientState)> {
                match self {
                    $(HttpClientState::$id(client) => {
                        client.take_over().map(|(socket, client)| (socket, ClientState::$id(client)))
                    })*
                }
            }
        }
    };
}

protocols!(requesting);

impl HttpClientState {
    pub(crate) fn handle_open<I: Io>(&mut self, link: HttpLink<'_, Parts, I>, stream: StreamId) {
        of_any!(self, link, client => client.handle_open(link, stream));
    }

    pub(crate) fn handle_input<I: Io>(
        &mut self,
        link: HttpLink<'_, Parts, I>,
        stream: StreamId,
        bytes: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        of_any!(self, link, client => client.handle_input(link, stream, bytes, on))
    }

    pub(crate) fn handle_eof<I: Io>(
        &mut self,
        link: HttpLink<'_, Parts, I>,
        stream: StreamId,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        of_any!(self, link, client => client.handle_eof(link, stream, on))
    }

    pub(crate) fn handle_lost<I: Io>(&mut self, link: HttpLink<'_, Parts, I>, stream: StreamId) -> bool {
        of_any!(self, link, client => client.handle_lost(link, stream))
    }

    pub(crate) fn resume(&mut self, resumption: &Resumption) {
        of_any!(self, client => client.resume(resumption));
    }

    pub(crate) fn resumption(&self) -> Option<Resumption> {
        of_any!(self, client => client.resumption())
    }

    pub(crate) fn lacks_place(&self) -> bool {
        of_any!(self, client => client.lacks_place())
    }

    pub(crate) fn reconnection(&self) -> Reconnection {
        of_any!(self, client => client.reconnection())
    }

    pub(crate) fn cookies(&self) -> &Cookies {
        of_any!(self, client => client.cookies())
    }

    pub(crate) fn is_ready(&self) -> bool {
        of_any!(self, client => client.is_ready())
    }

    pub(crate) fn withheld(&self) -> Option<Failure> {
        of_any!(self, client => client.withheld())
    }

    pub(crate) fn is_overfull(&self) -> bool {
        of_any!(self, client => client.is_overfull())
    }

    pub(crate) fn send<I: Io>(
        &mut self,
        link: HttpLink<'_, Parts, I>,
        message_template: &MessageTemplate,
        filling: &Filling<'_>,
    ) -> Sending {
        of_any!(self, link, client => client.send(link, message_template, filling))
    }

    pub(crate) fn close<I: Io>(&mut self, link: HttpLink<'_, Parts, I>) {
        of_any!(self, link, client => client.close(link));
    }

    pub(crate) fn is_closed(&self) -> bool {
        of_any!(self, client => client.is_closed())
    }

    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        of_any!(self, client => client.poll_timeout())
    }

    pub(crate) fn handle_timeout<I: Io>(&mut self, link: HttpLink<'_, Parts, I>) -> Result<(), Failure> {
        of_any!(self, link, client => client.handle_timeout(link))
    }
}
