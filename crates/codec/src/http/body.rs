//! Message bodies: how long one is, and reading it in pieces (RFC 9112 §6, §7).

use std::borrow::Cow;

use super::fields::{self, Fields};
use crate::error::{Error, HttpReason};
use crate::limits::Limits;

/// How the end of a body is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// This many bytes.
    Length(u64),
    /// In chunks, the last of which is empty.
    Chunked,
    /// When the connection closes: answers only.
    UntilEof,
}

impl Framing {
    /// The framing that the fields of a message with this minor version announce; `None` when they announce
    /// none. Refuses whatever two readers could understand differently (RFC 9112 §6.3).
    pub fn announced(fields: &Fields<'_>, minor: u8) -> Result<Option<Framing>, Error> {
        let length = fields.only("content-length").map_err(|_| bad(HttpReason::ContentLength))?;
        let length = length.map(fields::number).transpose()?;
        if fields.all("transfer-encoding").next().is_none() {
            return Ok(length.map(Framing::Length));
        }
        // Both are how requests are smuggled (RFC 9112 §11.2): two readers may end the body at different
        // places.
        if length.is_some() {
            return Err(bad(HttpReason::ContentLength));
        }
        let codings: Vec<&[u8]> = fields.members("transfer-encoding").collect();
        let is_chunked = |coding: &&[u8]| coding.eq_ignore_ascii_case(b"chunked");
        match codings.split_last() {
            Some((last, before)) if minor >= 1 && is_chunked(last) => match before {
                [] => Ok(Some(Framing::Chunked)),
                _ if before.iter().any(|coding| is_chunked(coding) || !fields::is_token(coding)) => {
                    Err(bad(HttpReason::TransferEncoding))
                }
                // In chunks, but of something compressed, which nothing here decodes.
                _ => Err(bad(HttpReason::Coding)),
            },
            _ => Err(bad(HttpReason::TransferEncoding)),
        }
    }
}

/// A part of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// Bytes of it, never none.
    Data(&'a [u8]),
    /// It is whole.
    End,
}

/// Most bytes of a chunk's size line, extensions included, and of a trailer line. Precedent: hyper and Go cap
/// them too, since extensions are a way to send much and say nothing.
const LINE_BYTES_MAX: usize = 1024;
/// Most trailer lines; Apache's `LimitRequestFields` is 100 for head and trailers alike.
const TRAILERS_MAX: u32 = 100;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// This many bytes of a body with a length are missing.
    Length(u64),
    UntilEof,
    /// In the line that gives a chunk's size.
    ChunkSize,
    /// This many bytes of a chunk are missing.
    ChunkData(u64),
    /// After a chunk's data: CR LF, of which this many bytes are in.
    ChunkEnd(u8),
    /// After the last chunk, with the number of trailer lines that are in.
    Trailer(u32),
    Done,
}

/// Reads one body, in whatever portions it comes.
#[derive(Debug)]
pub struct Body {
    state: State,
    seen: u64,
    /// A line of which only the beginning is in: bodies that wait need no room for one.
    #[allow(clippy::box_collection)] // 8 bytes in a client of an event stream, not 24
    line: Option<Box<Vec<u8>>>,
}

impl Body {
    /// A body framed like this, of which nothing is in yet.
    pub fn new(framing: Framing) -> Body {
        let state = match framing {
            Framing::Length(n) => State::Length(n),
            Framing::Chunked => State::ChunkSize,
            Framing::UntilEof => State::UntilEof,
        };
        Body { state, seen: 0, line: None }
    }

    /// Returns whether the body may end here, when the connection does.
    #[inline]
    pub fn may_end(&self) -> bool {
        matches!(self.state, State::UntilEof | State::Done | State::Length(0))
    }

    /// The next part, taken off `input`; `None` when more bytes are needed.
    #[inline]
    pub fn read<'a>(&mut self, limits: &Limits, input: &mut &'a [u8]) -> Result<Option<Piece<'a>>, Error> {
        loop {
            self.state = match self.state {
                State::Length(0) | State::Done => {
                    self.state = State::Done;
                    return Ok(Some(Piece::End));
                }
                // Refused by what is announced, before any of it is waited for.
                State::Length(left) if self.seen + left > limits.body_bytes_max => {
                    return Err(Error::BodyTooLarge);
                }
                // Saturating: a chunk may announce any number of 64 bits.
                State::ChunkData(left) if self.seen.saturating_add(left) > limits.body_bytes_max => {
                    return Err(Error::BodyTooLarge);
                }
                // Before the look at the input: a chunk whose data has just ended needs no byte for that.
                State::ChunkData(0) => State::ChunkEnd(0),
                _ if input.is_empty() => return Ok(None),
                State::Length(left) => {
                    let data = self.take(input, left);
                    self.state = State::Length(left - data.len() as u64);
                    return Ok(Some(Piece::Data(data)));
                }
                State::ChunkData(left) => {
                    let data = self.take(input, left);
                    self.state = State::ChunkData(left - data.len() as u64);
                    return Ok(Some(Piece::Data(data)));
                }
                State::UntilEof => {
                    let data = self.take(input, u64::MAX);
                    // No length was announced, so that only what has come can be judged.
                    if self.seen > limits.body_bytes_max {
                        return Err(Error::BodyTooLarge);
                    }
                    return Ok(Some(Piece::Data(data)));
                }
                State::ChunkSize => match self.line(input)? {
                    None => return Ok(None),
                    Some(line) => match chunk_size(&line)? {
                        0 => State::Trailer(0),
                        size => State::ChunkData(size),
                    },
                },
                State::ChunkEnd(n) => {
                    let (&b, rest) = input.split_first().expect("not empty");
                    *input = rest;
                    // One by one: a portion of the input may end between the two.
                    match (n, b) {
                        (0, b'\r') => State::ChunkEnd(1),
                        (1, b'\n') => State::ChunkSize,
                        _ => return Err(bad(HttpReason::Chunk)),
                    }
                }
                State::Trailer(n) => match self.line(input)? {
                    None => return Ok(None),
                    Some(line) if *line == *b"\r\n" => State::Done,
                    Some(line) if n < TRAILERS_MAX && is_field_line(&line) => State::Trailer(n + 1),
                    Some(_) => return Err(bad(HttpReason::FieldLine)),
                },
            };
        }
    }

    fn take<'a>(&mut self, input: &mut &'a [u8], most: u64) -> &'a [u8] {
        let n = usize::try_from(most).unwrap_or(usize::MAX).min(input.len());
        let (data, rest) = input.split_at(n);
        *input = rest;
        self.seen += n as u64;
        data
    }

    /// Takes a line up to its CR LF; `None` when more bytes are needed.
    fn line<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Cow<'a, [u8]>>, Error> {
        let end = memchr::memchr(b'\n', input).map(|at| at + 1);
        let (mine, rest) = input.split_at(end.unwrap_or(input.len()));
        *input = rest;
        // Checked before the line is whole, or an endless one would be kept.
        if self.line.as_ref().map_or(0, |line| line.len()) + mine.len() > LINE_BYTES_MAX {
            return Err(bad(HttpReason::Chunk));
        }
        let line = match (self.line.take(), end) {
            // Most come whole, and are then never copied.
            (None, Some(_)) => Cow::Borrowed(mine),
            (begun, _) => {
                let mut line = begun.unwrap_or_default();
                line.extend_from_slice(mine);
                if end.is_none() {
                    self.line = Some(line);
                    return Ok(None);
                }
                Cow::Owned(*line)
            }
        };
        // A bare LF: some readers take it for a line's end and some do not, which is what smuggling lives on.
        if line.ends_with(b"\r\n") { Ok(Some(line)) } else { Err(bad(HttpReason::LineEnd)) }
    }
}

/// The size in a chunk's first line: hex digits and nothing but well-formed extensions after them.
fn chunk_size(line: &[u8]) -> Result<u64, Error> {
    let line = &line[..line.len() - 2];
    // Apart from the parsing, because `from_str_radix` would also take a sign.
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let (size, extensions) = line.split_at(digits);
    // Blanks may stand before an extension, but not at the end of the line: readers differ on them.
    let blank_end = fields::trim(extensions).is_empty() && !extensions.is_empty();
    if blank_end || !are_extensions(extensions) {
        return Err(bad(HttpReason::Chunk));
    }
    let size = std::str::from_utf8(size).expect("hex digits");
    u64::from_str_radix(size, 16).map_err(|_| bad(HttpReason::Chunk))
}

/// Returns whether the bytes are `*( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )` (RFC 9112
/// §7.1.1).
fn are_extensions(mut bytes: &[u8]) -> bool {
    loop {
        bytes = trim_start(bytes);
        let Some(rest) = bytes.strip_prefix(b";") else { return bytes.is_empty() };
        let Some(rest) = skip_token(trim_start(rest)) else { return false };
        bytes = match trim_start(rest).strip_prefix(b"=").map(trim_start) {
            None => rest,
            Some(value) => match skip_quoted(value).or_else(|| skip_token(value)) {
                Some(rest) => rest,
                None => return false,
            },
        };
    }
}

fn trim_start(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    &bytes[blanks..]
}

/// The bytes behind a token, if there is one.
fn skip_token(bytes: &[u8]) -> Option<&[u8]> {
    let length = bytes.iter().take_while(|&&b| fields::is_tchar(b)).count();
    (length > 0).then_some(&bytes[length..])
}

/// The bytes behind a quoted string, if there is one; a backslash quotes the character behind it (RFC 9110
/// §5.6.4).
fn skip_quoted(bytes: &[u8]) -> Option<&[u8]> {
    let is_text = |b: u8| b == b'\t' || (b >= b' ' && b != 0x7f);
    let mut rest = bytes.strip_prefix(b"\"")?;
    loop {
        rest = match rest {
            [b'"', behind @ ..] => return Some(behind),
            &[b'\\', quoted, ref behind @ ..] if is_text(quoted) => behind,
            &[b, ref behind @ ..] if is_text(b) && b != b'\\' => behind,
            _ => return None,
        };
    }
}

fn is_field_line(line: &[u8]) -> bool {
    let line = &line[..line.len() - 2];
    memchr::memchr(b':', line)
        .is_some_and(|at| fields::is_token(&line[..at]) && fields::is_value(fields::trim(&line[at + 1..])))
}

fn bad(reason: HttpReason) -> Error {
    Error::BadHttp(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body read in portions of `step`, and how many bytes were left over.
    fn read(framing: Framing, bytes: &[u8], step: usize) -> Result<(Vec<u8>, bool, usize), Error> {
        let limits = Limits { body_bytes_max: 100, ..Limits::default() };
        let (mut body, mut data, mut used) = (Body::new(framing), Vec::new(), 0);
        for portion in bytes.chunks(step) {
            let mut input = portion;
            while let Some(piece) = body.read(&limits, &mut input)? {
                match piece {
                    Piece::Data(d) => data.extend_from_slice(d),
                    Piece::End => return Ok((data, true, bytes.len() - used - portion.len() + input.len())),
                }
            }
            used += portion.len();
        }
        Ok((data, false, 0))
    }

    #[test]
    fn bodies_are_read_in_any_portions() {
        for (framing, bytes) in [
            (Framing::Length(11), &b"hello worldrest"[..]),
            (Framing::Chunked, b"5\r\nhello\r\n06;a=b;c=\"d\"\r\n world\r\n0\r\nT: x\r\n\r\nrest"),
            (Framing::Chunked, b"B ; e\r\nhello world\r\n000\r\n\r\nrest"),
            (Framing::Chunked, b"B;a=\"\\\"; \\\\,\" ;\tb = c;d=\"\"\r\nhello world\r\n0;x\r\n\r\nrest"),
        ] {
            for step in 1..=bytes.len() {
                let got = read(framing, bytes, step).unwrap();
                assert_eq!(got, (b"hello world".to_vec(), true, 4), "{} by {step}", bytes.escape_ascii());
            }
        }
        assert_eq!(read(Framing::Length(0), b"x", 1), Ok((vec![], true, 1)));
        assert_eq!(read(Framing::UntilEof, b"abc", 2), Ok((b"abc".to_vec(), false, 0)));
    }

    #[test]
    fn bad_chunks_are_refused() {
        for bytes in [
            &b"0x5\r\nhello\r\n"[..],
            b"5_0\r\n",
            b"+5\r\nhello\r\n",
            b"-5\r\nhello\r\n",
            b"\r\n",
            b"g\r\n",
            b" 5\r\nhello\r\n",
            b"5 \r\nhello\r\n",
            b"10000000000000000\r\n",
            b"5\r\nhello!\r\n",
            b"5\r\nhello5\r\n",
            b"5\r\nhello\n",
            b"5;\r\nhello\r\n",
            b"5;a=\r\nhello\r\n",
            b"5;a=\"\r\nhello\r\n",
            b"5;a=\"\\\r\nhello\r\n",
            b"5;a=\"b\"c\r\nhello\r\n",
            b"5;a b\r\nhello\r\n",
            b"5;a=\x01\r\nhello\r\n",
            b"5\nhello\r\n",
            b"0\r\nbad trailer\r\n\r\n",
            b"0\r\n : x\r\n\r\n",
        ] {
            for step in [1, bytes.len()] {
                assert!(read(Framing::Chunked, bytes, step).is_err(), "{}", bytes.escape_ascii());
            }
        }
        let long = [&b"5;"[..], &[b'a'; LINE_BYTES_MAX]].concat();
        assert!(read(Framing::Chunked, &long, 1).is_err());
    }

    #[test]
    fn the_limit_holds_for_every_framing() {
        let too_large = Err(Error::BodyTooLarge);
        assert_eq!(read(Framing::Length(101), b"", 1).map(|r| r.1), Ok(false), "nothing in, nothing judged");
        assert_eq!(read(Framing::Length(101), b"a", 1), too_large);
        assert_eq!(read(Framing::Chunked, b"65\r\na", 1), too_large);
        assert_eq!(read(Framing::Chunked, b"ffffffffffffffff\r\na", 1), too_large);
        assert_eq!(read(Framing::UntilEof, &[b'a'; 101], 10), too_large);
        let chunks = b"a\r\n0123456789\r\n".repeat(11);
        assert_eq!(read(Framing::Chunked, &chunks, 3), too_large);
    }
}
