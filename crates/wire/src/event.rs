//! Events of connections in either role.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Mutex;

use codec::Stamp;

use crate::failure::{Coding, Failure, Media};
use crate::room::Room;

/// The way of a client that visits a room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The user joins the room.
    In,
    /// The user leaves the room.
    Out,
}

/// A client's way into a room, or out of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// The kind of its room.
    pub kind: u16,
    /// The direction of the change: into the room or out of it.
    pub way: Direction,
    /// The stamp that announces it to the others there; `None`: nothing does.
    pub announced: Option<Stamp>,
}

/// The outcome of a client's join or leave of a room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomChange {
    /// The user is in the room from now on.
    In,
    /// The user was let into the room after it was to leave.
    Late,
    /// The user is no longer in the room.
    Out,
    /// The server has refused the user.
    Refused,
}

/// The role of a stamped message at its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The answer to one's own echo.
    Echo,
    /// The answer to one's own request (http).
    Answer {
        /// The status of the answer.
        status: u16,
    },
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
    /// The server refused the connection to the namespace (socketio).
    Namespace,
    /// The server does not know who the client is (actioncable).
    Unauthorized,
    /// The server found the request wanting (actioncable).
    InvalidRequest,
    /// The server restarts (actioncable).
    ServerRestart,
    /// The application had the server disconnect the client (actioncable).
    Remote,
    /// The server disconnects the client for another reason, or for none (actioncable, socketio).
    Disconnected,
    /// A rejection of a custom dialect, by the name under which results count it.
    Named(&'static str),
    /// A message that lacks a value to be kept.
    Lacking(&'static Lacking),
    /// The channel has crashed (phoenix).
    Crashed,
    /// The channel is closed (phoenix).
    ChannelClosed,
}

/// A value that an app's file keeps of messages, and that one of them lacks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Lacking {
    /// The name under which results count it.
    pub name: &'static str,
    /// The place where the app's file looks for it, and the line there: `json:/token (app.toml:3)`.
    pub from: &'static str,
}

impl Rejection {
    /// The rejection of that name.
    pub(crate) fn named(name: &str) -> Rejection {
        Rejection::Named(lasting(name))
    }

    /// The rejection of a message without the value of this name at this place.
    pub(crate) fn lacking(name: &str, from: &str) -> Rejection {
        // Behind a reference, for events to stay small.
        static ALL: Mutex<BTreeSet<&'static Lacking>> = Mutex::new(BTreeSet::new());
        let lacking = Lacking { name: lasting(&format!("not_kept_{name}")), from: lasting(from) };
        let mut all = ALL.lock().expect("nothing panics while it is held");
        let known = all.get(&lacking).copied().unwrap_or_else(|| Box::leak(Box::new(lacking)));
        all.insert(known);
        Rejection::Lacking(known)
    }

    /// The name under which results count it.
    pub fn name(self) -> &'static str {
        match self {
            Rejection::Subscription => "rejected_subscription",
            Rejection::Message => "rejected_message",
            Rejection::Namespace => "rejected_namespace",
            Rejection::Unauthorized => "disconnect_unauthorized",
            Rejection::InvalidRequest => "disconnect_invalid_request",
            Rejection::ServerRestart => "disconnect_server_restart",
            Rejection::Remote => "disconnect_remote",
            Rejection::Disconnected => "disconnect",
            Rejection::Named(name) => name,
            Rejection::Lacking(lacking) => lacking.name,
            Rejection::Crashed => "channel_crashed",
            Rejection::ChannelClosed => "channel_closed",
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Rejection::Subscription => "the server refused the subscription",
            Rejection::Message => "the server refused a message",
            Rejection::Namespace => "the server refused the namespace",
            Rejection::Unauthorized => "the server disconnects an unauthorized client",
            Rejection::InvalidRequest => "the server disconnects a client for an invalid request",
            Rejection::ServerRestart => "the server disconnects its clients to restart",
            Rejection::Remote => "the server was told to disconnect the client",
            Rejection::Disconnected => "the server disconnects the client",
            Rejection::Named(_) => "the server said what the app's file calls an error",
            Rejection::Lacking(Lacking { from, .. }) => {
                return write!(
                    f,
                    "a message has nothing at {from}, which the app's file keeps: correct its `keep`"
                );
            }
            Rejection::Crashed => "the channel has crashed",
            Rejection::ChannelClosed => "the server closed the channel",
        };
        f.write_str(text)
    }
}

/// A name that lives as long as the process; each does so once.
fn lasting(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().expect("nothing panics while it is held");
    let known = names.get(name).copied().unwrap_or_else(|| name.to_owned().leak());
    names.insert(known);
    known
}

/// The fault of an answer (http).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrongResponse {
    /// A status that was not expected.
    Status(u16),
    /// A body that was not expected.
    Body,
    /// A streamed body that is encoded, so that its events cannot be read.
    Encoded(Coding),
    /// A streamed answer of this media type, which comes whole.
    NotStream(Media),
    /// A streamed answer that ended without an event or an end mark.
    NoEvents,
    /// An event of a streamed answer that says that the answer failed.
    ErrorEvent,
}

impl WrongResponse {
    /// The name under which results count it: they know wrong answers by `http_`.
    pub fn name(self) -> &'static str {
        match self {
            WrongResponse::Status(..300) => "http_2xx",
            WrongResponse::Status(..400) => "http_3xx",
            WrongResponse::Status(..500) => "http_4xx",
            WrongResponse::Status(_) => "http_5xx",
            WrongResponse::Body => "http_body",
            WrongResponse::Encoded(_) => "http_encoded",
            WrongResponse::NotStream(_) => "http_not_stream",
            WrongResponse::NoEvents => "http_no_events",
            WrongResponse::ErrorEvent => "http_error_event",
        }
    }
}

impl fmt::Display for WrongResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrongResponse::Status(status) => write!(f, "the server answered with HTTP {status}"),
            WrongResponse::Body => f.write_str("the answer's body is not the expected one"),
            WrongResponse::Encoded(coding) => write!(
                f,
                "the streamed answer is compressed (Content-Encoding: {coding}), which throng does not ask for"
            ),
            WrongResponse::NotStream(media) => write!(
                f,
                "the server answered with {media}, not with a stream; is the path right? --as text reads it as it comes"
            ),
            WrongResponse::NoEvents => {
                f.write_str("the answer ended without an event; is the path right, and --as?")
            }
            WrongResponse::ErrorEvent => f.write_str("an event of the answer says that it failed"),
        }
    }
}

/// The progress of an answer that comes in pieces (http, http2, ws-stream).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The answer's head has arrived, with a good status; over a WebSocket, its first message.
    Begun {
        /// The stamp of its request.
        stamp: Stamp,
    },
    /// A piece of it is in.
    Event {
        /// Tokens in it.
        tokens: u32,
        /// True if the event's number is not above those before it.
        is_misordered: bool,
    },
    /// A piece behind its end mark; over a WebSocket, perhaps behind the whole answer.
    AfterEnd,
    /// The answer is complete; its [`Message`](Event::Message) follows.
    Ended {
        /// True if the answer has its end mark, or need not have one.
        is_marked: bool,
    },
}

/// The number of a push, any but the largest there is: that there is none takes no room in an [`Event`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PushNumber(NonZeroU64);

impl PushNumber {
    /// The number; `None`: it is the largest.
    pub fn new(number: u64) -> Option<PushNumber> {
        NonZeroU64::new(!number).map(PushNumber)
    }

    /// The number again.
    pub fn get(self) -> u64 {
        !self.0.get()
    }
}

/// A message that the server sends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pushed {
    /// The push's kind, among the kinds of the user's own app.
    pub kind: u16,
    /// The push's number, one more than that of the push before, if pushes have numbers.
    pub number: Option<PushNumber>,
    /// When it was said, in nanoseconds of the wall clock, if it says so.
    pub said_unix_ns: Option<NonZeroU64>,
    /// A fingerprint of what all receivers are to have alike, if that is compared.
    pub content: Option<NonZeroU64>,
    /// The app's file says where its number, its time or its content is, and there is none.
    pub lacks: bool,
}

/// A rule of the user's own app whose messages are not measured.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// Messages to answer.
    Answer,
    /// Messages that the server sends by itself.
    Push,
    /// Messages without meaning.
    Ignore,
}

impl Rule {
    /// Its name among the kinds of errors.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Answer => "taken_by_answer",
            Rule::Push => "taken_by_push",
            Rule::Ignore => "taken_by_ignore",
        }
    }

    /// Its key in an app's file.
    pub fn key(self) -> &'static str {
        match self {
            Rule::Answer => "[[answer]]",
            Rule::Push => "[push]",
            Rule::Ignore => "[[ignore]]",
        }
    }
}

/// An event of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The last answer of the login is in.
    LoggedIn,
    /// The 101 is in and verified.
    Upgraded,
    /// The dialect is ready: messages may be sent.
    Usable,
    /// A message of ours, whole and sound.
    Message {
        /// The message's role at this client.
        role: Role,
        /// The mark it carried.
        stamp: Stamp,
        /// Payload bytes on the wire, all fragments together, as compressed.
        bytes: u32,
    },
    /// The message that follows came in the same frame as the one before: of a WebSocket, or what stands for
    /// one over requests, such as a packet of a poll or an event of a stream.
    SameFrame,
    /// This many more of ours, each a [`Message`](Event::Message) of its own, and like the one before but for
    /// its number: what was sent at the same time, and came together.
    Series {
        /// The role of each message at this client.
        role: Role,
        /// The mark that the first carried; the others follow it ([`Stamp::after`]).
        first: Stamp,
        /// How many.
        messages: u32,
        /// Payload bytes of each on the wire.
        bytes: u32,
    },
    /// A message of ours that was changed on its way, or of another run, whose messages are not like this
    /// one's.
    Corrupt {
        /// The mark it carried, where that is sound.
        stamp: Option<Stamp>,
        /// Payload bytes on the wire.
        bytes: u32,
    },
    /// A message with one of our marks that fits no condition of the user's own app.
    Unmatched {
        /// The run that it was sent in. Every event has room for the largest, so this one does not hold the
        /// whole mark.
        run: u16,
        /// When it was sent.
        sent_ns: u64,
        /// The nearest condition and what it lacks, by number among [`Config::misses`](crate::Config::misses);
        /// `None`: the file has no condition for such messages.
        near: Option<u16>,
    },
    /// A message with one of our marks that a rule of the user's own app takes for something else.
    Taken {
        /// The mark.
        stamp: Stamp,
        /// The rule.
        rule: Rule,
    },
    /// A message that the server sends by itself, and that the user's own app looks for.
    Pushed(Pushed),
    /// A message that is not ours.
    Foreign {
        /// Payload bytes on the wire.
        bytes: u32,
    },
    /// A message of ours that came another way than the one that counts: through a further subscription.
    Beside,
    /// The announcement of a newcomer to a room, as the server sends it to the other members.
    Announced {
        /// The newcomer's stamp, as given when they [joined](crate::Client::pass).
        stamp: Stamp,
        /// Payload bytes on the wire.
        bytes: u32,
    },
    /// The server has answered a [visitor](crate::Client::pass) of its room.
    RoomChange {
        /// The kind of rooms.
        kind: u16,
        /// The server's answer.
        passed: RoomChange,
    },
    /// The dialect refused something.
    Rejected(Rejection),
    /// The next answer is not as expected (http). It is still an answer: its `Message` follows.
    WrongResponse(WrongResponse),
    /// An answer that comes in pieces has come on (http, http2, ws-stream). One whose connection ends first is a
    /// [`RequestOutcome::Dropped`](crate::RequestOutcome::Dropped), one whose stream fails a
    /// [`RequestOutcome::Failed`](crate::RequestOutcome::Failed).
    Progress {
        /// The number in the stamp of its request.
        request: u32,
        /// How far it has come.
        progress: Progress,
    },
    /// The connection is of no further use, but the session goes on over another (http, ws-stream).
    Broken(Failure),
    /// The peer's close frame is in (and answered, unless it was the answer); 1005 when it had no code.
    Closed {
        /// The peer's close code.
        code: u16,
    },
}

impl Event {
    /// Iterates over this event, or over its messages one by one.
    pub fn each(self) -> impl Iterator<Item = Event> {
        let (series, other) = match self {
            Event::Series { role, first, messages, bytes } => (
                Some((0..messages).map(move |n| Event::Message { role, stamp: first.after(n), bytes })),
                None,
            ),
            other => (None, Some(other)),
        };
        series.into_iter().flatten().chain(other)
    }
}

/// Handles the events of a server's connection.
pub(crate) trait OnServerEvent: FnMut(ServerEvent<'_>) {}

impl<F: FnMut(ServerEvent<'_>)> OnServerEvent for F {}

/// An event of a server's connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerEvent<'a> {
    /// The 101 is written.
    Upgraded,
    /// The connection has joined a room, and gets its broadcasts.
    Joined {
        /// The room, which it was not in before.
        room: Room,
    },
    /// No longer.
    Left {
        /// The room it was in.
        room: Room,
    },
    /// A message was answered into the output.
    Echoed {
        /// Payload bytes of the message.
        bytes: u32,
    },
    /// A message for everyone in the room, the sender included if it has joined. The sender's result goes
    /// into its output before `handle_input` returns.
    Broadcast {
        /// The room.
        room: Room,
        /// The encoded frame, the same for everyone.
        frame: &'a [u8],
    },
    /// A request of a session is whole: [`take_request`](crate::Server::take_request), let its session answer
    /// it, and say so to [`handle_answered`](crate::Server::handle_answered). What the client sends meanwhile
    /// waits.
    Asked,
    /// The broadcast before, for members to whom the same topic's messages are encoded in another way.
    Rebroadcast {
        /// Their room.
        room: Room,
        /// The encoded frame.
        frame: &'a [u8],
    },
    /// A stream of HTTP/2 on which an answer is under way has been reset by the client.
    StreamLost {
        /// Its number.
        stream: u32,
    },
    /// All that was written to such a stream is in the output, after it had to wait for the client's windows.
    StreamDrained {
        /// Its number.
        stream: u32,
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
