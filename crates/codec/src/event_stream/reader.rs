//! Reading an event stream (HTML §9.2.6), cut anywhere.
//!
//! ```text
//! stream  = [BOM] *line                        a line ends with CR LF, LF or CR
//! line    = ""                                 dispatches the event, if it has data
//!         | ":" comment                        ignored
//!         | name [":" [" "] value]             event, data, id, retry; other names are ignored
//! ```
//!
//! An event that the stream ends in the middle of is never dispatched: neither are its data nor its id
//! anyone's.
//!
//! Text is handed on as bytes: decoding UTF-8 with replacement, as browsers do, changes no byte of ASCII, and
//! so neither a line nor a field's name.

use std::borrow::Cow;

use crate::error::Error;
use crate::limits::Limits;

/// The byte order mark that a stream may begin with, once.
const BOM: &[u8] = b"\xef\xbb\xbf";
/// The longest time that a server can ask clients to wait before they reconnect: a day. Firefox has a bound
/// as well, since the field has no largest number.
pub const RETRY_MS_MAX: u32 = 86_400_000;
/// Most bytes of an event ID, which goes back in a field of a request: nginx accepts no longer line
/// (`large_client_header_buffers`).
const ID_BYTES_MAX: usize = 8 << 10;
/// No reconnection time: above [`RETRY_MS_MAX`]. An `Option` would take 8 bytes of each idle client, not 4.
const UNSET_MS: u32 = u32::MAX;

/// A dispatched event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamEvent<'a> {
    /// Its type; empty: `message`.
    pub kind: &'a [u8],
    /// Its data: lines with LF between.
    pub data: &'a [u8],
    /// The last event ID as it stands with this event; empty: none.
    pub id: &'a [u8],
}

/// Reads one stream.
#[derive(Clone, Debug)]
pub struct Reader {
    position: Position,
    has_dispatched: bool,
    /// The server's reconnection time, or [`UNSET_MS`].
    retry_ms: u32,
    /// The last event ID as of the last blank line: a request to reconnect carries it. A box without spare
    /// capacity: most IDs are as long as the one before, whose place they take.
    last_id: Box<[u8]>,
    /// The event that is not whole, if something of it is in: idle streams need no room for one.
    partial: Option<Box<Partial>>,
}

/// The next byte's place in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Position {
    /// At its start, behind this many bytes of a byte order mark.
    Start(u8),
    /// Within a line, or at the start of one.
    Line,
    /// Behind a CR: an LF here belongs to it.
    AfterCr,
}

/// Bytes of an event that is not whole yet.
#[derive(Clone, Debug, Default)]
struct Partial {
    /// The line that is not whole.
    line: Vec<u8>,
    kind: Vec<u8>,
    /// Lines with an LF behind each.
    data: Vec<u8>,
    id: Option<Vec<u8>>,
    /// It was dispatched: the caller has had it, and it goes with the next call.
    is_dispatched: bool,
}

/// Fields of an event as they stand in the input in hand: the usual event comes whole, and is then never
/// copied.
#[derive(Clone, Copy, Debug, Default)]
struct Fields<'a> {
    kind: Option<&'a [u8]>,
    /// The only line of data, while there is none in [`Partial`].
    data: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader::after(b"")
    }
}

impl Reader {
    /// A stream that goes on where one broke off behind the event with this id; empty: from the start.
    pub fn after(last_id: &[u8]) -> Reader {
        Reader {
            position: Position::Start(0),
            has_dispatched: !last_id.is_empty(),
            retry_ms: UNSET_MS,
            last_id: last_id.into(),
            partial: None,
        }
    }

    /// Returns whether an event has come, on this stream or on one that it goes on from.
    pub fn has_dispatched(&self) -> bool {
        self.has_dispatched
    }

    /// The last event ID (§9.2.2), which a request to reconnect carries; empty: none.
    pub fn last_id(&self) -> &[u8] {
        &self.last_id
    }

    /// The reconnection time that the server has asked for, at most [`RETRY_MS_MAX`]; `None`: the client's
    /// own.
    pub fn retry_ms(&self) -> Option<u32> {
        (self.retry_ms != UNSET_MS).then_some(self.retry_ms)
    }

    /// The next event in `input`, which it is taken off; `None` when more bytes are needed.
    ///
    /// # Errors
    /// [`Error::EventTooLarge`]: a line, or all data of an event, above [`Limits::message_bytes_max`],
    /// or an ID that no request could carry.
    #[inline]
    pub fn next<'r, 'a: 'r>(
        &'r mut self,
        limits: &Limits,
        input: &mut &'a [u8],
    ) -> Result<Option<StreamEvent<'r>>, Error> {
        self.partial.take_if(|partial| partial.is_dispatched);
        let (bytes_max, mut fields) = (limits.message_bytes_max, Fields::default());
        while let Some(line) = self.take_line(bytes_max, input)? {
            match line {
                Cow::Borrowed(b"") if self.handle_blank(&mut fields) => return Ok(Some(self.event(fields))),
                Cow::Borrowed(b"") => {}
                Cow::Borrowed(line) => self.handle_line(bytes_max, line, &mut fields)?,
                // It began in an input before, and so comes before all others of this one.
                Cow::Owned(line) => {
                    let mut gathered = Fields::default();
                    self.handle_line(bytes_max, &line, &mut gathered)?;
                    self.keep(bytes_max, gathered)?;
                }
            }
        }
        self.keep(bytes_max, fields)?;
        Ok(None)
    }

    /// Takes a line off the input, without its end; `None` when more bytes are needed.
    fn take_line<'a>(
        &mut self,
        bytes_max: usize,
        input: &mut &'a [u8],
    ) -> Result<Option<Cow<'a, [u8]>>, Error> {
        if self.position != Position::Line && !self.begin_line(input) {
            return Ok(None);
        }
        let end = memchr::memchr2(b'\n', b'\r', input);
        let (mine, rest) = input.split_at(end.unwrap_or(input.len()));
        let begun = self.partial.as_ref().map_or(0, |partial| partial.line.len());
        if begun + mine.len() > bytes_max {
            return Err(Error::EventTooLarge);
        }
        *input = rest.get(1..).unwrap_or_default();
        match (end, begun) {
            (None, _) if mine.is_empty() => return Ok(None),
            (None, _) => {
                self.partial().line.extend_from_slice(mine);
                return Ok(None);
            }
            // The line has ended with it: a LF behind it, perhaps in the next input, ends no other.
            _ if rest[0] == b'\r' => self.position = Position::AfterCr,
            _ => {}
        }
        Ok(Some(match begun {
            0 => Cow::Borrowed(mine),
            _ => {
                let mut line = std::mem::take(&mut self.partial().line);
                line.extend_from_slice(mine);
                Cow::Owned(line)
            }
        }))
    }

    /// Comes to the first byte of a line; false when more bytes are needed.
    fn begin_line(&mut self, input: &mut &[u8]) -> bool {
        let Some((&first, rest)) = input.split_first() else { return false };
        match self.position {
            Position::Start(seen) if first == BOM[usize::from(seen)] => {
                *input = rest;
                let is_whole = usize::from(seen) + 1 == BOM.len();
                self.position = if is_whole { Position::Line } else { Position::Start(seen + 1) };
                return is_whole || self.begin_line(input);
            }
            Position::Start(0) | Position::Line => {}
            // It began like the mark, and was the line itself.
            Position::Start(seen) => self.partial().line.extend_from_slice(&BOM[..usize::from(seen)]),
            Position::AfterCr if first == b'\n' => *input = rest,
            Position::AfterCr => {}
        }
        self.position = Position::Line;
        true
    }

    /// Takes in a line that is not empty.
    fn handle_line<'a>(
        &mut self,
        bytes_max: usize,
        line: &'a [u8],
        fields: &mut Fields<'a>,
    ) -> Result<(), Error> {
        match field(line) {
            (b"data", value) => match fields.data.take() {
                None if !self.has_data() => fields.data = Some(value),
                first => {
                    let lines = first.into_iter().chain([value]);
                    lines.into_iter().try_for_each(|line| self.partial().add_data(bytes_max, line))?;
                }
            },
            (b"event", value) => fields.kind = Some(value),
            (b"id", value) if value.len() > ID_BYTES_MAX => {
                return Err(Error::EventTooLarge);
            }
            (b"id", value) if !value.contains(&0) => fields.id = Some(value),
            (b"retry", value) => self.retry_ms = milliseconds(value).unwrap_or(self.retry_ms),
            _ => {}
        }
        Ok(())
    }

    /// Handles a blank line. Returns whether there is an event to dispatch. The last event ID changes without
    /// one, too.
    fn handle_blank(&mut self, fields: &mut Fields<'_>) -> bool {
        let kept = self.partial.as_mut().and_then(|partial| partial.id.take());
        match fields.id.or(kept.as_deref()) {
            Some(id) if id.len() == self.last_id.len() => self.last_id.copy_from_slice(id),
            Some(id) => self.last_id = id.into(),
            None => {}
        }
        let has_data = fields.data.is_some() || self.has_data();
        if !has_data {
            *fields = Fields::default();
            self.partial = None;
        }
        has_data
    }

    /// The event of these fields and of those that are kept.
    fn event<'a>(&'a mut self, fields: Fields<'a>) -> StreamEvent<'a> {
        self.has_dispatched = true;
        let (kind, kept) = match &mut self.partial {
            None => (b"".as_slice(), b"".as_slice()),
            Some(partial) => {
                partial.is_dispatched = true;
                (partial.kind.as_slice(), partial.data.strip_suffix(b"\n").unwrap_or_default())
            }
        };
        StreamEvent {
            kind: fields.kind.unwrap_or(kind),
            data: fields.data.unwrap_or(kept),
            id: &self.last_id,
        }
    }

    /// Keeps fields of an event whose end is in another input.
    fn keep(&mut self, bytes_max: usize, Fields { kind, data, id }: Fields<'_>) -> Result<(), Error> {
        if let Some(kind) = kind {
            self.partial().kind = kind.to_vec();
        }
        if let Some(id) = id {
            self.partial().id = Some(id.to_vec());
        }
        data.map_or(Ok(()), |line| self.partial().add_data(bytes_max, line))
    }

    fn has_data(&self) -> bool {
        self.partial.as_ref().is_some_and(|partial| !partial.data.is_empty())
    }

    fn partial(&mut self) -> &mut Partial {
        self.partial.get_or_insert_default()
    }
}

impl Partial {
    fn add_data(&mut self, bytes_max: usize, line: &[u8]) -> Result<(), Error> {
        if self.data.len() + line.len() > bytes_max {
            return Err(Error::EventTooLarge);
        }
        self.data.extend_from_slice(line);
        self.data.push(b'\n');
        Ok(())
    }
}

/// The name and the value in a line: one blank behind the colon does not belong to the value.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = memchr::memchr(b':', line) else { return (line, b"") };
    let value = &line[colon + 1..];
    (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
}

/// The number of a field `retry`; `None` unless it is digits alone.
fn milliseconds(value: &[u8]) -> Option<u32> {
    let are_digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let digit = |so_far: u64, byte: &u8| (so_far * 10 + u64::from(byte - b'0')).min(RETRY_MS_MAX.into());
    are_digits.then(|| value.iter().fold(0, digit) as u32)
}

#[cfg(test)]
mod tests;
