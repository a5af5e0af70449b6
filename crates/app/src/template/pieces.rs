//! The pieces of a template: literals, and the holes between them.

use std::borrow::Cow;

use codec::http::cookies::CookiePlace;
use codec::json::extend_decimal;
use codec::stamp::{self, padding};
use secret::Secret;
use serde::{Deserialize, Serialize};

use super::filling::{Filling, Mark};
use super::functions::Function;
use super::quoting::Quoting;
use super::table::Table;
use super::uuid;

const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;
/// Digits of the largest number of a client.
const CLIENT_DIGITS_MAX: usize = 10;

/// A message up to what varies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    pub(super) pieces: Vec<Piece>,
}

/// How a message has its number, for its answer to have it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyForm {
    /// The number as it is: `{seq}`.
    Seq,
    /// The number as a UUID: `{id:uuid}`.
    Uuid,
}

impl KeyForm {
    /// Either.
    pub const ALL: [KeyForm; 2] = [KeyForm::Seq, KeyForm::Uuid];

    /// The placeholder.
    pub fn placeholder(self) -> &'static str {
        match self {
            KeyForm::Seq => "{seq}",
            KeyForm::Uuid => "{id:uuid}",
        }
    }
}

/// A literal, or a hole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// A literal.
    Text(Vec<u8>),
    /// The stamp in its text form.
    Id,
    /// The stamp in its binary form.
    IdBytes,
    /// A UUID that the stamp determines, by which an answer is known.
    IdUuid,
    /// The intended time, in decimal.
    IntendedNs,
    /// The wall clock, in decimal.
    UnixNs,
    /// The wall clock as eight bytes, big endian.
    UnixNsBytes,
    /// The client's number in the run.
    Client,
    /// The number of the client's room.
    Room {
        /// The kind of rooms.
        kind: u16,
    },
    /// The number of the message on its connection.
    Seq,
    /// A number of the protocol's own: of a push, of an acknowledgement.
    Number,
    /// The padding, until [`Template::padded`] puts it in its place.
    Padding,
    /// The ending of messages in turn.
    Tail,
    /// A cell of the client's row, as it has to stand there.
    Cell {
        /// The column's number, from 0.
        column: u16,
        /// The quoting of its place.
        quoting: Quoting,
    },
    /// The client's token, which needs no quotes anywhere (RFC 7515 §7.1).
    Token,
    /// The second at which it is written plus `ahead_s`.
    Second {
        /// Seconds that are added.
        ahead_s: i64,
    },
    /// The millisecond at which it is written, as JavaScript's `Date.now()`.
    Millisecond,
    /// A value that the client was given at its login, as it has to stand there.
    Kept {
        /// The number of the value among all that are kept.
        value: u16,
        /// The quoting of its place.
        quoting: Quoting,
    },
    /// The client's cookies.
    Cookies {
        /// Names of cookies that are left out.
        but: Vec<String>,
        /// A field of their own, or behind others in one.
        place: CookiePlace,
    },
    /// A computed value.
    Function(Box<Function<Template>>),
}

impl Template {
    /// A literal.
    pub fn literal(text: impl AsRef<[u8]>) -> Template {
        Template::default().text(text)
    }

    /// Appends a literal.
    pub fn text(mut self, text: impl AsRef<[u8]>) -> Template {
        let text = text.as_ref();
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            // One literal where there could be two: each piece costs a branch in every message.
            Some(Piece::Text(before)) => before.extend_from_slice(text),
            _ => self.pieces.push(Piece::Text(text.to_vec())),
        }
        self
    }

    /// Appends a hole.
    pub fn hole(self, hole: Piece) -> Template {
        match hole {
            Piece::Text(text) => self.text(text),
            hole => {
                let mut pieces = self.pieces;
                pieces.push(hole);
                Template { pieces }
            }
        }
    }

    /// Appends another template.
    pub fn then(self, other: &Template) -> Template {
        other.pieces.iter().fold(self, |all, piece| all.hole(piece.clone()))
    }

    /// The template as it stands within a JSON string. Ids and numbers have nothing to escape.
    pub fn escaped(&self) -> Template {
        self.requoted(Quoting::JSON, Quoting::escaped)
    }

    /// This plain template with its text and cells quoted.
    pub fn quoted(&self, quoting: Quoting) -> Template {
        self.requoted(quoting, |_| quoting)
    }

    fn requoted(&self, of_text: Quoting, of_cell: impl Fn(Quoting) -> Quoting) -> Template {
        let requoted = |piece: &Piece| match piece {
            Piece::Text(text) => {
                let mut quoted = Vec::with_capacity(text.len());
                of_text.write(&mut quoted, text);
                Piece::Text(quoted)
            }
            &Piece::Cell { column, quoting } => Piece::Cell { column, quoting: of_cell(quoting) },
            &Piece::Kept { value, quoting } => Piece::Kept { value, quoting: of_cell(quoting) },
            Piece::Function(function) => {
                let mut function = function.clone();
                function.requote(&of_cell);
                Piece::Function(function)
            }
            // Ids and numbers are digits and letters, which need no quotes anywhere.
            other => other.clone(),
        };
        Template { pieces: self.pieces.iter().map(requoted).collect() }
    }

    /// The columns whose cells stand in it as they are.
    pub(crate) fn plain_columns(&self) -> impl Iterator<Item = u16> + '_ {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Cell { column, quoting: Quoting::Plain } => Some(*column),
            _ => None,
        })
    }

    /// Returns whether it tells one from another.
    pub(crate) fn has_id(&self) -> bool {
        self.has(&Piece::Id)
    }

    /// Returns whether this hole is in it, or in what a function leaves as it is.
    fn has(&self, hole: &Piece) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Function(function) => function.carried().is_some_and(|of| of.has(hole)),
            piece => piece == hole,
        })
    }

    /// Returns whether an answer can be known by what stands in this form in it.
    pub fn has_key(&self, form: KeyForm) -> bool {
        self.has(match form {
            KeyForm::Seq => &Piece::Seq,
            KeyForm::Uuid => &Piece::IdUuid,
        })
    }

    /// Returns whether it has a value in it that a client was given at its login.
    pub fn has_kept(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Kept { .. } => true,
            Piece::Function(function) => function.of().is_some_and(Template::has_kept),
            _ => false,
        })
    }

    /// Returns whether it has a cell of the client's row in it.
    pub fn has_cell(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Cell { .. } => true,
            Piece::Function(function) => function.of().is_some_and(Template::has_cell),
            _ => false,
        })
    }

    /// A copy with each function's key as `read` makes it from the key as written.
    ///
    /// # Errors
    /// The first of `read`.
    pub fn with_keys<E>(&self, read: &impl Fn(&str) -> Result<Secret, E>) -> Result<Template, E> {
        let piece = |piece: &Piece| match piece {
            Piece::Function(function) => {
                let known = function.map(|of| of.with_keys(read), |key| read(key.reveal()))?;
                Ok(Piece::Function(known.into()))
            }
            other => Ok(other.clone()),
        };
        Ok(Template { pieces: self.pieces.iter().map(piece).collect::<Result<_, E>>()? })
    }

    /// Numbers the random values in it from `next` on, so that no two of a message are the same.
    pub(super) fn number_draws(&mut self, next: &mut u32) {
        for piece in &mut self.pieces {
            if let Piece::Function(function) = piece {
                function.number_draws(next, Template::number_draws);
            }
        }
    }

    /// The template's text, if it is the same for all clients at any time.
    #[inline]
    pub fn as_literal(&self) -> Option<&[u8]> {
        match &self.pieces[..] {
            [] => Some(b""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text between the braces, if it is an object: without blanks around it.
    pub fn members(&self) -> Option<Template> {
        let mut pieces = self.pieces.clone();
        match pieces.first_mut()? {
            Piece::Text(first) => {
                *first = first.trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start().to_vec()
            }
            _ => return None,
        }
        match pieces.last_mut()? {
            Piece::Text(last) => *last = last.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end().to_vec(),
            _ => return None,
        }
        pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        Some(Template { pieces })
    }

    /// Returns whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// A copy with the padding in its place.
    pub fn padded(&self, bytes: usize) -> Template {
        let padded = |all: Template, piece: &Piece| match piece {
            Piece::Padding => all.text(padding(bytes).collect::<Vec<u8>>()),
            Piece::Function(function) => {
                all.hole(Piece::Function(function.with(|of| of.padded(bytes)).into()))
            }
            other => all.hole(other.clone()),
        };
        self.pieces.iter().fold(Template::default(), padded)
    }

    /// The most bytes that the message has with so much padding, data and varied ends aside.
    pub fn bytes_max(&self, padding: usize) -> usize {
        let bytes = |piece: &Piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Padding => padding,
            Piece::Function(function) => {
                function.bytes_max(|of| Some(of.bytes_max(padding))).unwrap_or(stamp::TEXT_BYTES)
            }
            _ => stamp::TEXT_BYTES,
        };
        self.pieces.iter().map(bytes).sum()
    }

    /// The most bytes that it has for any client of these rows, if there is a bound.
    pub fn longest(&self, rows: &Table) -> Option<usize> {
        let bytes = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.len()),
            Piece::Client | Piece::Room { .. } => Some(CLIENT_DIGITS_MAX),
            Piece::Cell { column, .. } => Some(rows.longest(*column)),
            Piece::Function(function) => function.bytes_max(|of| of.longest(rows)),
            _ => None,
        };
        self.pieces.iter().map(bytes).sum()
    }

    /// Returns whether a request's body stands in it as it is.
    pub fn has_plain_body(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Tail))
    }

    /// Returns whether it depends on a request's body.
    pub fn tells_body(&self) -> bool {
        let of_function = |piece: &Piece| match piece {
            Piece::Function(function) => function.of().is_some_and(Template::tells_body),
            _ => false,
        };
        self.has_plain_body() || self.pieces.iter().any(of_function)
    }

    /// The template's text for a row, if it depends on nothing else.
    pub(crate) fn of_row(&self, rows: &Table, row: usize) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(literal) => text.extend_from_slice(literal),
                Piece::Cell { column, quoting } => {
                    quoting.write(&mut text, rows.get(row, *column).as_bytes())
                }
                _ => return None,
            }
        }
        Some(text)
    }

    /// The template's beginning, up to its first hole.
    pub fn start(&self) -> &[u8] {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => b"",
        }
    }

    /// The bytes of its literals.
    pub fn bytes(&self) -> usize {
        let bytes = |piece: &Piece| if let Piece::Text(text) = piece { text.len() } else { 0 };
        self.pieces.iter().map(bytes).sum()
    }

    /// A sample of a message: each number 0, each cell 0, no padding.
    pub fn sample(&self) -> Vec<u8> {
        let id = Mark::NONE.stamp.to_text();
        let of = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Id => id.to_vec(),
            Piece::Padding | Piece::Tail | Piece::IdBytes | Piece::UnixNsBytes | Piece::Cookies { .. } => {
                Vec::new()
            }
            Piece::Function(function) => function.carried().map_or(b"0".to_vec(), Template::sample),
            _ => b"0".to_vec(),
        };
        self.pieces.iter().flat_map(of).collect()
    }

    /// Appends the text; `number` is what the protocol calls it by, if it is a message.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, filling: &Filling<'_>, number: u64) {
        for piece in &self.pieces {
            piece.write(out, filling, number);
        }
    }
}

impl Template {
    /// The template's text, with the holes filled.
    #[inline]
    pub fn filled(&self, filling: &Filling<'_>) -> Cow<'_, [u8]> {
        match self.as_literal() {
            Some(text) => text.into(),
            None => {
                let mut out = Vec::new();
                self.write(&mut out, filling, 0);
                out.into()
            }
        }
    }

    /// The filled template as text, which cells and literals are.
    pub fn filled_text(&self, filling: &Filling<'_>) -> String {
        String::from_utf8_lossy(&self.filled(filling)).into_owned()
    }
}

impl Piece {
    pub(super) fn write(&self, out: &mut Vec<u8>, filling: &Filling<'_>, number: u64) {
        let Filling { mark: Mark { stamp, unix_ns }, seq, context, tail } = filling;
        match self {
            Piece::Text(text) => out.extend_from_slice(text),
            Piece::Id => out.extend_from_slice(&stamp.to_text()),
            Piece::IdBytes => out.extend_from_slice(&stamp.to_binary()),
            Piece::IdUuid => out.extend_from_slice(&uuid::of_message(stamp, *seq)),
            Piece::UnixNs => extend_decimal(out, *unix_ns),
            Piece::UnixNsBytes => out.extend_from_slice(&unix_ns.to_be_bytes()),
            Piece::IntendedNs => extend_decimal(out, stamp.intended_ns),
            Piece::Client => extend_decimal(out, u64::from(context.client)),
            Piece::Room { kind } => {
                extend_decimal(out, u64::from(context.people.room(*kind, context.client)))
            }
            Piece::Seq => extend_decimal(out, u64::from(*seq)),
            Piece::Number => extend_decimal(out, number),
            Piece::Tail => out.extend_from_slice(tail),
            Piece::Cell { column, quoting } => {
                quoting.write(out, context.people.rows().cell(context.client, *column).as_bytes());
            }
            Piece::Token => context.people.write_token(out, filling),
            Piece::Second { ahead_s } => {
                extend_decimal(
                    out,
                    (context.people.unix_ns(context.now_ns) / NS_PER_S).saturating_add_signed(*ahead_s),
                );
            }
            Piece::Millisecond => {
                extend_decimal(out, context.people.unix_ns(context.now_ns) / NS_PER_MS);
            }
            Piece::Kept { value, quoting } => {
                // Where it is asked for before it is there, it is nothing.
                quoting.write(out, context.kept.values.get(*value).as_bytes());
            }
            Piece::Cookies { but, place } => context.cookies.write(out, but, *place),
            Piece::Function(function) => {
                let filled = |of: &Template| {
                    let mut text = Vec::new();
                    of.write(&mut text, filling, number);
                    text
                };
                // Values differ by client, message and time.
                let sender = u64::from(context.client) << 32 | u64::from(*seq);
                function.write(out, filled, [sender, context.now_ns, number]);
            }
            Piece::Padding => unreachable!("put in its place by padded()"),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
