//! One answer, held until it is whole: its head, and its body as far as something of it is to be kept.

use codec::http::head::{Expect, HeadReader};
use codec::http::response::{self, Response};
use codec::http::{Body, Framing, Piece};
use codec::{Error, Limits};

use crate::failure::Failure;

/// Most bytes of a body. nginx accepts as many (`Limits::body_bytes_max`), and no page with a form is larger.
pub(super) const BODY_BYTES_MAX: u64 = 1 << 20;

/// Reads answers, one at a time.
#[derive(Debug, Default)]
pub(super) struct Reader {
    head: HeadReader,
    open: Option<Open>,
}

/// An answer whose head is in.
#[derive(Debug)]
struct Open {
    body: Body,
    answer: Answer,
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Answer {
    head: Vec<u8>,
    lines: usize,
    pub(super) keep_alive: bool,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The answer's head, which has been checked before.
    pub(super) fn response(&self) -> Result<Response<'_>, Failure> {
        Ok(Response::parse(&self.head, self.lines)?)
    }
}

impl Reader {
    /// The answer, once it is whole; what is behind it stays in `input`. `keeps_body`: something of its body
    /// is wanted.
    pub(super) fn read(
        &mut self,
        limits: &Limits,
        keeps_body: bool,
        input: &mut &[u8],
    ) -> Result<Option<Answer>, Failure> {
        let limits = Limits { body_bytes_max: BODY_BYTES_MAX, ..limits.clone() };
        loop {
            let Some(open) = &mut self.open else {
                match self.read_head(&limits, input)? {
                    Some(open) => self.open = Some(open),
                    None => return Ok(None),
                }
                continue;
            };
            match open.body.read(&limits, input)? {
                None => return Ok(None),
                Some(Piece::Data(data)) if keeps_body => open.answer.body.extend_from_slice(data),
                Some(Piece::Data(_)) => {}
                Some(Piece::End) => return Ok(self.open.take().map(|open| open.answer)),
            }
        }
    }

    /// The head of the final answer: interim ones (RFC 9110 §15.2) are skipped.
    fn read_head(&mut self, limits: &Limits, input: &mut &[u8]) -> Result<Option<Open>, Failure> {
        loop {
            let Some((head, lines)) = self.head.read(Expect::Response, limits, input)? else {
                return Ok(None);
            };
            let response = Response::parse(head, lines)?;
            match response.status {
                // No upgrade was asked for, and what follows such an answer is not HTTP.
                101 => return Err(Failure::Codec(Error::HttpStatus(101))),
                100..=199 => continue,
                _ => {}
            }
            let framing = response.body(false)?;
            let keep_alive =
                framing != Framing::UntilEof && response::keep_alive(&response.fields, response.minor);
            let answer = Answer { head: head.to_vec(), lines, keep_alive, body: Vec::new() };
            return Ok(Some(Open { body: Body::new(framing), answer }));
        }
    }

    /// The server has closed the connection: the answer that ends with that. [`Error::EofBeforeAnswer`] in
    /// the middle of one.
    pub(super) fn handle_eof(&mut self) -> Result<Answer, Failure> {
        match self.open.take() {
            Some(Open { body, answer }) if body.may_end() => Ok(answer),
            _ => Err(Failure::Codec(Error::EofBeforeAnswer)),
        }
    }
}
