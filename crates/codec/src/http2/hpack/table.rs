//! The table of a block's indices (RFC 7541 §2.3): the standard's entries, and behind them the connection's.

use std::collections::VecDeque;

use super::integer::BadBlock;

/// Bytes of an entry besides its text (§4.1).
pub(super) const ENTRY_BYTES: usize = 32;

/// The entries that all connections have (appendix A); the first has the index 1.
const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// The index of the static entry with this name and value, and of the first with this name.
pub(super) fn find(name: &str, value: Option<&[u8]>) -> (Option<u32>, Option<u32>) {
    let index = |at: usize| at as u32 + 1;
    let whole = STATIC.iter().position(|(n, v)| *n == name && value == Some(v.as_bytes()));
    (whole.map(index), STATIC.iter().position(|(n, _)| *n == name).map(index))
}

/// The index of the connection's newest entry.
pub(super) const NEWEST: u32 = STATIC.len() as u32 + 1;

/// The entries of one direction of a connection, newest first.
#[derive(Debug)]
pub(super) struct Table {
    entries: VecDeque<Entry>,
    /// The bytes they take, and may take.
    bytes: usize,
    bytes_max: usize,
    /// How often it has changed.
    changes: u64,
}

#[derive(Debug)]
struct Entry {
    /// Name and value, end to end.
    text: Vec<u8>,
    name_bytes: usize,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.text.len() + ENTRY_BYTES
    }
}

impl Table {
    /// An empty one.
    pub(super) fn new(bytes_max: usize) -> Table {
        Table { entries: VecDeque::new(), bytes: 0, bytes_max, changes: 0 }
    }

    /// How often it has changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The name and value of an index.
    pub(super) fn get(&self, index: u32) -> Result<(&[u8], &[u8]), BadBlock> {
        let at = (index as usize).checked_sub(1).ok_or(BadBlock)?;
        if let Some((name, value)) = STATIC.get(at) {
            return Ok((name.as_bytes(), value.as_bytes()));
        }
        // Newest first, so that an index is a place: whatever comes in shifts all others by one (§2.3.3).
        let entry = self.entries.get(at - STATIC.len()).ok_or(BadBlock)?;
        Ok(entry.text.split_at(entry.name_bytes))
    }

    /// Adds an entry, and drops older ones to make room (§4.4). One that has no room leaves an empty table.
    pub(super) fn insert(&mut self, text: &[u8], name_bytes: usize) {
        self.changes += 1;
        // Before the entry is added, as §4.4 says: its name may refer to one that is dropped for it.
        let dropped = self.shrink(self.bytes_max.saturating_sub(text.len() + ENTRY_BYTES));
        if text.len() + ENTRY_BYTES > self.bytes_max {
            return;
        }
        // Of what is dropped, the memory is of use: many servers add the same entries over and over.
        let mut kept = dropped.map_or_else(Vec::new, |entry| entry.text);
        kept.clear();
        kept.extend_from_slice(text);
        let entry = Entry { text: kept, name_bytes };
        self.bytes += entry.bytes();
        self.entries.push_front(entry);
    }

    /// The peer uses so much from now on.
    pub(super) fn resize(&mut self, bytes_max: usize) {
        self.changes += 1;
        self.bytes_max = bytes_max;
        self.shrink(bytes_max);
    }

    /// Drops the oldest entries until the others take no more: the last that was dropped.
    fn shrink(&mut self, bytes: usize) -> Option<Entry> {
        let mut dropped = None;
        while self.bytes > bytes {
            dropped = self.entries.pop_back();
            // An empty table has no bytes: this ends the loop if the two should ever differ.
            self.bytes -= dropped.as_ref().map_or(self.bytes, Entry::bytes);
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_entries_come_first_and_oldest_leave() {
        let mut table = Table::new(2 * (ENTRY_BYTES + 2));
        for text in [b"a1", b"b2", b"c3"] {
            table.insert(text, 1);
        }
        assert_eq!(table.get(NEWEST), Ok((&b"c"[..], &b"3"[..])));
        assert_eq!(table.get(NEWEST + 1), Ok((&b"b"[..], &b"2"[..])));
        assert_eq!(table.get(NEWEST + 2), Err(BadBlock));
        table.resize(ENTRY_BYTES + 2);
        assert_eq!(table.get(NEWEST + 1), Err(BadBlock));
        table.insert(&[b'x'; 9], 1);
        assert_eq!(table.get(NEWEST), Err(BadBlock), "too large for any table of this size");
    }

    #[test]
    fn the_standards_own_entries() {
        let table = Table::new(0);
        assert_eq!(table.get(0), Err(BadBlock));
        assert_eq!(table.get(8), Ok((&b":status"[..], &b"200"[..])));
        assert_eq!(table.get(61), Ok((&b"www-authenticate"[..], &b""[..])));
        assert_eq!(find(":method", Some(b"PUT")), (None, Some(2)));
        assert_eq!(find(":path", Some(b"/")), (Some(4), Some(4)));
        assert_eq!(find("x-own", Some(b"")), (None, None));
    }
}
