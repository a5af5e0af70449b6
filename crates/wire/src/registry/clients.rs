//! A client over a WebSocket, whichever protocol it speaks.

use app::Identities;
use app::template::{Filling, Kept, Mark};
use codec::ws::receiver::Message;
use codec::ws::sender::Sender;

use super::Parts;
use crate::carried::{MessageTemplate, ProtocolHandler};
use crate::contract::{ClientProtocol, Protocol, RoomProtocol, Side};
use crate::event::Direction;
use crate::failure::Failure;
use crate::io::Io;
use crate::link::Link;
use crate::pending::Pending;
use crate::protocols;
use crate::resumption::Resumption;

/// The link of any protocol's side of a connection, without its parts.
pub(crate) struct LinkContext<'a, I> {
    pub(crate) pending: Option<&'a mut Pending>,
    pub(crate) identities: &'a Identities,
    pub(crate) kept: &'a Kept,
    pub(crate) now_ns: u64,
    pub(crate) sender: &'a mut Sender,
    pub(crate) io: &'a mut I,
}

impl<'a, I> LinkContext<'a, I> {
    #[inline]
    fn with<P>(self, parts: &'a P) -> Link<'a, P, I> {
        let LinkContext { pending, identities, kept, now_ns, sender, io } = self;
        Link { parts, pending, identities, kept, now_ns, sender, io }
    }
}

macro_rules! clients {
    ($($id:ident: $module:ident, by $($dialect:ident)|+;)*) => {
        /// A connection's protocol, on the client's side.
        #[derive(Debug)]
        pub(crate) enum ClientState {
            $($id(<protocols::$module::$id as Protocol>::Client),)*
        }

        /// Calls the protocol, whichever it is, with its own parts.
        macro_rules! of_any {
            ($state:expr, $parts:expr, $context:expr, $client:ident, $link:ident => $call:expr) => {
                match ($state, $parts) {
                    $((ClientState::$id($client), Parts::$id(parts)) => {
                        let $link = &mut $context.with(parts);
                        $call
                    })*
                    _ => unreachable!("a client has the parts of its own protocol"),
                }
            };
        }

        impl ClientState {
            /// The state of a new connection over a WebSocket.
            ///
            /// # Panics
            /// If these are the parts of clients that go over requests.
            pub(crate) fn new(parts: &Parts) -> ClientState {
                match parts {
                    $(Parts::$id(parts) => match protocols::$module::$id::client(parts) {
                        Side::Socket(client) => ClientState::$id(client),
                        Side::Requests(_) => panic!("a client over requests"),
                    })*
                }
            }

            #[inline]
            pub(crate) fn handle_upgraded<I: Io>(
                &mut self,
                parts: &Parts,
                context: LinkContext<'_, I>,
                on: &mut impl ProtocolHandler,
            ) {
                of_any!(self, parts, context, client, link => client.handle_upgraded(link, on))
            }

            #[inline]
            pub(crate) fn handle_message<I: Io>(
                &mut self,
                parts: &Parts,
                context: LinkContext<'_, I>,
                message: &Message<'_>,
                on: &mut impl ProtocolHandler,
            ) -> Result<(), Failure> {
                of_any!(self, parts, context, client, link => client.handle_message(link, message, on))
            }

            #[inline]
            pub(crate) fn send<I: Io>(
                &mut self,
                parts: &Parts,
                context: LinkContext<'_, I>,
                message_template: &MessageTemplate,
                filling: &Filling<'_>,
            ) {
                of_any!(self, parts, context, client, link => client.send(link, message_template, filling))
            }

            pub(crate) fn pass<I: Io>(
                &mut self,
                parts: &Parts,
                context: LinkContext<'_, I>,
                place: usize,
                way: Direction,
                mark: Mark<'_>,
            ) {
                of_any!(self, parts, context, client, link => {
                    if let Some(rooms) = client.rooms() {
                        rooms.pass(link, place, way, mark);
                    }
                })
            }

            pub(crate) fn resume(&mut self, resumption: &Resumption) {
                match self { $(ClientState::$id(client) => client.resume(resumption),)* }
            }

            pub(crate) fn resumption(&self) -> Option<&Resumption> {
                match self { $(ClientState::$id(client) => client.resumption(),)* }
            }

            pub(crate) fn is_ready(&self) -> bool {
                match self { $(ClientState::$id(client) => client.is_ready(),)* }
            }

            pub(crate) fn poll_timeout(&self) -> Option<u64> {
                match self { $(ClientState::$id(client) => client.poll_timeout(),)* }
            }

            pub(crate) fn handle_timeout<I: Io>(
                &mut self,
                parts: &Parts,
                context: LinkContext<'_, I>,
            ) -> Result<(), Failure> {
                of_any!(self, parts, context, client, link => client.handle_timeout(link))
            }
        }
    };
}

protocols!(clients);
