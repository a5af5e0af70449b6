//! A user's own app as data: what a file says, once it has been read and checked.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::measured::{Acks, Kind};
use crate::people::Mix;
use crate::template::{KeyForm, Template};

/// The most steps an opening may have.
pub const OPEN_STEPS_MAX: usize = 1000;

/// The most rooms that a client may join in its protocol's own terms: one of each kind.
pub const JOINS_MAX: usize = 8;

/// The most requests a login may have.
pub const LOGIN_REQUESTS_MAX: usize = 20;
/// The most values that are kept of one answer, or one message.
pub const KEEPS_MAX: usize = 20;
/// The most values that a client keeps in all.
pub const VALUES_MAX: u16 = 400;

/// Messages of an application's clients, and conditions to recognise the server's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppFile {
    /// The name in results.
    pub name: String,
    /// How messages stand in the frames of a plain WebSocket.
    pub frames: Frames,
    /// The plain requests that come before the opening request, in this order.
    pub login: Vec<LoginRequest>,
    /// Servers of logins that are not the clients' own: `https://id.example.com`.
    pub login_servers: Vec<String>,
    /// Steps before a client is usable, in this order.
    pub open: Vec<OpenStep>,
    /// The message that its sender alone gets an answer to.
    pub echo: Option<Exchange>,
    /// How a client joins its rooms, where the protocol carries rooms of its own; empty: as its flags say, or
    /// the opening does.
    pub joins: Vec<Join>,
    /// How rooms are joined and left whose members come and go, by kind.
    pub visited_rooms: Vec<VisitedRoom>,
    /// The messages that everyone in a room gets, by kind.
    pub broadcasts: Vec<Broadcast>,
    /// Refusals of the server.
    pub errors: Vec<Refusal>,
    /// Messages that the server wants an answer to.
    pub answers: Vec<Reaction>,
    /// Values to keep of messages, which are answered or ignored besides.
    pub notes: Vec<Note>,
    /// Pushes of the server, by kind.
    pub pushes: Vec<Push>,
    /// Messages of the server without meaning for the measurement.
    pub ignore: Vec<Condition>,
    /// Unmeasured messages that a usable client sends from time to time.
    pub heartbeats: Vec<Heartbeat>,
    /// How a client that lost its connection goes on, where the app has a way.
    pub resume: Option<Resume>,
}

/// How messages stand in the frames of a plain WebSocket. Received frames may be of either kind, text or
/// binary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frames {
    /// A frame of text for each.
    #[default]
    Text,
    /// A binary frame for each.
    Binary,
    /// Text; in a frame that comes in there may be several, each ended by this.
    Records(String),
    /// Binary frames of MessagePack; the file has messages and conditions as JSON.
    MessagePack {
        /// Before each message stands how long it is, as SignalR has it.
        delimited: bool,
    },
}

impl AppFile {
    /// The share that each kind of broadcasts has of all.
    pub fn mix(&self) -> Mix {
        Mix::new(self.broadcasts.iter().map(|broadcast| broadcast.share))
    }

    /// The kinds of broadcasts whose sender gets an acknowledgement beside its own copy.
    pub fn acks(&self) -> Acks {
        Acks::of(self.broadcasts.iter().map(|broadcast| broadcast.ack.is_some() || broadcast.is_replied))
    }

    /// Returns whether clients log in with cells of their rows, so that those of one row are one user.
    pub fn logs_in_by_row(&self) -> bool {
        self.login.iter().any(|request| {
            let headers = request.headers.iter().map(|(_, value)| value);
            let body = request.content.iter().map(|content| &content.body);
            headers.chain(body).chain([&request.target]).any(Template::has_cell)
        })
    }

    /// Returns whether something that a client says, or compares with, once it is usable has a value in it
    /// that it was given at its login or in a message.
    pub fn needs_kept(&self) -> bool {
        let measured = Kind::ALL.iter().flat_map(|&kind| self.measured(kind));
        let answers = self.answers.iter().map(|answer| &answer.send);
        let heartbeats = self.heartbeats.iter().map(|heartbeat| &heartbeat.send);
        let visited = self.joins.iter().filter(|join| join.visited.is_some());
        measured.chain(answers).chain(heartbeats).any(|say| say.body.has_kept())
            || visited.into_iter().any(|join| join.name.has_kept() || join.params.has_kept())
            || self.visited_rooms.iter().any(VisitedRoom::says_kept)
            || self.conditions().any(Condition::has_kept)
    }

    /// Returns whether a condition, also of the opening, has a value in it that a client was given.
    pub fn compares_kept(&self) -> bool {
        self.conditions().chain(self.open.iter().filter_map(OpenStep::expected)).any(Condition::has_kept)
    }

    /// Texts that conditions look for, also in the opening, each once.
    pub fn heard(&self) -> BTreeSet<&str> {
        let conditions = self.conditions().chain(self.open.iter().filter_map(OpenStep::expected));
        conditions.flat_map(Condition::texts).map(|text| &*text.written).collect()
    }

    /// Conditions on what comes in once a client is usable.
    fn conditions(&self) -> impl Iterator<Item = &Condition> {
        let replies = self.echo.iter().filter_map(|echo| echo.reply.as_ref());
        let of_broadcasts = self.broadcasts.iter().flat_map(|said| [&said.copy, &said.own, &said.ack]);
        let visits = self.visited_rooms.iter().flat_map(|room| room.join.iter().chain(&room.leave));
        replies
            .chain(of_broadcasts.flatten())
            .chain(visits.filter_map(OpenStep::expected))
            .chain(self.errors.iter().map(|refusal| &refusal.when))
            .chain(self.answers.iter().map(|answer| &answer.when))
            .chain(self.notes.iter().map(|note| &note.when))
            .chain(self.pushes.iter().map(|push| &push.when))
            .chain(&self.ignore)
    }

    /// Returns whether a newcomer to a room of this kind is announced to the other members: the join has an
    /// id.
    pub fn announces(&self, kind: u16) -> bool {
        let Some(visited) = self.visited_rooms.iter().find(|visited| visited.kind == kind) else {
            return false;
        };
        let join = visited.place.and_then(|place| self.joins.get(usize::from(place)));
        visited.join.iter().filter_map(OpenStep::said).any(|say| say.body.has_id())
            || join.is_some_and(|join| join.params.has_id())
    }

    /// Places of the numbers of messages in answers.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let reply = self.echo.iter().filter_map(|echo| echo.reply.as_ref());
        let acks = self.broadcasts.iter().filter_map(|broadcast| broadcast.ack.as_ref());
        let keys: BTreeSet<&str> =
            reply.chain(acks).filter_map(|answer| Some(&*answer.key.as_ref()?.at)).collect();
        keys.into_iter()
    }

    /// The messages that are measured: the echo, or each kind of broadcasts.
    pub fn measured(&self, kind: Kind) -> Vec<&Say> {
        match kind {
            Kind::Echo => self.echo.iter().map(|echo| &echo.send).collect(),
            Kind::Broadcast => self.broadcasts.iter().map(|broadcast| &broadcast.send).collect(),
        }
    }
}

/// How a client that is back is told what it has missed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// Values that tell how far a client has come.
    pub keeps: Vec<Resumed>,
    /// The message behind the opening of a client that has kept something; `None`: the opening says enough.
    pub send: Option<Say>,
}

/// Something that says how far a client has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// The number of its value among all that are kept for placeholders.
    pub value: u16,
    /// Places of it in copies, or in messages that the opening waits for: JSON pointers (RFC 6901), of which
    /// the first that leads somewhere counts.
    pub from: Vec<String>,
    /// The value at a client's first connection.
    pub first: String,
}

/// Values to keep of messages that fit a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How they are recognised.
    pub when: Condition,
    /// Values to keep of them.
    pub keep: Vec<Keep>,
}

/// A plain request before the opening request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginRequest {
    /// How it is named where it fails: `POST /session`, with its placeholders as they are written.
    pub name: String,
    /// A `POST`; else a `GET`.
    pub is_post: bool,
    /// The server it is for: 0 is the clients' own, 1 the first of [`AppFile::login_servers`].
    pub server: u16,
    /// Path and query.
    pub target: Template,
    /// Further fields of its head.
    pub headers: Vec<(String, Template)>,
    /// Its body.
    pub content: Option<LoginContent>,
    /// The status that its answer must have; `None`: any of success or, unless they are followed, of a
    /// redirect.
    pub expect: Option<u16>,
    /// Redirects are followed.
    pub follows: bool,
    /// Values to keep of its answer.
    pub keep: Vec<Keep>,
}

/// The content of a login request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginContent {
    /// Its media type.
    pub content_type: String,
    /// The bytes.
    pub body: Template,
}

/// A value that is kept of an answer or a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// Its name, as the placeholder has it.
    pub name: String,
    /// Its number among all that are kept.
    pub value: u16,
    /// Its place, as written: `json:/token`.
    pub from: String,
    /// The file and the line, as `app.toml:3`.
    pub place: Option<String>,
}

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Say {
    /// The event's name, where the protocol has such: Action Cable's action, Phoenix's and Socket.IO's event.
    pub event: String,
    /// The rest: over a plain WebSocket all of it.
    pub body: Template,
    /// It goes as text, whatever others are [packed](Frames::MessagePack) in.
    pub as_text: bool,
}

/// One step of an opening.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpenStep {
    /// Say this.
    Send(Say),
    /// Say this, and go on when the protocol's own reply to it comes in (phoenix, socketio).
    Ask(Say),
    /// Go on when this comes in.
    Expect(Condition),
    /// Go on after this many nanoseconds.
    Wait(u64),
    /// Keep these of what the step before has waited for.
    Keep(Vec<Keep>),
}

impl OpenStep {
    /// The message of this step, if it is one.
    fn said(&self) -> Option<&Say> {
        match self {
            OpenStep::Send(say) | OpenStep::Ask(say) => Some(say),
            OpenStep::Expect(_) | OpenStep::Wait(_) | OpenStep::Keep(_) => None,
        }
    }

    /// The condition of this step, if it waits for a message.
    fn expected(&self) -> Option<&Condition> {
        match self {
            OpenStep::Expect(condition) => Some(condition),
            OpenStep::Send(_) | OpenStep::Ask(_) | OpenStep::Wait(_) | OpenStep::Keep(_) => None,
        }
    }
}

/// A message and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The message.
    pub send: Say,
    /// The answer; `None`: whatever carries its id and is nothing else.
    pub reply: Option<Condition>,
    /// Values to keep of the answer, for what is said later.
    pub keep: Vec<Keep>,
    /// It is the protocol's own reply to the message (phoenix, socketio).
    pub is_replied: bool,
}

/// How a client joins its room of one kind, in the protocol's own terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// Phoenix's topic, or Action Cable's channel.
    pub name: Template,
    /// A JSON object: what is said besides.
    pub params: Template,
    /// The kind of rooms, where clients come and go; `None`: they join at once, and stay.
    pub visited: Option<u16>,
}

/// How clients join and leave their room of one kind, while they are connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitedRoom {
    /// The kind of rooms.
    pub kind: u16,
    /// Its place among the [joins](AppFile::joins), where the protocol carries rooms of its own. Else
    /// messages do it:
    pub place: Option<u16>,
    /// Steps by which a client joins: messages, and what it waits for.
    pub join: Vec<OpenStep>,
    /// Steps by which a client leaves.
    pub leave: Vec<OpenStep>,
}

impl VisitedRoom {
    fn says_kept(&self) -> bool {
        self.join.iter().chain(&self.leave).filter_map(OpenStep::said).any(|say| say.body.has_kept())
    }
}

/// A message to everyone in a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broadcast {
    /// The kind of rooms it is for: one of the joins, where there are several.
    pub room: u16,
    /// Its share of all broadcasts, of whatever these add up to.
    pub share: u32,
    /// The path and query to publish it at, if it has a place of its own there: then the message is a
    /// request's body.
    pub target: Option<Template>,
    /// The message.
    pub send: Say,
    /// A copy of it; `None`: whatever carries its id and is nothing else.
    pub copy: Option<Condition>,
    /// The sender's own copy, where it looks different from the others'.
    pub own: Option<Condition>,
    /// The acknowledgement that the sender gets beside its own copy.
    pub ack: Option<Condition>,
    /// Values to keep of the acknowledgement, or of the own copy without one.
    pub keep: Vec<Keep>,
    /// It is the protocol's own reply to the message (phoenix, socketio).
    pub is_replied: bool,
}

impl Broadcast {
    /// A broadcast of this message alone.
    pub fn of(send: Say) -> Broadcast {
        Broadcast {
            room: 0,
            share: 1,
            target: None,
            send,
            copy: None,
            own: None,
            ack: None,
            keep: Vec::new(),
            is_replied: false,
        }
    }
}

/// Refusals of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Results count it as `rejected_` and this.
    pub kind: String,
    /// How it is recognised.
    pub when: Condition,
}

/// Something the server says, and what to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reaction {
    /// How it is recognised.
    pub when: Condition,
    /// The answer.
    pub send: Say,
}

/// Something that the server says by itself, without being asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Push {
    /// How it is recognised.
    pub when: Condition,
    /// The place of a push's number, which is one more than the push's before, as written: `json:/seq`.
    pub number: Option<String>,
    /// The place of each one's time.
    pub time: Option<String>,
    /// Place of the content that all receivers of a number are to have alike.
    pub same: Option<String>,
    /// The kind of rooms whose members are these receivers.
    pub room: u16,
}

/// A message that a usable client sends from time to time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The time from one to the next, nanoseconds.
    pub every_ns: u64,
    /// The room it is sent to, among the joins that the protocol makes itself; 0 without any.
    pub room: u16,
    /// The message.
    pub send: Say,
}

/// A condition on a message: everything given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// It came under this event's name.
    pub event: Option<ConditionText>,
    /// It contains this.
    pub contains: Option<ConditionText>,
    /// This expression (of the `regex` crate) matches somewhere in it.
    pub regex: Option<String>,
    /// It is JSON, and has these values at these pointers (RFC 6901).
    pub json: Vec<(String, JsonScalar)>,
    /// The place in an answer of the number of the message it answers, on its connection.
    pub key: Option<Key>,
    /// The file and the line, as `app.toml:3`.
    pub place: Option<String>,
}

impl Condition {
    /// Returns whether a value that the client was given stands in it.
    fn has_kept(&self) -> bool {
        self.texts().any(|text| text.of_client.as_ref().is_some_and(Template::has_kept))
    }

    fn texts(&self) -> impl Iterator<Item = &ConditionText> {
        let values = self.json.iter().filter_map(|(_, value)| match value {
            JsonScalar::Text(text) => Some(text),
            JsonScalar::Bare(_) => None,
        });
        self.event.iter().chain(&self.contains).chain(values)
    }
}

/// A text that a condition looks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionText {
    /// The text as the file has it.
    pub written: String,
    /// Each client's own text, where the file's has placeholders; `None`: it is the same for all.
    pub of_client: Option<Template>,
}

impl From<&str> for ConditionText {
    fn from(text: &str) -> ConditionText {
        ConditionText { written: text.to_owned(), of_client: None }
    }
}

/// The place of its message's number in a JSON answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// A pointer (RFC 6901).
    pub at: String,
    /// How the message has it.
    pub form: KeyForm,
}

/// A value in JSON that can be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsonScalar {
    /// A string, without quotes or escapes. Where each client has its own, a number may also be it.
    Text(ConditionText),
    /// A number, `true` or `false`, as it is written.
    Bare(String),
}
