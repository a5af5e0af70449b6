//! The benchmark of the seeds: `echo`, which comes back, and `broadcast`, which everyone gets; the sender of
//! a broadcast gets a `broadcastResult` besides.
//!
//! A message with nothing around it has one of three forms: [`raw`], [`json`], [`binary`]. Protocols that
//! have events put the name there, and the payload of the json form into the body, in a [`Shape`] of their
//! own.

pub(crate) mod binary;
mod expected;
pub(crate) mod json;
mod json_reply;
mod json_words;
mod raw;

use std::sync::OnceLock;

use app::Kind;
use app::template::{Piece, Template};
use codec::stamp::{self, padding};
use codec::ws::MessageType;
use codec::{Found, Stamp};
pub(crate) use expected::Expected;
use json::{Escaped, Plain, is_padding_sound};
use json_words::{BEFORE_STAMP, BEFORE_TIME};

use crate::carried::{AppMessage, Arrival, MessageHint, Shape, Spelling};
use crate::event::{Event, Role};
use crate::facts::Form;
use crate::options::{BadOption, Options};

/// The benchmark's messages.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    form: Form,
    shape: Shape,
    /// The type of raw messages.
    raw: MessageType,
    expected: Expected,
    /// The ending as it stands in a string, where messages stand so.
    escaped: OnceLock<Vec<u8>>,
}

impl Bench {
    /// Messages in this form, or in this shape, of the size that is asked for.
    pub(crate) fn new(form: Form, shape: Shape, options: &Options) -> Result<Bench, BadOption> {
        let tail = tail(form, shape, options)?;
        let raw = if options.payload.text { MessageType::Text } else { MessageType::Binary };
        // Only few protocols put messages into strings: made when the first is checked.
        Ok(Bench { form, shape, raw, expected: Expected::new(tail), escaped: OnceLock::new() })
    }

    /// Gives messages these ends in turn.
    pub(crate) fn with_tails(self, tails: Vec<Vec<u8>>) -> Bench {
        Bench { expected: self.expected.with_tails(tails), ..self }
    }

    /// Lets messages show the wall clock: a stamp's time of sending plus this offset.
    pub(crate) fn with_wall_clock(self, unix_minus_now_ns: u64) -> Bench {
        Bench { expected: self.expected.with_wall_clock(unix_minus_now_ns), ..self }
    }

    /// Checks of a message with a sound stamp.
    #[inline]
    pub(crate) fn expected(&self) -> &Expected {
        &self.expected
    }

    /// The ending of a message that carries a row of data.
    pub(crate) fn tail_of_row(&self, row: &str) -> Vec<u8> {
        match self.form {
            Form::Json => json::tail_of_row(row),
            Form::Raw | Form::Binary => row.as_bytes().to_vec(),
        }
    }

    /// Returns whether messages may end in different ways.
    pub(crate) fn may_vary(&self) -> bool {
        self.shape == Shape::Typed && self.form != Form::Binary
    }

    /// A message up to what varies; `None` if the app has no message of this kind.
    pub(crate) fn app_message(&self, kind: Kind) -> Option<AppMessage<'static>> {
        let event = match kind {
            Kind::Echo => "echo",
            Kind::Broadcast => "broadcast",
        };
        let tail = self.expected.template();
        let body = match (self.shape, self.form) {
            (Shape::Bytes, _) => Template::default().hole(Piece::IdBytes).then(&tail),
            (Shape::Alone, _) => self.payload(),
            (Shape::Member(name), _) => {
                Template::literal(format!(r#"{{"{name}":"#)).then(&self.payload()).text("}")
            }
            (Shape::Typed, Form::Json) => {
                let before = format!(r#"{{"type":"{event}","payload":"#);
                Template::literal(before).then(&before_tail()).then(&tail)
            }
            (Shape::Typed, Form::Binary) => binary::template(kind, &tail, self.expected.tail().len()),
            // A raw message has no type that would tell a broadcast from an echo.
            (Shape::Typed, Form::Raw) if kind == Kind::Broadcast => return None,
            (Shape::Typed, Form::Raw) => {
                let id = match self.raw {
                    MessageType::Text => Piece::Id,
                    MessageType::Binary => Piece::IdBytes,
                };
                Template::default().hole(id).then(&tail)
            }
        };
        let message_type = match (self.shape, self.form) {
            (Shape::Bytes, _) | (Shape::Typed, Form::Binary) => MessageType::Binary,
            (Shape::Typed, Form::Raw) => self.raw,
            _ => MessageType::Text,
        };
        Some(AppMessage {
            event,
            body,
            message_type,
            is_packed: false,
            kind: Some(kind),
            wants_reply: false,
            room: 0,
        })
    }

    /// The text behind the id in a JSON payload, up to its closing brace.
    #[inline]
    fn ending(&self) -> &[u8] {
        let tail = self.expected.tail();
        // The outer brace is of a typed message, and the inner one is written with the payload.
        tail.strip_suffix(b"}}").unwrap_or(tail)
    }

    /// The ending as it stands in a JSON string.
    #[inline]
    fn escaped(&self) -> &[u8] {
        self.escaped.get_or_init(|| {
            let mut escaped = Vec::new();
            codec::json::escape(&mut escaped, self.ending());
            escaped
        })
    }

    /// The payload, where messages have one as text, and all have the same.
    pub(crate) fn text_payload(&self) -> Option<Template> {
        let is_json = self.form == Form::Json || matches!(self.shape, Shape::Alone | Shape::Member(_));
        (is_json && self.shape != Shape::Bytes && !self.expected.is_varied()).then(|| self.payload())
    }

    /// The JSON payload of either kind.
    fn payload(&self) -> Template {
        before_tail().text(self.ending()).text("}")
    }

    /// The stamp in a message that has nothing around it.
    #[inline(always)]
    fn find(&self, message: &[u8], message_type: MessageType) -> Found {
        match self.form {
            Form::Raw if message_type == MessageType::Text => stamp::find(message),
            Form::Raw => stamp::read_binary(message),
            // Where the endings differ in length, the stamp's place cannot be counted from the end.
            Form::Json if self.expected.is_varied() => stamp::find(message),
            Form::Json => stamp::find_before(message, self.expected.tail().len()),
            Form::Binary => binary::find(message, message_type),
        }
    }

    /// Judges a message that came in; `None` if it does not matter.
    #[inline(always)]
    pub(crate) fn judge(&self, arrival: &Arrival<'_>) -> Option<Event> {
        let bytes = arrival.bytes;
        // An attachment does not say itself whose it is.
        if let (MessageHint::NamedAmongOthers(name), Spelling::Bytes) = (arrival.hint, arrival.spelling) {
            role_of_event(name)?;
        }
        let found = match (arrival.found, arrival.spelling) {
            (Some(found), _) => found,
            (None, Spelling::Whole { message_type }) => self.find(arrival.text, message_type),
            (None, _) => stamp::find(arrival.text),
        };
        Some(match found {
            Found::At { stamp, offset } => match self.role(arrival, stamp, offset) {
                Some(role) => Event::Message { role, stamp, bytes },
                None => Event::Corrupt { stamp: Some(stamp), bytes },
            },
            Found::Corrupt => Event::Corrupt { stamp: None, bytes },
            // Events that servers emit of their own accord are ignored; one under a name of ours is foreign.
            Found::None => match arrival.hint {
                MessageHint::NamedAmongOthers(name) => {
                    role_of_event(name)?;
                    Event::Foreign { bytes }
                }
                _ => Event::Foreign { bytes },
            },
        })
    }

    /// The role of a message with a sound stamp at this client; `None` when something else in it is damaged.
    #[inline(always)]
    fn role(&self, arrival: &Arrival<'_>, stamp: Stamp, offset: usize) -> Option<Role> {
        let (text, expected) = (arrival.text, &self.expected);
        match arrival.spelling {
            Spelling::Whole { .. } => match self.form {
                Form::Raw => raw::role(text, stamp, offset, expected),
                Form::Json => json_reply::role(text, stamp, offset, expected),
                Form::Binary => binary::role(text, stamp, expected),
            },
            Spelling::Plain => {
                let is_sound = is_padding_sound::<Plain>(text, offset + stamp::TEXT_BYTES, self.ending());
                role_of::<Plain>(arrival).filter(|_| is_sound)
            }
            Spelling::Escaped => {
                let is_sound = is_padding_sound::<Escaped>(text, offset + stamp::TEXT_BYTES, self.escaped());
                role_of::<Escaped>(arrival).filter(|_| is_sound)
            }
            Spelling::Bytes => {
                let is_sound = expected.is_tail(&text[offset + stamp::BINARY_BYTES..]);
                role_of::<Plain>(arrival).filter(|_| is_sound)
            }
        }
    }
}

/// A JSON payload up to what ends it.
fn before_tail() -> Template {
    Template::literal(BEFORE_TIME).hole(Piece::UnixNs).text(BEFORE_STAMP).hole(Piece::Id)
}

/// The text behind the stamp in messages of the size that is asked for.
pub(crate) fn tail(form: Form, shape: Shape, options: &Options) -> Result<Vec<u8>, BadOption> {
    match (shape, form) {
        (Shape::Bytes, _) => {
            let size = options.payload.padding.unwrap_or(0);
            let max = options.limits.message_bytes_max.saturating_sub(stamp::BINARY_BYTES);
            let max = u32::try_from(max).unwrap_or(u32::MAX);
            if size > max {
                return Err(BadOption::PayloadSize { min: 0, max });
            }
            Ok(padding(size as usize).collect())
        }
        (Shape::Typed, Form::Raw) => raw::tail(options),
        (Shape::Typed, Form::Binary) => binary::tail(options),
        _ => json::tail(options),
    }
}

/// The role of a message of ours, by the protocol's hint, or else by its type wherever that stands.
#[inline(always)]
fn role_of<S: json::Spelled>(arrival: &Arrival<'_>) -> Option<Role> {
    match arrival.hint {
        MessageHint::Unknown => json::role::<S>(arrival.text),
        MessageHint::Named(name) | MessageHint::NamedAmongOthers(name) => role_of_event(name),
        MessageHint::Answer(Kind::Echo) => Some(Role::Echo),
        MessageHint::Answer(Kind::Broadcast) => Some(Role::Ack),
        MessageHint::Pushed => Some(Role::Copy),
    }
}

#[inline(always)]
fn role_of_event(name: &[u8]) -> Option<Role> {
    match name {
        b"broadcast" => Some(Role::Copy),
        b"echo" => Some(Role::Echo),
        b"broadcastResult" => Some(Role::Ack),
        _ => None,
    }
}
