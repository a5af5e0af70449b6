//! Writing blocks (RFC 7541 §6) that are known before the run, but for what is each client's own.
//!
//! A client asks for the same over and over, so all blocks of a connection but the first are indices of what
//! the first has added to the server's table. Strings are not put into Huffman's code: it would shorten the
//! first block and the few values that are no entries.

use super::integer;
use super::table::{self, ENTRY_BYTES};

/// The peer's table, unless its settings say otherwise (RFC 9113 §6.5.2). We never use more.
pub(super) const TABLE_BYTES: u32 = 4096;

/// The static entries of what an answer has.
const STATUS: u32 = 8;
const CONTENT_LENGTH: u32 = 28;
const DATE: u32 = 33;

/// A field of a list.
#[derive(Debug)]
pub struct Field<F> {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: FieldValue<F>,
    /// How it is indexed.
    pub worth: Indexing,
}

/// The value of a field.
#[derive(Debug)]
pub enum FieldValue<F> {
    /// The same in all blocks.
    Literal(Vec<u8>),
    /// Filled in when a block is written.
    Filled(F),
}

/// How a field is indexed in tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indexing {
    /// An entry, where it is the same for all.
    Entry,
    /// Nothing. Others do so, too, where values are of many kinds: nghttp2 with `:path` and `content-length`.
    Nothing,
    /// Nothing, and nothing in the tables of intermediaries: it is a secret (§7.1.3).
    Secret,
}

/// How a block uses the peer's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableMode {
    /// Adds to it: the first block of a connection.
    Adds,
    /// Refers to what the first has added.
    Refers,
    /// Leaves it alone, and has the peer empty it (§4.2): the peer wants none, or a smaller one than it
    /// takes.
    Avoids,
}

/// The blocks of one list of fields.
#[derive(Debug)]
pub struct Blocks<F> {
    adds: Block<F>,
    refers: Block<F>,
    avoids: Block<F>,
    /// Bytes of the entries in the peer's table.
    entries_bytes: usize,
}

/// A block: literals, each with the value behind it that is a client's own.
#[derive(Debug)]
struct Block<F> {
    literals: Vec<(Vec<u8>, F)>,
    last: Vec<u8>,
}

impl<F: Clone> Blocks<F> {
    /// Blocks of these fields.
    pub fn new(fields: &[Field<F>]) -> Blocks<F> {
        let entries = || fields.iter().filter_map(Field::entry);
        Blocks {
            adds: Block::new(fields, TableMode::Adds),
            refers: Block::new(fields, TableMode::Refers),
            avoids: Block::new(fields, TableMode::Avoids),
            entries_bytes: entries().map(|(name, value)| name.len() + value.len() + ENTRY_BYTES).sum(),
        }
    }

    /// The mode of the first block of a connection whose peer has a table of this size.
    pub fn first(&self, table_bytes: u32) -> TableMode {
        // All or nothing: with fewer entries than were added, the peer would have dropped the oldest, to
        // which later blocks refer.
        let has_room = table_bytes >= TABLE_BYTES && self.entries_bytes <= TABLE_BYTES as usize;
        if has_room { TableMode::Adds } else { TableMode::Avoids }
    }

    /// Appends a block; `fill` appends a value.
    pub fn write(&self, tabling: TableMode, out: &mut Vec<u8>, fill: impl Fn(&F, &mut Vec<u8>)) {
        let Block { literals, last } = match tabling {
            TableMode::Adds => &self.adds,
            TableMode::Refers => &self.refers,
            TableMode::Avoids => &self.avoids,
        };
        for (literal, value) in literals {
            out.extend_from_slice(literal);
            write_filled(out, |out| fill(value, out));
        }
        out.extend_from_slice(last);
    }
}

impl TableMode {
    /// The mode of the block behind one of this mode.
    #[inline]
    pub fn next(self) -> TableMode {
        match self {
            TableMode::Adds | TableMode::Refers => TableMode::Refers,
            TableMode::Avoids => TableMode::Avoids,
        }
    }
}

impl<F> Field<F> {
    /// The value, if it is the same in all blocks.
    fn literal(&self) -> Option<&[u8]> {
        match &self.value {
            FieldValue::Literal(value) => Some(value),
            FieldValue::Filled(_) => None,
        }
    }

    /// Name and value of the entry that it is worth; none where the standard has it already.
    fn entry(&self) -> Option<(&str, &[u8])> {
        let value = self.literal().filter(|_| self.worth == Indexing::Entry)?;
        table::find(&self.name, Some(value)).0.is_none().then_some((&self.name, value))
    }
}

impl<F: Clone> Block<F> {
    fn new(fields: &[Field<F>], tabling: TableMode) -> Block<F> {
        let mut block = Block { literals: Vec::new(), last: Vec::new() };
        if tabling == TableMode::Avoids {
            write_emptying(&mut block.last);
        }
        // The newest entry has the lowest index: the first field's was added first, and has all others
        // before it.
        let mut entries_left = fields.iter().filter_map(Field::entry).count() as u32;
        for field in fields {
            let (whole, name) = table::find(&field.name, field.literal());
            let is_entry = field.entry().is_some();
            // Before its own index is written: counts the entries added after it.
            entries_left -= u32::from(is_entry);
            match (whole, tabling) {
                // 0x80, 0x40, 0x20, 0x10 and 0x00 are the patterns of §6.1 to §6.3, with the bits that they
                // leave to the index.
                (Some(index), _) => integer::write(0x80, 7, index, &mut block.last),
                (None, TableMode::Adds) if is_entry => block.push(field, 0x40, 6, name),
                (None, TableMode::Refers) if is_entry => {
                    integer::write(0x80, 7, table::NEWEST + entries_left, &mut block.last);
                }
                _ => block.push(field, literal(field.worth == Indexing::Secret), 4, name),
            }
        }
        block
    }

    /// A literal field, in the representation of this pattern (§6.2).
    fn push(&mut self, field: &Field<F>, pattern: u8, bits: u32, name: Option<u32>) {
        let out = &mut self.last;
        write_name(pattern, bits, &field.name, name, out);
        match &field.value {
            FieldValue::Literal(value) => write_text(value, out),
            FieldValue::Filled(value) => self.literals.push((std::mem::take(out), value.clone())),
        }
    }
}

/// Appends a block of fields that are said once: it leaves the peer's table empty, whatever its size.
/// `is_secret` tells by a field's name whether intermediaries must not index it, either.
pub fn write_once<'a>(
    fields: impl Iterator<Item = (&'a str, &'a [u8])>,
    is_secret: impl Fn(&str) -> bool,
    out: &mut Vec<u8>,
) {
    write_emptying(out);
    for (name, value) in fields {
        match table::find(name, Some(value)) {
            (Some(index), _) => integer::write(0x80, 7, index, out),
            (None, known) => {
                write_name(literal(is_secret(name)), 4, name, known, out);
                write_text(value, out);
            }
        }
    }
}

/// The pattern of a literal that leaves no entry (§6.2.2, §6.2.3).
fn literal(is_secret: bool) -> u8 {
    if is_secret { 0x10 } else { 0x00 }
}

/// Appends that the peer's table is emptied (§6.3).
fn write_emptying(out: &mut Vec<u8>) {
    integer::write(0x20, 5, 0, out);
}

/// Appends a literal up to its value: its name, or where that is known.
fn write_name(pattern: u8, bits: u32, name: &str, known: Option<u32>, out: &mut Vec<u8>) {
    integer::write(pattern, bits, known.unwrap_or_default(), out);
    if known.is_none() {
        write_text(name.as_bytes(), out);
    }
}

/// Appends a string (§5.2).
fn write_text(text: &[u8], out: &mut Vec<u8>) {
    integer::write(0, 7, text.len() as u32, out);
    out.extend_from_slice(text);
}

/// Appends a string whose length is known once it is there; as a rule one byte says it.
fn write_filled(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.push(0);
    fill(out);
    let bytes = (out.len() - start - 1) as u32;
    // Seven bits of one byte, of which all ones say that more follow (§5.1).
    if bytes < 0x7f {
        out[start] = bytes as u8;
        return;
    }
    let mut length = Vec::new();
    integer::write(0, 7, bytes, &mut length);
    out.splice(start..=start, length);
}

/// Appends the block of an answer without a body, with a field that belongs to its status.
pub fn write_answer(status: u16, field: Option<(&str, &str)>, date: Option<&[u8]>, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(status).as_bytes();
    match status {
        200 => integer::write(0x80, 7, STATUS, out),
        _ => write_known(STATUS, digits, out),
    }
    // Neither may say how long it is (RFC 9110 §8.6).
    if !matches!(status, 204 | 304) {
        write_known(CONTENT_LENGTH, b"0", out);
    }
    if let Some((name, value)) = field {
        let (_, known) = table::find(name, None);
        write_name(literal(false), 4, name, known, out);
        write_text(value.as_bytes(), out);
    }
    if let Some(date) = date {
        write_known(DATE, date, out);
    }
}

/// Appends a field whose name is an entry, and which leaves none.
fn write_known(name: u32, value: &[u8], out: &mut Vec<u8>) {
    integer::write(0, 4, name, out);
    write_text(value, out);
}

#[cfg(test)]
mod tests {
    use super::super::Decoder;
    use super::*;
    use crate::limits::Limits;

    fn field(name: &str, value: &str, worth: Indexing) -> Field<&'static str> {
        Field { name: name.into(), value: FieldValue::Literal(value.into()), worth }
    }

    fn filled(text: &&str, out: &mut Vec<u8>) {
        out.extend_from_slice(text.as_bytes());
    }

    fn usual() -> Vec<Field<&'static str>> {
        vec![
            field(":method", "GET", Indexing::Entry),
            field(":authority", "h:80", Indexing::Entry),
            field(":path", "/a", Indexing::Nothing),
            field("x-own", "one", Indexing::Entry),
            field("authorization", "it", Indexing::Secret),
        ]
    }

    fn decoded(decoder: &mut Decoder, block: &[u8]) -> String {
        let mut all = String::new();
        let on = &mut |name: &[u8], value: &[u8]| {
            all += &format!("{}={} ", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
        };
        decoder.decode(block, &Limits::default(), on).unwrap();
        all
    }

    #[test]
    fn later_blocks_refer_to_the_first() {
        let blocks = Blocks::new(&usual());
        let (mut decoder, mut tabling, mut bytes) =
            (Decoder::default(), blocks.first(TABLE_BYTES), Vec::new());
        for _ in 0..3 {
            let mut out = Vec::new();
            blocks.write(tabling, &mut out, filled);
            let expected = ":method=GET :authority=h:80 :path=/a x-own=one authorization=it ";
            assert_eq!(decoded(&mut decoder, &out), expected);
            tabling = tabling.next();
            bytes.push(out.len());
        }
        assert_eq!(decoder.changes(), 2, "two entries, once");
        assert_eq!(bytes[1..], [12, 12], "three indices, a path and a secret");
        assert_eq!(blocks.entries_bytes, 2 * ENTRY_BYTES + ":authorityh:80x-ownone".len());
    }

    #[test]
    fn a_peer_without_a_table_gets_literals() {
        let blocks = Blocks::new(&usual());
        for table_bytes in [0, TABLE_BYTES - 1] {
            assert_eq!(blocks.first(table_bytes), TableMode::Avoids);
        }
        let mut out = Vec::new();
        blocks.write(TableMode::Avoids, &mut out, filled);
        assert_eq!(out[..2], [0x20, 0x82], "the table is emptied first");
        let mut decoder = Decoder::default();
        assert!(decoded(&mut decoder, &out).ends_with(":path=/a x-own=one authorization=it "));
        let long = "x".repeat(TABLE_BYTES as usize);
        assert_eq!(Blocks::new(&[field("a", &long, Indexing::Entry)]).first(TABLE_BYTES), TableMode::Avoids);
    }

    #[test]
    fn an_answer_says_its_status_and_when() {
        for (status, field, date, fields) in [
            (200, None, None, ":status=200 content-length=0 "),
            (404, None, Some(&b"now"[..]), ":status=404 content-length=0 date=now "),
            (405, Some(("allow", "GET")), None, ":status=405 content-length=0 allow=GET "),
            (204, None, None, ":status=204 "),
        ] {
            let mut out = Vec::new();
            write_answer(status, field, date, &mut out);
            assert_eq!(decoded(&mut Decoder::default(), &out), fields);
        }
    }
}
