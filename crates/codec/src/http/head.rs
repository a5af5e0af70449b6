//! Finding the end of a head that arrives in pieces.
//!
//! The bytes are judged as they come, so that noise is refused by its first byte and not when a limit is
//! reached:
//!
//! ```text
//! Start --CR--> StartCr --LF--> Start    (empty lines before a request are skipped, RFC 9112 §2.2)
//! Start --any-> Line --CR--> LineCr --LF--> LineStart --CR--> EndCr --LF--> the head is whole
//!                                           LineStart --any-> Line
//! ```
//!
//! Everywhere else a CR or LF is bare and refused, as are NUL and its kin.

use crate::error::{Error, HttpReason};
use crate::limits::Limits;

/// The kind of head that is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// A request: starts with a method.
    Request,
    /// A response: starts with `HTTP/1.`.
    Response,
}

/// The beginning of every response.
const RESPONSE_START: &[u8] = b"HTTP/1.";

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Start,
    StartCr,
    Line,
    LineCr,
    LineStart,
    EndCr,
    Whole,
}

/// Collects one head after the other. Holds a copy only of a head that comes in pieces.
#[derive(Debug, Default)]
pub struct HeadReader {
    state: State,
    lines: u32,
    /// How much of [`RESPONSE_START`] is in.
    started: u8,
    /// True if it has read a head before.
    is_behind: bool,
    held: Vec<u8>,
}

impl HeadReader {
    /// The next whole head, blank line included, and how many lines it has; `None` when more bytes are
    /// needed. Consumes what it looked at.
    pub fn read<'s, 'i: 's>(
        &'s mut self,
        expect: Expect,
        limits: &Limits,
        input: &mut &'i [u8],
    ) -> Result<Option<(&'s [u8], usize)>, Error> {
        if self.state == State::Whole {
            *self = HeadReader { is_behind: true, ..HeadReader::default() };
        }
        if expect == Expect::Request {
            self.skip_empty_lines(input);
        }
        let bytes = *input;
        // Nothing beyond the limit is looked at, so that a long head is refused as soon as it is too long.
        let room = limits.head_bytes_max.saturating_sub(self.held.len());
        let end = self.scan(expect, limits, &bytes[..bytes.len().min(room)])?;
        if end.is_none() && bytes.len() >= room {
            return Err(Error::HeadTooLarge);
        }
        let (mine, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        *input = rest;
        // Most heads come in one portion, and stay where they are.
        let whole = self.held.is_empty() && end.is_some();
        if !whole {
            self.held.extend_from_slice(mine);
        }
        let head: &'s [u8] = if whole { mine } else { &self.held };
        Ok(end.map(|_| (head, self.lines as usize)))
    }

    /// Returns whether part of a head is in.
    #[inline]
    pub fn is_partial(&self) -> bool {
        !self.held.is_empty() && self.state != State::Whole
    }

    /// Takes empty lines off `input`: they are no part of a head, and not kept.
    fn skip_empty_lines(&mut self, input: &mut &[u8]) {
        loop {
            (*input, self.state) = match (self.state, *input) {
                (State::Start, [b'\r', b'\n', rest @ ..]) | (State::StartCr, [b'\n', rest @ ..]) => {
                    (rest, State::Start)
                }
                // Half of an empty line, at the end of a portion.
                (State::Start, [b'\r']) => (&[][..], State::StartCr),
                _ => return,
            };
        }
    }

    /// Judges the bytes; where the head ends, if it does.
    fn scan(&mut self, expect: Expect, limits: &Limits, bytes: &[u8]) -> Result<Option<usize>, Error> {
        let mut next = 0;
        loop {
            let must = self.must_be(expect);
            // Not before the fixed start of a response is in: that is compared byte by byte.
            if self.state == State::Line && must.is_none() {
                next += plain(&bytes[next..]);
            }
            let Some(&b) = bytes.get(next) else { return Ok(None) };
            next += 1;
            if let Some(must) = must {
                if b != must {
                    return Err(Error::unasked(self.is_behind));
                }
                self.started += 1;
            }
            self.state = match (self.state, b) {
                (State::Start, b'\r') if expect == Expect::Request => State::StartCr,
                (State::Start, _) if !super::fields::is_tchar(b) => return Err(Error::NotHttp),
                (State::Line, b'\r') => State::LineCr,
                // The start line is no field.
                (State::LineCr, b'\n') if self.lines as usize > limits.headers_max => {
                    return Err(Error::HeadTooLarge);
                }
                (State::LineCr, b'\n') => {
                    self.lines += 1;
                    State::LineStart
                }
                (State::LineStart, b'\r') => State::EndCr,
                (State::EndCr, b'\n') => {
                    self.lines += 1;
                    self.state = State::Whole;
                    return Ok(Some(next));
                }
                (State::StartCr | State::LineCr | State::EndCr, _) | (_, b'\r' | b'\n') => {
                    return Err(Error::BadHttp(HttpReason::LineEnd));
                }
                // A folded field (RFC 9112 §5.2): readers disagree about what it means.
                (State::LineStart, b' ' | b'\t') => return Err(Error::BadHttp(HttpReason::FieldLine)),
                (_, 0..=8 | 11..=31 | 127) => return Err(Error::BadHttp(HttpReason::Control)),
                _ => State::Line,
            };
        }
    }

    /// The next byte of [`RESPONSE_START`], as long as it is not all in.
    #[inline]
    fn must_be(&self, expect: Expect) -> Option<u8> {
        match expect {
            Expect::Request => None,
            Expect::Response => RESPONSE_START.get(usize::from(self.started)).copied(),
        }
    }
}

/// How many bytes there are before one that may change a line's state: most of a head, and so worth a loop of
/// its own.
fn plain(bytes: &[u8]) -> usize {
    bytes.iter().position(|&b| b < b' ' || b == 127).unwrap_or(bytes.len())
}

/// A parse error of a head already known to be whole and free of bare line ends.
pub fn parse_failure(error: httparse::Error) -> Error {
    match error {
        httparse::Error::Version => Error::BadHttp(HttpReason::Version),
        httparse::Error::HeaderName | httparse::Error::HeaderValue => Error::BadHttp(HttpReason::FieldLine),
        httparse::Error::TooManyHeaders => Error::HeadTooLarge,
        _ => Error::BadHttp(HttpReason::StartLine),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the bytes in portions of `step`; the head, and what was left.
    fn read(expect: Expect, bytes: &[u8], step: usize) -> Result<Option<[Vec<u8>; 2]>, Error> {
        let limits = Limits { head_bytes_max: 64, headers_max: 4, ..Limits::default() };
        let mut reader = HeadReader::default();
        for (n, piece) in bytes.chunks(step).enumerate() {
            let mut input = piece;
            if let Some((head, _)) = reader.read(expect, &limits, &mut input)? {
                let head = head.to_vec();
                return Ok(Some([head, [input, &bytes[bytes.len().min((n + 1) * step)..]].concat()]));
            }
        }
        Ok(None)
    }

    #[test]
    fn bytes_behind_an_answer_are_surplus() {
        let mut reader = HeadReader::default();
        let mut input = &b"HTTP/1.1 200 OK\r\n\r\nSSH"[..];
        let mut read =
            || reader.read(Expect::Response, &Limits::default(), &mut input).map(|head| head.is_some());
        assert_eq!((read(), read()), (Ok(true), Err(Error::BadHttp(HttpReason::Surplus))));
    }

    #[test]
    fn any_portions_give_the_same_head() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for before in [&b""[..], b"\r\n", b"\r\n\r\n\r\n"] {
            let bytes = [before, head, b"\x81\x00GET"].concat();
            for step in 1..=bytes.len() {
                let [got, rest] = read(Expect::Request, &bytes, step).unwrap().unwrap();
                assert_eq!((&got[..], &rest[..]), (&head[..], &b"\x81\x00GET"[..]), "step {step}");
            }
        }
    }

    #[test]
    fn empty_lines_before_requests_are_skipped() {
        let head = b"GET / HTTP/1.1\r\n\r\n";
        let bytes = [&b"\r\n".repeat(10_000)[..], head].concat();
        for step in [1, 3, 64, 4096, bytes.len()] {
            let [got, rest] = read(Expect::Request, &bytes, step).unwrap().unwrap();
            assert_eq!((&got[..], &rest[..]), (&head[..], &b""[..]), "step {step}");
        }
        let cut = [&b"\r\n".repeat(100)[..], b"\r"].concat();
        assert_eq!(read(Expect::Request, &cut, 7), Ok(None));
        let mut reader = HeadReader::default();
        assert!(reader.read(Expect::Request, &Limits::default(), &mut &cut[..]).unwrap().is_none());
        assert!(!reader.is_partial(), "nothing of a request is in");
    }

    #[test]
    fn noise_is_refused_at_its_first_byte() {
        use HttpReason::*;
        for (expect, bytes, failure) in [
            (Expect::Request, &b"\x16"[..], Error::NotHttp), // a TLS hello
            (Expect::Request, b"\r\n\x16", Error::NotHttp),
            (Expect::Request, b"\r\n\n", Error::NotHttp),
            (Expect::Request, b"\r\rG", Error::BadHttp(LineEnd)),
            (Expect::Response, b"HTTP/2", Error::NotHttp),
            (Expect::Response, b"\x15", Error::NotHttp), // a TLS alert
            (Expect::Response, b"\r", Error::NotHttp),
            (Expect::Response, b"SSH", Error::NotHttp),
            (Expect::Request, b"GET / HTTP/1.1\n", Error::BadHttp(LineEnd)),
            (Expect::Request, b"GET / HTTP/1.1\rH", Error::BadHttp(LineEnd)),
            (Expect::Request, b"GET /\0", Error::BadHttp(Control)),
            (Expect::Request, b"GET / HTTP/1.1\r\n ", Error::BadHttp(FieldLine)), // obs-fold
        ] {
            for step in [1, bytes.len()] {
                assert_eq!(read(expect, bytes, step), Err(failure), "{}", bytes.escape_ascii());
            }
        }
    }

    #[test]
    fn limits_hold_in_any_portions() {
        let long = [&b"GET / HTTP/1.1\r\nA: "[..], &[b'a'; 64], b"\r\n\r\n"].concat();
        let many = [&b"GET / HTTP/1.1\r\n"[..], &b"a:b\r\n".repeat(5), b"\r\n"].concat();
        let enough = [&b"GET / HTTP/1.1\r\n"[..], &b"a:b\r\n".repeat(4), b"\r\n"].concat();
        for step in [1, 7, 200] {
            assert_eq!(read(Expect::Request, &long, step), Err(Error::HeadTooLarge));
            assert_eq!(read(Expect::Request, &many, step), Err(Error::HeadTooLarge));
            assert!(read(Expect::Request, &enough, step).unwrap().is_some());
        }
    }
}
