//! Responses: one head judged (RFC 9112 §4), and a reader for a connection's answers.

use super::body::{Body, Framing, Piece};
use super::fields::Fields;
use super::head::{Expect, HeadReader, parse_failure};
use crate::error::{Error, HttpReason};
use crate::limits::Limits;

/// The head of a response that keeps the rules.
#[derive(Debug)]
pub struct Response<'a> {
    /// The status code, 100–599.
    pub status: u16,
    /// The minor version: 1, or 0 for HTTP/1.0.
    pub minor: u8,
    /// The fields.
    pub fields: Fields<'a>,
}

impl<'a> Response<'a> {
    /// Judges a whole head of `lines` lines, as [`HeadReader`] found it.
    pub fn parse(head: &'a [u8], lines: usize) -> Result<Response<'a>, Error> {
        let mut list = vec![httparse::EMPTY_HEADER; lines];
        let mut parsed = httparse::Response::new(&mut list);
        parsed.parse(head).map_err(parse_failure)?;
        // Others are invalid (RFC 9110 §15).
        let (Some(status @ 100..=599), Some(minor)) = (parsed.code, parsed.version) else {
            return Err(Error::BadHttp(HttpReason::StartLine));
        };
        let used = parsed.headers.len();
        list.truncate(used);
        Ok(Response { status, minor, fields: Fields { list } })
    }

    /// How the body is framed, given whether the request was a `HEAD` (RFC 9112 §6.3).
    pub fn body(&self, to_head: bool) -> Result<Framing, Error> {
        // Before the exceptions: a framing that breaks the rules is refused whatever it is of.
        let announced = Framing::announced(&self.fields, self.minor)?;
        // They have no body, whatever length they announce.
        if to_head || matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Framing::Length(0));
        }
        Ok(announced.unwrap_or(Framing::UntilEof))
    }
}

/// Returns whether a connection lives on after a message with these fields (RFC 9112 §9.3).
pub fn keep_alive(fields: &Fields<'_>, minor: u8) -> bool {
    !fields.has_member("connection", "close") && (minor >= 1 || fields.has_member("connection", "keep-alive"))
}

/// Parts of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponseEvent<'a> {
    /// A final response's head; interim ones (RFC 9110 §15.2) are skipped.
    Head {
        /// Its status code.
        status: u16,
        /// True if the connection serves another request after this one.
        keep_alive: bool,
    },
    /// Bytes of its body.
    Data(&'a [u8]),
    /// The response is whole.
    End,
}

/// A longer head is not kept to be known again.
const KNOWN_BYTES_MAX: usize = 1024;

/// Reads the answers to pipelined requests off one connection.
#[derive(Debug, Default)]
pub struct Responses {
    head: HeadReader,
    body: Option<Body>,
    known: Option<Known>,
}

/// The final head that came last. The next is often the same to the byte: but for its date, which changes
/// once a second, a server has no more to say about the same answer.
#[derive(Debug)]
struct Known {
    head: Vec<u8>,
    to_head: bool,
    verdict: Verdict,
}

/// The facts of a final head for reading on.
#[derive(Clone, Copy, Debug)]
struct Verdict {
    status: u16,
    framing: Framing,
    keep_alive: bool,
}

impl Verdict {
    fn of(response: &Response<'_>, to_head: bool) -> Result<Verdict, Error> {
        let framing = response.body(to_head)?;
        // With a body that lasts until the connection ends there is nothing left to keep.
        let keep_alive = framing != Framing::UntilEof && keep_alive(&response.fields, response.minor);
        Ok(Verdict { status: response.status, framing, keep_alive })
    }
}

impl Responses {
    /// The next thing in `input`, which it is taken off; `None` when more bytes are needed. `to_head` says
    /// whether the request now answered was a `HEAD`.
    #[inline]
    pub fn next<'a>(
        &mut self,
        limits: &Limits,
        to_head: bool,
        input: &mut &'a [u8],
    ) -> Result<Option<ResponseEvent<'a>>, Error> {
        self.next_with(limits, to_head, input, |_| Ok(()))
    }

    /// Reads the next event as [`next`](Self::next) does, and shows `look` the fields of each final head that
    /// differs from the one before.
    pub fn next_with<'a>(
        &mut self,
        limits: &Limits,
        to_head: bool,
        input: &mut &'a [u8],
        look: impl FnOnce(&Fields<'_>) -> Result<(), Error>,
    ) -> Result<Option<ResponseEvent<'a>>, Error> {
        if let Some(body) = &mut self.body {
            return Ok(body.read(limits, input)?.map(|piece| match piece {
                Piece::Data(data) => ResponseEvent::Data(data),
                Piece::End => {
                    self.body = None;
                    ResponseEvent::End
                }
            }));
        }
        if let Some(verdict) = self.recognise(to_head, input) {
            return Ok(Some(self.begin(verdict)));
        }
        loop {
            let Some((head, lines)) = self.head.read(Expect::Response, limits, input)? else {
                return Ok(None);
            };
            let response = Response::parse(head, lines)?;
            match response.status {
                // Another protocol was not asked for here (RFC 9110 §15.2.2).
                101 => return Err(Error::HttpStatus(101)),
                100..=199 => {}
                _ => {
                    let verdict = Verdict::of(&response, to_head)?;
                    look(&response.fields)?;
                    if head.len() <= KNOWN_BYTES_MAX {
                        // The memory of the head before is of use for this one.
                        let mut kept = self.known.take().map_or_else(Vec::new, |known| known.head);
                        kept.clear();
                        kept.extend_from_slice(head);
                        self.known = Some(Known { head: kept, to_head, verdict });
                    }
                    return Ok(Some(self.begin(verdict)));
                }
            }
        }
    }

    /// The verdict on the same head before; takes it off the input.
    #[inline]
    fn recognise(&self, to_head: bool, input: &mut &[u8]) -> Option<Verdict> {
        let known =
            // The same head has no body after a HEAD; and of one that is half in the beginning is no longer
            // in the input.
            self.known.as_ref().filter(|known| known.to_head == to_head && !self.head.is_partial())?;
        // With its empty line: what begins like it is it.
        *input = input.strip_prefix(known.head.as_slice())?;
        Some(known.verdict)
    }

    /// A head is in: its body comes next.
    fn begin<'a>(&mut self, Verdict { status, framing, keep_alive }: Verdict) -> ResponseEvent<'a> {
        self.body = Some(Body::new(framing));
        ResponseEvent::Head { status, keep_alive }
    }

    /// The connection has closed: `Ok(true)` when that ends a response that was still open, `Ok(false)`
    /// between responses, [`Error::EofBeforeAnswer`] in the middle of one.
    pub fn handle_eof(&mut self) -> Result<bool, Error> {
        match self.body.take() {
            Some(body) if body.may_end() => Ok(true),
            None if !self.head.is_partial() => Ok(false),
            _ => Err(Error::EofBeforeAnswer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events read, bodies joined, in portions of `step`.
    fn read(bytes: &[u8], step: usize) -> (Vec<String>, Result<bool, Error>) {
        let (mut responses, mut got, mut data) = (Responses::default(), Vec::new(), Vec::new());
        for portion in bytes.chunks(step) {
            let mut input = portion;
            loop {
                match responses.next(&Limits::default(), false, &mut input) {
                    Err(failure) => return (got, Err(failure)),
                    Ok(None) => break,
                    Ok(Some(ResponseEvent::Data(d))) => data.extend_from_slice(d),
                    Ok(Some(ResponseEvent::Head { status, keep_alive })) => {
                        got.push(format!("{status} {keep_alive}"))
                    }
                    Ok(Some(ResponseEvent::End)) => {
                        got.push(String::from_utf8(std::mem::take(&mut data)).unwrap());
                    }
                }
            }
        }
        let eof = responses.handle_eof();
        if eof == Ok(true) {
            got.push(String::from_utf8(data).unwrap());
        }
        (got, eof)
    }

    #[test]
    fn pipelined_answers_in_any_portions() {
        let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\
            HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            1\r\nd\r\n0\r\n\r\nHTTP/1.1 503\r\nConnection: close\r\n\r\nbye";
        for step in 1..=bytes.len() {
            let (got, eof) = read(bytes, step);
            assert_eq!(got, ["200 true", "abc", "204 true", "", "200 true", "d", "503 false", "bye"]);
            assert_eq!(eof, Ok(true));
        }
    }

    #[test]
    fn equal_heads_mean_the_same_by_method() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
        let (head, body) = answer.split_at(answer.len() - 2);
        let mut responses = Responses::default();
        for (to_head, bytes) in [(true, head), (true, head), (false, answer), (false, answer), (true, head)] {
            let mut input = bytes;
            let mut next = || responses.next(&Limits::default(), to_head, &mut input).unwrap();
            assert_eq!(next(), Some(ResponseEvent::Head { status: 200, keep_alive: true }));
            if !to_head {
                assert_eq!(next(), Some(ResponseEvent::Data(body)));
            }
            assert_eq!(next(), Some(ResponseEvent::End));
            assert!(input.is_empty());
        }
        // In the middle of a head it is no head.
        for (mut input, expected) in
            [(&b"HT"[..], Ok(None)), (&answer[..], Err(Error::BadHttp(HttpReason::Surplus)))]
        {
            assert_eq!(responses.next(&Limits::default(), true, &mut input), expected);
        }
    }

    #[test]
    fn the_same_answers_in_any_portions() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab".repeat(3);
        for step in 1..=bytes.len() {
            let (got, eof) = read(&bytes, step);
            assert_eq!(got, ["200 true", "ab", "200 true", "ab", "200 true", "ab"]);
            assert_eq!(eof, Ok(false));
        }
    }

    #[test]
    fn an_end_in_the_middle_is_a_failure() {
        for bytes in [&b"HTTP/1.1 2"[..], b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"] {
            assert_eq!(read(bytes, 1).1, Err(Error::EofBeforeAnswer));
        }
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 1).1, Ok(false));
        assert_eq!(read(b"", 1).1, Ok(false));
    }

    #[test]
    fn invalid_responses_are_refused() {
        for (bytes, failure) in [
            (&b"HTTP/1.1 099 x\r\n\r\n"[..], Error::BadHttp(HttpReason::StartLine)),
            (b"HTTP/1.1 20 x\r\n\r\n", Error::BadHttp(HttpReason::StartLine)),
            (b"HTTP/1.1 600 x\r\n\r\n", Error::BadHttp(HttpReason::StartLine)),
            (b"HTTP/1.7 200 x\r\n\r\n", Error::BadHttp(HttpReason::Version)),
            (b"HTTP/1.1 101 x\r\n\r\n", Error::HttpStatus(101)),
            (b"PRI * HTTP/2.0\r\n\r\n", Error::NotHttp),
        ] {
            assert_eq!(read(bytes, 1).1, Err(failure), "{}", bytes.escape_ascii());
            assert_eq!(read(bytes, 99).1, Err(failure), "{}", bytes.escape_ascii());
        }
    }
}
