//! Reading blocks (RFC 7541 §6): every representation, Huffman's code and the table that the peer fills.

use super::integer::BadBlock;
use super::table::{ENTRY_BYTES, Table};
use super::{huffman, integer};
use crate::error::{Error, Http2Reason};
use crate::limits::Limits;

/// Bytes the peer may have in its table before it knows our settings, and after: we announce no other size
/// (RFC 9113 §6.5.2).
const TABLE_BYTES_MAX: usize = 4096;

/// One direction of a connection.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    /// Name and value of the field in hand, end to end, where they are no entry.
    text: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder { table: Table::new(TABLE_BYTES_MAX), text: Vec::new() }
    }
}

impl From<BadBlock> for Error {
    fn from(_: BadBlock) -> Error {
        Error::BadHttp2(Http2Reason::Compression)
    }
}

impl Decoder {
    /// How often the table has changed: as long as it has not, the same block means the same.
    pub fn changes(&self) -> u64 {
        self.table.changes()
    }

    /// Tells the fields of a whole block, in order. A short block can stand for many long fields: what they
    /// come to is bounded.
    pub fn decode(
        &mut self,
        mut block: &[u8],
        limits: &Limits,
        on: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Error> {
        let (mut fields, mut bytes) = (0, 0);
        while let Some(&first) = block.first() {
            match first {
                // A change of the table's size comes before all fields (§4.2).
                0x20..=0x3f if fields == 0 => {
                    let size = integer::read(5, &mut block)? as usize;
                    if size > TABLE_BYTES_MAX {
                        return Err(BadBlock.into());
                    }
                    self.table.resize(size);
                    continue;
                }
                0x20..=0x3f => return Err(BadBlock.into()),
                _ => {}
            }
            let (name, value) = self.field(first, &mut block)?;
            fields += 1;
            // As the peer counts it against our setting (RFC 9113 §6.5.2): each field costs as an entry
            // would.
            bytes += name.len() + value.len() + ENTRY_BYTES;
            if fields > limits.headers_max || bytes > limits.head_bytes_max {
                return Err(Error::HeadTooLarge);
            }
            on(name, value);
        }
        Ok(())
    }

    /// The next field of a block, which starts with this byte.
    fn field(&mut self, first: u8, block: &mut &[u8]) -> Result<(&[u8], &[u8]), BadBlock> {
        if first >= 0x80 {
            // An index of 0 is none, and the table says so (§6.1).
            return self.table.get(integer::read(7, block)?);
        }
        // Literal (§6.2): what goes into the table leaves six bits for the index of the name, what does not
        // leaves four.
        let is_added = first >= 0x40;
        self.text.clear();
        match integer::read(if is_added { 6 } else { 4 }, block)? {
            0 => read_text(block, &mut self.text)?,
            // Copied, because the entry with the name may be dropped for this very field.
            index => self.text.extend_from_slice(self.table.get(index)?.0),
        }
        let name_bytes = self.text.len();
        read_text(block, &mut self.text)?;
        if is_added {
            self.table.insert(&self.text, name_bytes);
        }
        Ok(self.text.split_at(name_bytes))
    }
}

/// Appends a string (§5.2).
fn read_text(block: &mut &[u8], text: &mut Vec<u8>) -> Result<(), BadBlock> {
    let is_coded = block.first().is_some_and(|&first| first >= 0x80);
    let bytes = integer::read(7, block)? as usize;
    let (string, rest) = block.split_at_checked(bytes).ok_or(BadBlock)?;
    *block = rest;
    if is_coded {
        return huffman::decode(string, text);
    }
    text.extend_from_slice(string);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        head_bytes_max: 16 << 10,
        headers_max: 100,
        body_bytes_max: 0,
        frame_bytes_max: 0,
        message_bytes_max: 0,
        fragments_max: 0,
    };

    fn fields(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<String>, Error> {
        let mut all = Vec::new();
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        decoder.decode(block, &LIMITS, &mut |name, value| {
            all.push(format!("{}: {}", shown(name), shown(value)));
        })?;
        Ok(all)
    }

    #[test]
    fn requests_of_the_standard_with_huffmans_code() {
        // RFC 7541, appendix C.4: each refers to what the one before has left.
        let decoder = &mut Decoder::default();
        let first = b"\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff";
        let usual = [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"];
        assert_eq!(fields(decoder, first).unwrap(), usual);
        let second = b"\x82\x86\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf";
        assert_eq!(fields(decoder, second).unwrap(), [&usual[..], &["cache-control: no-cache"]].concat());
        let third = b"\x82\x87\x85\xbf\x40\x88\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f\x89\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf";
        let expected = [
            ":method: GET",
            ":scheme: https",
            ":path: /index.html",
            ":authority: www.example.com",
            "custom-key: custom-value",
        ];
        assert_eq!(fields(decoder, third).unwrap(), expected);
    }

    #[test]
    fn literals_that_leave_no_trace() {
        // RFC 7541, appendix C.2.
        let decoder = &mut Decoder::default();
        assert_eq!(fields(decoder, b"\x04\x0c/sample/path").unwrap(), [":path: /sample/path"]);
        assert_eq!(fields(decoder, b"\x10\x08password\x06secret").unwrap(), ["password: secret"]);
        assert_eq!(decoder.changes(), 0);
        assert_eq!(
            fields(decoder, b"\x40\x0acustom-key\x0dcustom-header").unwrap(),
            ["custom-key: custom-header"]
        );
        assert_eq!(decoder.changes(), 1);
    }

    #[test]
    fn blocks_that_break_the_rules() {
        let bad = Err(Error::BadHttp2(Http2Reason::Compression));
        for block in [
            &b"\x80"[..],        // index 0
            b"\xbe",             // nothing is there yet
            b"\x3f\xe2\x1f",     // a table of 4097 bytes
            b"\x82\x20",         // a new size behind a field
            b"\x04",             // no value
            b"\x04\x05/a",       // a value cut off
            b"\x00\x81\xff\x00", // no symbol in a coded name
            b"\xff\xff\xff\xff\xff\xff",
        ] {
            assert_eq!(fields(&mut Decoder::default(), block), bad, "{}", block.escape_ascii());
        }
        assert_eq!(fields(&mut Decoder::default(), b"\x3f\xe1\x1f\x82").unwrap(), [":method: GET"]);
    }

    #[test]
    fn expanding_blocks_are_refused() {
        let decoder = &mut Decoder::default();
        let entry = [&b"\x40\x01a\x7f\xa1\x1e"[..], &[b'x'; 4000]].concat();
        assert_eq!(fields(decoder, &entry).map(|all| all.len()), Ok(1));
        assert_eq!(fields(decoder, &[0xbe; 16]), Err(Error::HeadTooLarge));
        assert_eq!(fields(decoder, &[0x82; 101]), Err(Error::HeadTooLarge));
    }
}
