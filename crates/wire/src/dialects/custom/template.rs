//! Messages with placeholders: parsed once, written for each message.
//!
//! A placeholder is a lower-case name in braces, as `{id}`. Braces around anything else are text, so that JSON needs
//! no escapes.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::table::Table;
use crate::json::extend_decimal;
use crate::stamp::{self, Lag, Stamp, padding};

/// A message up to what varies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Piece {
    Text(String),
    Id,
    IntendedNs,
    UnixNs,
    Client,
    Seq,
    Padding,
    /// A column of the data.
    Data(u16),
}

/// Which messages a template is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// One that is measured, and so has an id, a time and padding.
    Measured,
    /// Any other.
    Other,
}

/// The placeholders that stand for themselves, and whether only messages that are measured have them.
const NAMES: [(&str, Piece, Purpose); 6] = [
    ("id", Piece::Id, Purpose::Measured),
    ("intended_ns", Piece::IntendedNs, Purpose::Measured),
    ("unix_ns", Piece::UnixNs, Purpose::Measured),
    ("padding", Piece::Padding, Purpose::Measured),
    ("client", Piece::Client, Purpose::Other),
    ("seq", Piece::Seq, Purpose::Other),
];

/// A template that is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadTemplate {
    /// A placeholder that is not there for this purpose.
    Unknown {
        /// Where in the text it stands.
        at: Range<usize>,
        /// The placeholders that are.
        known: Vec<String>,
    },
    /// A message that is measured, without `{id}`.
    NoId,
}

impl fmt::Display for BadTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadTemplate::Unknown { known, .. } => {
                write!(f, "no such placeholder here; there are {}", known.join(", "))
            }
            BadTemplate::NoId => f.write_str("a message that is measured must carry {id}, to be known again"),
        }
    }
}

impl Template {
    /// Reads a template; `columns` are the names of the data's columns.
    pub fn parse(text: &str, purpose: Purpose, columns: &[String]) -> Result<Template, BadTemplate> {
        let mut template = Template::default();
        let mut rest = 0;
        while let Some((at, name)) = placeholder(text, rest) {
            let piece = piece(name, purpose, columns)
                .ok_or_else(|| BadTemplate::Unknown { at: at.clone(), known: known(purpose, columns) })?;
            template.push_text(&text[rest..at.start]);
            template.pieces.push(piece);
            rest = at.end;
        }
        template.push_text(&text[rest..]);
        if purpose == Purpose::Measured && !template.pieces.contains(&Piece::Id) {
            return Err(BadTemplate::NoId);
        }
        Ok(template)
    }

    /// The same with the padding in its place.
    pub(super) fn padded(&self, bytes: usize) -> Template {
        let mut padded = Template::default();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => padded.push_text(text),
                Piece::Padding => padded.push_text(&padding(bytes).map(char::from).collect::<String>()),
                other => padded.pieces.push(other.clone()),
            }
        }
        padded
    }

    /// The most bytes that the message has with so much padding, data aside.
    pub(super) fn bytes_max(&self, padding: usize) -> usize {
        let bytes = |piece: &Piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Padding => padding,
            _ => stamp::TEXT_BYTES,
        };
        self.pieces.iter().map(bytes).sum()
    }

    fn push_text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(before)) => before.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    /// Appends the message.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>, filling: &Filling<'_>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Id => out.extend_from_slice(&filling.mark.stamp.to_text()),
                Piece::IntendedNs => extend_decimal(out, filling.mark.stamp.intended_ns),
                Piece::UnixNs => extend_decimal(out, filling.mark.unix_ns),
                Piece::Client => extend_decimal(out, u64::from(filling.client)),
                Piece::Seq => extend_decimal(out, u64::from(filling.seq)),
                Piece::Data(column) => {
                    out.extend_from_slice(filling.data.cell(filling.client, *column).as_bytes());
                }
                Piece::Padding => unreachable!("put in its place by padded()"),
            }
        }
    }
}

/// What stands in for the placeholders of one message.
pub(super) struct Filling<'a> {
    pub(super) client: u32,
    pub(super) seq: u32,
    pub(super) data: &'a Table,
    pub(super) mark: Mark,
}

/// What a message that is measured carries. Templates of others do not ask for it.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) stamp: Stamp,
    pub(super) unix_ns: u64,
}

impl Mark {
    pub(super) const NONE: Mark =
        Mark { stamp: Stamp { worker: 0, client: 0, seq: 0, intended_ns: 0, lag: Lag::NONE }, unix_ns: 0 };
}

/// The next placeholder from `from` on: where it stands, with its braces, and its name.
fn placeholder(text: &str, from: usize) -> Option<(Range<usize>, &str)> {
    text[from..].match_indices('{').find_map(|(at, _)| {
        let start = from + at;
        let name = &text[start + 1..start + 1 + text[start + 1..].find('}')?];
        let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'.';
        let looks_like_one = name.starts_with(|c: char| c.is_ascii_lowercase())
            && (name.starts_with("data.") || name.bytes().all(is_name));
        (looks_like_one && !name.contains(['{', '"'])).then(|| (start..start + 2 + name.len(), name))
    })
}

fn piece(name: &str, purpose: Purpose, columns: &[String]) -> Option<Piece> {
    if let Some(column) = name.strip_prefix("data.") {
        return columns.iter().position(|known| known == column).map(|at| Piece::Data(at as u16));
    }
    let found = NAMES.iter().find(|(known, ..)| *known == name)?;
    is_allowed(found.2, purpose).then(|| found.1.clone())
}

fn known(purpose: Purpose, columns: &[String]) -> Vec<String> {
    let names = NAMES.iter().filter(|(_, _, of)| is_allowed(*of, purpose));
    let names = names.map(|(name, ..)| format!("{{{name}}}"));
    names.chain(columns.iter().map(|column| format!("{{data.{column}}}"))).collect()
}

fn is_allowed(of: Purpose, purpose: Purpose) -> bool {
    of == Purpose::Other || purpose == Purpose::Measured
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<String> {
        vec!["user".into(), "e-mail".into()]
    }

    fn written(text: &str, purpose: Purpose, client: u32) -> String {
        let mut data = Table::new(2);
        assert!(data.push(["ann", "a@x"].into_iter()) && data.push(["bob", "b@x"].into_iter()));
        let stamp = Stamp::new(1, 2, 3, 456, 789);
        let filling = Filling { client, seq: 9, data: &data, mark: Mark { stamp, unix_ns: 5 } };
        let mut out = Vec::new();
        Template::parse(text, purpose, &columns()).unwrap().padded(12).write(&mut out, &filling);
        String::from_utf8(out).unwrap().replace(std::str::from_utf8(&stamp.to_text()).unwrap(), "ID")
    }

    #[test]
    fn placeholders_are_filled_in_and_other_braces_are_text() {
        let text = r#"{"id":"{id}","a":{},"b":{"c":[{client},{seq}]},"t":{intended_ns},"u":{unix_ns}}{"#;
        let expected = r#"{"id":"ID","a":{},"b":{"c":[7,9]},"t":456,"u":5}{"#;
        assert_eq!(written(text, Purpose::Measured, 7), expected);
        assert_eq!(written("{padding}{id}{padding}", Purpose::Measured, 0), "123456789012ID123456789012");
        assert_eq!(written("{ id} {Id} {} {{seq}} é", Purpose::Other, 0), "{ id} {Id} {} {9} é");
    }

    #[test]
    fn clients_take_the_rows_in_turn() {
        let text = "{data.user}:{data.e-mail}";
        assert_eq!(written(text, Purpose::Other, 0), "ann:a@x");
        assert_eq!(written(text, Purpose::Other, 1), "bob:b@x");
        assert_eq!(written(text, Purpose::Other, 4), "ann:a@x");
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        let bad = |text, purpose| Template::parse(text, purpose, &columns()).unwrap_err();
        assert_eq!(bad("x", Purpose::Measured), BadTemplate::NoId);
        for (text, at) in [("a{idd}", 1..6), ("{id}{data.usr}", 4..14), ("é{uuid}", 2..8)] {
            let BadTemplate::Unknown { at: found, known } = bad(text, Purpose::Measured) else { panic!() };
            assert_eq!(found, at, "{text}");
            assert!(known.contains(&"{id}".into()) && known.contains(&"{data.user}".into()), "{known:?}");
        }
        let BadTemplate::Unknown { known, .. } = bad("{id}", Purpose::Other) else { panic!() };
        assert_eq!(known, ["{client}", "{seq}", "{data.user}", "{data.e-mail}"]);
    }
}
