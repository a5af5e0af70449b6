//! The contract of a protocol, in each role.
//!
//! A protocol carries: it gets a client to where messages may be sent, puts its envelope around what an app
//! says, and takes it off what comes in ([`carried`](crate::carried)). What that means is the app's to tell
//! ([`apps`](crate::apps)).

use std::convert::Infallible;

use app::template::{Filling, Kept, Mark};
use codec::StreamId;
use codec::http::cookies::Cookies;
use codec::http::request::Request;
use codec::ws::MessageType;
use codec::ws::receiver::Message;

use crate::backoff::Reconnection;
use crate::carried::{AppMessage, MessageTemplate, ProtocolHandler, Shape};
use crate::dialect_id::DialectId;
use crate::event::{Direction, OnServerEvent};
use crate::facts::Facts;
use crate::failure::Failure;
use crate::io::{Io, Sending};
use crate::link::{HttpLink, Link, ServerLink};
use crate::opening::Socket;
use crate::options::{BadOption, Options};
use crate::publication::Publication;
use crate::resumption::Resumption;
use crate::room::Room;
use crate::server_config::ServerConfig;
use crate::session::{PlainAnswer, ServerSession, SessionHead};
use crate::settings::Settings;

/// Most bytes that wait for a request to be answered, a message of any size aside. A client with more is given
/// up: an unbounded queue would hide a server that has stopped answering.
pub(crate) const QUEUED_BYTES_MAX: usize = 1 << 20;

/// How a client of a protocol begins.
pub(crate) enum Side<S, R> {
    /// A WebSocket.
    Socket(S),
    /// Plain requests.
    Requests(R),
}

/// The question to a session of a protocol.
pub(crate) type QuestionOf<P> = <<P as Protocol>::Session as ServerSession>::Question;

/// A protocol: what it is known by, what it encodes once for all clients of a run, and its sides.
pub(crate) trait Protocol {
    /// The parts it encodes once.
    type Parts: std::fmt::Debug;
    /// The client's side over a WebSocket.
    type Client: ClientProtocol<Parts = Self::Parts>;
    /// The client's side over plain requests.
    type Requests: HttpClientProtocol<Parts = Self::Parts, Socket = Self::Client>;
    /// The server's side over a WebSocket.
    type Server: ServerProtocol<Session = Self::Session>;
    /// The server's side over plain requests.
    type Session: ServerSession;

    /// The facts of one of its dialects.
    fn facts(dialect: DialectId) -> &'static Facts;

    /// Returns whether its clients begin with plain requests.
    fn is_over_requests(_settings: &Settings) -> bool {
        false
    }

    /// Adds to a client's request what its options ask for.
    fn complete(_options: &mut Options) -> Result<(), BadOption> {
        Ok(())
    }

    /// Checks its options, and encodes what follows from them.
    fn parts(options: &Options) -> Result<Self::Parts, BadOption>;

    /// How the seeds' benchmark speaks over it.
    fn shape(_options: &Options) -> Shape {
        Shape::Typed
    }

    /// Puts the envelope around a message.
    fn message_template(
        parts: &Self::Parts,
        app_message: &AppMessage<'_>,
    ) -> Result<MessageTemplate, BadOption>;

    /// Takes note of the messages that are measured, for what follows from their form.
    fn handle_templates(_parts: &mut Self::Parts, _templates: &[&MessageTemplate]) {}

    /// Returns whether a client needs, after its login, what it was given there, to name its own messages or
    /// others'.
    fn names_kept(_parts: &Self::Parts) -> bool {
        false
    }

    /// The question a client asks, below the path, before anything else.
    fn question(_settings: &Settings) -> Option<&'static str> {
        None
    }

    /// Appends what a client adds to the path of its upgrade: where its own session is.
    fn write_path(_parts: &Self::Parts, _now_ns: u64, _io: &mut impl Io) {}

    /// The addition of a client that comes back to a session to the query of its upgrade.
    fn query(_resumption: &Resumption) -> Option<String> {
        None
    }

    /// A new client.
    fn client(parts: &Self::Parts) -> Side<Self::Client, Self::Requests>;

    /// The answer of a server to a request that is no upgrade; `None`: as everywhere.
    fn plain_answer(
        _cfg: &ServerConfig,
        _now_ns: u64,
        _request: &Request<'_>,
        _io: &mut impl Io,
    ) -> Option<PlainAnswer<SessionHead<QuestionOf<Self>>>> {
        None
    }

    /// Tells everyone in the room what is published there, in every way in which this protocol's members are
    /// told something.
    fn publish(cfg: &ServerConfig, now_ns: u64, publication: &Publication<'_>, on: &mut impl OnServerEvent) {
        Self::Server::publish(cfg, now_ns, publication, on);
    }
}

/// The client's side of one connection, over a WebSocket.
pub(crate) trait ClientProtocol {
    /// The parts encoded once.
    type Parts;

    /// The upgrade is done. Says what the protocol says first, and [`ProtocolEvent::Ready`] if it is ready at
    /// once.
    fn handle_upgraded<I: Io>(&mut self, link: &mut Link<'_, Self::Parts, I>, on: &mut impl ProtocolHandler);

    /// A message came in.
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, Self::Parts, I>,
        message: &Message<'_>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure>;

    /// Goes on with this session, if the server allows it. Called before any message is sent.
    fn resume(&mut self, _resumption: &Resumption) {}

    /// The resumption of this session over another connection, if there is a way.
    fn resumption(&self) -> Option<&Resumption> {
        None
    }

    /// Sends a message of the app's.
    fn send<I: Io>(
        &mut self,
        link: &mut Link<'_, Self::Parts, I>,
        message_template: &MessageTemplate,
        filling: &Filling<'_>,
    );

    /// The rooms that the protocol joins by itself; `None` if the app's messages join all of them.
    fn rooms(&mut self) -> Option<&mut impl RoomProtocol<Self::Parts>> {
        None::<&mut Infallible>
    }

    /// Returns whether the app may speak.
    fn is_ready(&self) -> bool {
        true
    }

    /// When to be woken.
    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    /// The time has come.
    fn handle_timeout<I: Io>(&mut self, _link: &mut Link<'_, Self::Parts, I>) -> Result<(), Failure> {
        Ok(())
    }
}

/// The rooms that a client's side joins and leaves in the protocol's own terms.
pub(crate) trait RoomProtocol<Parts> {
    /// Joins or leaves a room, by its place among these rooms. Reports the outcome
    /// ([`Event::RoomChange`](crate::Event::RoomChange)), if the server tells.
    fn pass<I: Io>(
        &mut self,
        link: &mut Link<'_, Parts, I>,
        place: usize,
        way: Direction,
        announced: Mark<'_>,
    );
}

/// The absence of such rooms.
impl<Parts> RoomProtocol<Parts> for Infallible {
    fn pass<I: Io>(&mut self, _link: &mut Link<'_, Parts, I>, _place: usize, _way: Direction, _: Mark<'_>) {
        match *self {}
    }
}

/// The client's side of one session over plain requests: one client with several streams, each an
/// [`Exchange`](codec::http::Exchange).
pub(crate) trait HttpClientProtocol {
    /// The parts encoded once.
    type Parts;
    /// The side over a WebSocket that may take over.
    type Socket;

    /// A stream is connected; the first time stream 0, of the driver's own accord.
    fn handle_open<I: Io>(&mut self, link: &mut HttpLink<'_, Self::Parts, I>, stream: StreamId);

    /// Bytes came in on a stream, in any portions.
    fn handle_input<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Self::Parts, I>,
        stream: StreamId,
        bytes: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure>;

    /// The server closed a stream, which is gone already.
    fn handle_eof<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Self::Parts, I>,
        stream: StreamId,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure>;

    /// Handles the loss of a stream. Returns whether the session goes on without it.
    fn handle_lost<I: Io>(&mut self, _link: &mut HttpLink<'_, Self::Parts, I>, _stream: StreamId) -> bool {
        false
    }

    /// Goes on with this session, if the server allows it. Called before any message is sent.
    fn resume(&mut self, _resumption: &Resumption) {}

    /// The resumption of this session over other connections, if there is a way.
    fn resumption(&self) -> Option<Resumption> {
        None
    }

    /// Returns whether it has heard nothing yet that another connection could go on from.
    fn lacks_place(&self) -> bool {
        false
    }

    /// The server's word on when its client may come back.
    fn reconnection(&self) -> Reconnection {
        Reconnection::Usual
    }

    /// The cookies that the server has set so far.
    fn cookies(&self) -> &Cookies {
        &Kept::NOTHING.cookies
    }

    /// The WebSocket that goes on from here with the client, on stream 0, and the state that it has come to;
    /// once.
    fn take_over(&mut self) -> Option<(Socket, Self::Socket)> {
        None
    }

    /// Returns whether the app may speak.
    fn is_ready(&self) -> bool;

    /// The failure if the server withholds something without which nothing more can be sent.
    fn withheld(&self) -> Option<Failure> {
        None
    }

    /// Returns whether more waits for an answer than is kept: the server has stopped answering.
    fn is_overfull(&self) -> bool {
        false
    }

    /// Sends a message of the app's, or queues it behind the request that is under way.
    fn send<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Self::Parts, I>,
        message_template: &MessageTemplate,
        filling: &Filling<'_>,
    ) -> Sending;

    /// Ends the session with the protocol's own message, if it has one, and closes the streams.
    fn close<I: Io>(&mut self, link: &mut HttpLink<'_, Self::Parts, I>);

    /// Returns whether nothing more will come.
    fn is_closed(&self) -> bool;

    /// When to be woken.
    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    /// The time has come.
    fn handle_timeout<I: Io>(&mut self, _link: &mut HttpLink<'_, Self::Parts, I>) -> Result<(), Failure> {
        Ok(())
    }
}

/// The server's side of one connection.
pub(crate) trait ServerProtocol: Sized {
    /// Its side over plain requests.
    type Session: ServerSession;

    /// The state of a connection that asks for an upgrade and would be granted `subprotocol`; or the HTTP
    /// status to refuse it with.
    fn open(cfg: &ServerConfig, request: &Request<'_>, subprotocol: Option<&str>) -> Result<Self, u16>;

    /// The 101 is written. Says what the protocol says first.
    fn handle_upgraded<I: Io>(&mut self, link: &mut ServerLink<'_, I>, on: &mut impl OnServerEvent);

    /// A message came in. It lies at the end of the output as the payload of an unsealed frame that starts at
    /// `start`, so that an echo needs no copy: seal it, or truncate the output and write something else.
    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        message_type: MessageType,
        start: usize,
        on: &mut impl OnServerEvent,
    ) -> Result<(), Failure>;

    /// When to be woken.
    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    /// The time has come.
    fn handle_timeout<I: Io>(&mut self, _link: &mut ServerLink<'_, I>) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns whether the reader sets the pace: it is not woken while bytes wait to be sent to it.
    fn follows_reader(&self) -> bool {
        false
    }

    /// The question to a session: before the 101, which then waits for the answer, or once
    /// [`ServerEvent::Asked`](crate::event::ServerEvent::Asked) has said that there is something.
    fn take_request(&mut self) -> Option<SessionHead<<Self::Session as ServerSession>::Question>> {
        None
    }

    /// The session asked has answered; `None`: it has nothing to say to the connection, or there is no such
    /// session.
    fn handle_answered<I: Io>(
        &mut self,
        _link: &mut ServerLink<'_, I>,
        _signal: Option<<Self::Session as ServerSession>::SessionSignal>,
        _on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// The connection is about to be closed by this side. Says the protocol's last words.
    fn handle_close<I: Io>(&mut self, _link: &mut ServerLink<'_, I>) {}

    /// Appends the frames that a message for a room of readers ([`Room::of_readers`]) is to this connection:
    /// the payload of what was broadcast in the words of its own.
    fn put_copy(&self, _room: Room, _payload: &[u8], _out: &mut Vec<u8>) {}

    /// Tells everyone in the room what is published there, where connections over a WebSocket are all that is
    /// told.
    fn publish(
        _cfg: &ServerConfig,
        _now_ns: u64,
        _publication: &Publication<'_>,
        _on: &mut impl OnServerEvent,
    ) {
    }
}
