//! What a protocol has to do, in each role, and what it is given to do it with.
//!
//! A protocol carries: it gets a client to where messages may be sent, puts its envelope around what an app says, and
//! takes it off what comes in. What that means is the app's to tell ([`apps`](crate::apps)).

use std::borrow::Cow;

use crate::dialect_id::DialectId;
use crate::event::{Event, Kind, ServerEvent};
use crate::facts::Facts;
use crate::failure::Failure;
use crate::http::request::Request;
use crate::io::{Io, Sending, StreamId};
use crate::json;
use crate::opening::Socket;
use crate::options::{BadOption, Options};
use crate::pending::Pending;
use crate::request::Common;
use crate::roll::Roll;
use crate::room::Room;
use crate::server_config::ServerConfig;
use crate::session::{Asked, PlainAnswer, ServerSession};
use crate::settings::Settings;
use crate::stamp::Found;
use crate::template::{Filling, Kept, Stencil, Template, Who};
use crate::ws::receiver::Message;
use crate::ws::sender::Sender;

/// Most bytes that wait for a request to be answered. What comes up beyond is not sent, and so never answered:
/// an unbounded queue would hide a server that has stopped to answer.
pub(crate) const QUEUED_BYTES_MAX: usize = 1 << 20;

/// What a client's side of a protocol acts through.
pub(crate) struct Link<'a, P, I> {
    /// What the protocol has encoded once.
    pub(crate) parts: &'a P,
    /// Messages whose answers may come without their ids; `None`: the app's answers carry them.
    pub(crate) pending: Option<&'a mut Pending>,
    /// Who the clients are.
    pub(crate) roll: &'a Roll,
    /// What this client was given at its login.
    pub(crate) kept: &'a Kept,
    /// For protocols with heartbeats and deadlines.
    pub(crate) now_ns: u64,
    pub(crate) sender: &'a mut Sender,
    pub(crate) io: &'a mut I,
}

impl<'a, P, I: Io> Link<'a, P, I> {
    /// What stands in the holes of what this client says, and is no message of the app's.
    pub(crate) fn filling(&self) -> Filling<'a> {
        Filling::of(self.roll.who(self.io.client(), self.now_ns, self.kept))
    }
}

/// What a client's side acts through that goes over plain requests.
pub(crate) struct HttpLink<'a, P, I> {
    /// What the protocol has encoded once.
    pub(crate) parts: &'a P,
    /// Messages whose answers may come without their ids; `None`: the app's answers carry them.
    pub(crate) pending: Option<&'a mut Pending>,
    pub(crate) common: &'a Common,
    /// What this client was given at its login.
    pub(crate) kept: &'a Kept,
    pub(crate) now_ns: u64,
    pub(crate) io: &'a mut I,
}

impl<'a, P, I: Io> HttpLink<'a, P, I> {
    /// Who this client is, and when.
    pub(crate) fn who(&self) -> Who<'a> {
        self.common.who(self.io, self.now_ns, self.kept)
    }
}

/// What a server's side acts through.
pub(crate) struct ServerLink<'a, I> {
    pub(crate) cfg: &'a ServerConfig,
    /// For protocols with heartbeats and deadlines.
    pub(crate) now_ns: u64,
    pub(crate) sender: &'a mut Sender,
    pub(crate) io: &'a mut I,
}

/// What an app has to say, to be carried under the name of an event.
pub(crate) struct Utterance<'a> {
    /// The event's name: what a protocol with names puts there. Others have no use for it.
    pub(crate) event: &'a str,
    pub(crate) body: Template,
    /// The body is for a binary frame, where the protocol leaves that to the app.
    pub(crate) is_binary: bool,
    /// Which of the measured messages it is; `None`: it is not measured.
    pub(crate) kind: Option<Kind>,
    /// The protocol is to ask for its answer, where it need not.
    pub(crate) wants_reply: bool,
}

/// A message with a protocol's envelope around it, ready to be filled in.
#[derive(Debug, Default)]
pub(crate) struct Letter {
    pub(crate) text: Stencil,
    pub(crate) is_binary: bool,
    pub(crate) kind: Option<Kind>,
    /// Its answer is known by the number that the protocol gives it.
    pub(crate) is_numbered: bool,
    /// The event's name, where that is not in the template.
    pub(crate) event: Vec<u8>,
    /// What a message of its own carries behind it (socketio).
    pub(crate) attachment: Option<Stencil>,
}

/// How the payload of the seeds' benchmark stands in a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// Beside its type: `{"type":"echo","payload":P}`.
    Typed,
    /// As the one member of an object.
    Member(&'static str),
    /// By itself.
    Alone,
    /// As bytes: the stamp and the padding.
    Bytes,
}

/// What a protocol tells of a connection.
#[derive(Debug)]
pub(crate) enum Carried<'a> {
    /// The room is joined: the app may speak.
    Ready,
    /// A message for the app.
    Arrival(Arrival<'a>),
    /// What needs no app to be understood.
    Event(Event),
}

/// Who is told what a protocol carries. Not a closure but for the rare: what a message means is found out in the midst of
/// its protocol's code, where nothing of it has to be put down and picked up again, and closures are not inlined at will.
pub(crate) trait Hears {
    /// Takes one thing that the protocol tells.
    fn hear(&mut self, carried: Carried<'_>);
}

impl<F: FnMut(Carried<'_>)> Hears for F {
    fn hear(&mut self, carried: Carried<'_>) {
        self(carried);
    }
}

/// A message that came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    /// The message, with what the protocol has put around it if that may stay.
    pub(crate) text: &'a [u8],
    /// How its words are written.
    pub(crate) spelling: Spelling,
    /// The stamp in it; `None`: where to look for it only the app knows.
    pub(crate) found: Option<Found>,
    /// What the protocol knows of its meaning.
    pub(crate) says: Says<'a>,
    /// Bytes on the wire.
    pub(crate) bytes: u32,
    /// Takes the envelope off; `None`: it is none of the protocol's messages.
    pub(crate) open: fn(&'a [u8]) -> Option<Opened<'a>>,
}

/// How the words of a message are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spelling {
    /// There is nothing around the message: it is what was sent, byte for byte.
    Whole {
        /// It came as text.
        is_text: bool,
    },
    /// As they are, among others.
    Plain,
    /// With every quotation mark escaped, in a JSON string.
    Escaped,
    /// As bytes, of which the stamp is the first.
    Bytes,
}

/// What a protocol knows of a message's meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Says<'a> {
    /// Nothing.
    Unknown,
    /// It came under this event's name.
    Named(&'a [u8]),
    /// The same, of servers that say things under names of their own, which are no concern of ours.
    NamedAmongOthers(&'a [u8]),
    /// It answers a message of this kind.
    Answer(Kind),
    /// It answers nothing: the server sends it to whom it likes.
    Pushed,
}

/// A message without its envelope.
pub(crate) struct Opened<'a> {
    /// The event's name; empty where there is none.
    pub(crate) event: Cow<'a, [u8]>,
    pub(crate) body: Cow<'a, [u8]>,
}

/// How a client of a protocol begins.
pub(crate) enum Side<S, R> {
    /// With a WebSocket.
    Socket(S),
    /// With plain requests.
    Requests(R),
}

/// What a session of a protocol is asked.
pub(crate) type QuestionOf<P> = <<P as Protocol>::Session as ServerSession>::Question;

/// A protocol: what it is known by, what it encodes once for all clients of a run, and its sides.
pub(crate) trait Protocol {
    /// What it encodes once.
    type Parts: std::fmt::Debug;
    /// The client's side over a WebSocket.
    type Client: ClientProtocol<Parts = Self::Parts>;
    /// The client's side over plain requests.
    type Requests: HttpClientProtocol<Parts = Self::Parts, Socket = Self::Client>;
    /// The server's side over a WebSocket.
    type Server: ServerProtocol<Session = Self::Session>;
    /// The server's side over plain requests.
    type Session: ServerSession;

    /// What is known of one of its dialects.
    fn facts(dialect: DialectId) -> &'static Facts;

    /// Whether its clients begin with plain requests.
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
    fn letter(parts: &Self::Parts, utterance: &Utterance<'_>) -> Result<Letter, BadOption>;

    /// Takes note of the messages that are measured, for what follows from their form.
    fn handle_letters(_parts: &mut Self::Parts, _letters: &[&Letter]) {}

    /// Whether a client goes on to need what it was given at its login, so that its messages or those of others can be named.
    fn names_kept(_parts: &Self::Parts) -> bool {
        false
    }

    /// What a client asks for, below the path, before anything else.
    fn question(_settings: &Settings) -> Option<&'static str> {
        None
    }

    /// Appends what a client adds to the path of its upgrade: where its own session is.
    fn write_path(_parts: &Self::Parts, _now_ns: u64, _io: &mut impl Io) {}

    /// A new client.
    fn client(parts: &Self::Parts) -> Side<Self::Client, Self::Requests>;

    /// What a server answers to a request that is no upgrade; `None`: as everywhere.
    fn plain_answer(
        _cfg: &ServerConfig,
        _now_ns: u64,
        _request: &Request<'_>,
        _io: &mut impl Io,
    ) -> Option<PlainAnswer<Asked<QuestionOf<Self>>>> {
        None
    }

    /// How many binary messages belong to a text that somebody else has encoded for the members of a room, and follow it;
    /// `None`: members would close their connections over it. What comes in binary besides is nothing to them where
    /// [`takes_binary`](Self::takes_binary) says so.
    fn attachments(_room: Room, text: &[u8]) -> Option<u32> {
        json::object(text, |_, _| {}).map(|()| 0)
    }

    /// Whether the members of a room take a binary message that belongs to no text.
    fn takes_binary() -> bool {
        true
    }

    /// How many messages these are that somebody else has encoded for sessions over plain requests; `None`: sessions could
    /// not hand them on.
    fn messages_for_sessions(_encoded: &[u8]) -> Option<u32> {
        None
    }
}

/// The client's side of one connection, over a WebSocket.
pub(crate) trait ClientProtocol {
    /// What is encoded once.
    type Parts;

    /// The upgrade is done. Says what the protocol says first, and [`Carried::Ready`] if it is ready at once.
    fn handle_upgraded<I: Io>(&mut self, link: &mut Link<'_, Self::Parts, I>, on: &mut impl Hears);

    /// A message came in.
    fn handle_message<I: Io>(
        &mut self,
        link: &mut Link<'_, Self::Parts, I>,
        message: &Message<'_>,
        on: &mut impl Hears,
    ) -> Result<(), Failure>;

    /// Sends a message of the app's.
    fn send<I: Io>(&mut self, link: &mut Link<'_, Self::Parts, I>, letter: &Letter, filling: &Filling<'_>);

    /// Whether the app may speak.
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

/// The client's side of one session over plain requests: one client with several streams, each an
/// [`Exchange`](crate::http::Exchange).
pub(crate) trait HttpClientProtocol {
    /// What is encoded once.
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
        on: &mut impl Hears,
    ) -> Result<(), Failure>;

    /// The server closed a stream, which is gone already.
    fn handle_eof<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Self::Parts, I>,
        stream: StreamId,
        on: &mut impl Hears,
    ) -> Result<(), Failure>;

    /// A stream is broken: whether the session goes on without it.
    fn handle_lost<I: Io>(&mut self, _link: &mut HttpLink<'_, Self::Parts, I>, _stream: StreamId) -> bool {
        false
    }

    /// The WebSocket that goes on from here with the client, on stream 0, and the state that it has come to; once.
    fn take_over(&mut self) -> Option<(Socket, Self::Socket)> {
        None
    }

    /// Whether the app may speak.
    fn is_ready(&self) -> bool;

    /// Sends a message of the app's, or queues it behind the request that is under way.
    fn send<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Self::Parts, I>,
        letter: &Letter,
        filling: &Filling<'_>,
    ) -> Sending;

    /// Says goodbye, where there is a way to, and closes the streams.
    fn close<I: Io>(&mut self, link: &mut HttpLink<'_, Self::Parts, I>);

    /// Whether nothing more will come.
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

    /// The state of a connection that asks for an upgrade and would be granted `subprotocol`; or the HTTP status
    /// to refuse it with.
    fn open(cfg: &ServerConfig, request: &Request<'_>, subprotocol: Option<&str>) -> Result<Self, u16>;

    /// The 101 is written. Says what the protocol says first.
    fn handle_upgraded<I: Io>(&mut self, link: &mut ServerLink<'_, I>, on: &mut impl FnMut(ServerEvent<'_>));

    /// A message came in. It lies at the end of the output as the payload of an unsealed frame that starts at
    /// `start`, so that an echo needs no copy: seal it, or truncate the output and write something else.
    fn handle_message<I: Io>(
        &mut self,
        link: &mut ServerLink<'_, I>,
        text: bool,
        start: usize,
        on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure>;

    /// When to be woken.
    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    /// The time has come.
    fn handle_timeout<I: Io>(
        &mut self,
        _link: &mut ServerLink<'_, I>,
        _on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// What a session is asked: before the 101, which then waits for the answer, or once [`ServerEvent::Asked`] has
    /// said that there is something.
    fn take_request(&mut self) -> Option<Asked<<Self::Session as ServerSession>::Question>> {
        None
    }

    /// The session asked has answered; `None`: it has nothing to say to the connection, or there is no such session.
    fn handle_answered<I: Io>(
        &mut self,
        _link: &mut ServerLink<'_, I>,
        _word: Option<<Self::Session as ServerSession>::Word>,
        _on: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// The connection is about to be closed by this side. Says the protocol's last words.
    fn handle_close<I: Io>(&mut self, _link: &mut ServerLink<'_, I>) {}

    /// Appends the frames that a message for a room of readers ([`Room::of_readers`]) is to this connection: the payload of what
    /// was broadcast in the words of its own.
    fn put_copy(&self, _room: Room, _payload: &[u8], _out: &mut Vec<u8>) {}
}
