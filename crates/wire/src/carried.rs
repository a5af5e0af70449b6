//! Messages between an app and the protocol that carries it: app messages and their templates on the way out,
//! arrivals on the way in.

use app::Kind;
use app::conditions::Opened;
use app::template::{CompiledTemplate, Template};
use codec::Found;
use codec::ws::MessageType;

use crate::event::Event;

/// An app's message, to be carried under the name of an event.
pub(crate) struct AppMessage<'a> {
    /// The event's name: what a protocol with names puts there. Others have no use for it.
    pub(crate) event: &'a str,
    pub(crate) body: Template,
    /// The type of the message, where the protocol leaves that to the app.
    pub(crate) message_type: MessageType,
    /// True if the message is JSON that is sent as MessagePack.
    pub(crate) is_packed: bool,
    /// The kind of a measured message; `None`: it is not measured.
    pub(crate) kind: Option<Kind>,
    /// The protocol is to ask for its answer, where it need not.
    pub(crate) wants_reply: bool,
    /// The room it goes to, among those that the protocol has joined.
    pub(crate) room: u16,
}

/// A message with a protocol's envelope around it, ready to be filled in.
#[derive(Debug, Default)]
pub(crate) struct MessageTemplate {
    pub(crate) text: CompiledTemplate,
    pub(crate) message_type: MessageType,
    /// True if the message is JSON that is sent as MessagePack.
    pub(crate) is_packed: bool,
    pub(crate) kind: Option<Kind>,
    /// The kind of broadcasts, if it is one.
    pub(crate) number: usize,
    /// True if its answer is recognized by the number that the protocol gives the message.
    pub(crate) is_numbered: bool,
    /// The event's name, where that is not in the template.
    pub(crate) event: Vec<u8>,
    /// The attachment that follows as a message of its own (socketio).
    pub(crate) attachment: Option<CompiledTemplate>,
}

/// How the payload of the seeds' benchmark stands in a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// Beside its type: `{"type":"echo","payload":P}`.
    Typed,
    /// The payload is the one member of an object.
    Member(&'static str),
    /// The payload stands by itself.
    Alone,
    /// The payload is bytes: the stamp and the padding.
    Bytes,
}

/// Events of a protocol's connection.
#[derive(Debug)]
pub(crate) enum ProtocolEvent<'a> {
    /// The room is joined: the app may speak.
    Ready,
    /// A message for the app.
    Arrival(Arrival<'a>),
    /// An event that needs no app to be understood.
    Event(Event),
}

/// Handles the events of a protocol. A trait, and a closure only for rare events: what a message means is
/// found out in the midst of its protocol's code, where all of it is at hand, and closures are not inlined at
/// will.
pub(crate) trait ProtocolHandler {
    /// Takes one thing that the protocol tells.
    fn handle(&mut self, event: ProtocolEvent<'_>);
}

impl<F: FnMut(ProtocolEvent<'_>)> ProtocolHandler for F {
    fn handle(&mut self, event: ProtocolEvent<'_>) {
        self(event);
    }
}

impl<'a> ProtocolEvent<'a> {
    /// A message of text whose words stand in it as they are.
    #[inline(always)]
    pub(crate) fn text(
        text: &'a [u8],
        bytes: u32,
        found: Found,
        hint: MessageHint<'a>,
        open: fn(&'a [u8]) -> Option<Opened<'a>>,
    ) -> ProtocolEvent<'a> {
        ProtocolEvent::Arrival(Arrival {
            text,
            spelling: Spelling::Plain,
            found: Some(found),
            hint,
            bytes,
            open,
        })
    }
}

/// A message that came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    /// The message, with what the protocol has put around it if that may stay.
    pub(crate) text: &'a [u8],
    /// How its words are written.
    pub(crate) spelling: Spelling,
    /// The stamp in it; `None` if only the app knows where to look for it.
    pub(crate) found: Option<Found>,
    /// The protocol's hint at its meaning.
    pub(crate) hint: MessageHint<'a>,
    /// Bytes on the wire: a share of its frame's where that has several; of an event stream, its data alone.
    pub(crate) bytes: u32,
    /// Takes the envelope off; `None` if the text is not a message of the protocol.
    pub(crate) open: fn(&'a [u8]) -> Option<Opened<'a>>,
}

/// How the words of a message are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spelling {
    /// There is nothing around the message: it is what was sent, byte for byte.
    Whole {
        /// The type of the message.
        message_type: MessageType,
    },
    /// As they are, among others.
    Plain,
    /// The message with every quotation mark escaped, in a JSON string.
    Escaped,
    /// As bytes, of which the stamp is the first.
    Bytes,
}

/// A protocol's hint at a message's meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageHint<'a> {
    /// Nothing.
    Unknown,
    /// The message came under this event's name.
    Named(&'a [u8]),
    /// The message came under this event's name, from a server that also uses names of its own, which the app
    /// ignores.
    NamedAmongOthers(&'a [u8]),
    /// The message answers one of this kind.
    Answer(Kind),
    /// The message answers nothing: the server sends it by itself.
    Pushed,
}

/// Shares that the messages of a frame have of its bytes on the wire, where it is compressed perhaps.
pub(crate) struct Shares {
    wire_bytes: u32,
    frame_bytes: usize,
    told: u32,
}

impl Shares {
    /// The shares of a frame's messages, none of which is told yet.
    pub(crate) fn new(wire_bytes: u32, frame_bytes: usize) -> Shares {
        Shares { wire_bytes, frame_bytes, told: 0 }
    }

    /// The share of the next message, which with what is around it ends at `end` in the frame.
    pub(crate) fn next(&mut self, end: usize) -> u32 {
        let so_far = u64::from(self.wire_bytes) * end as u64 / self.frame_bytes.max(1) as u64;
        so_far as u32 - std::mem::replace(&mut self.told, so_far as u32)
    }
}
