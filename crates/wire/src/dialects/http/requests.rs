//! The client's side: requests on one connection after the other.
//!
//! ```text
//! closed --send--> connecting --handle_open--> open: what waits goes out, as many as may be under way
//! open --an answer is whole--> open, or closed if it was the connection's last
//! open --eof between answers--> closed
//! open --eof, a reset, a bad answer--> broken: closed if the connection has given an answer before, else a failure
//! closed, with requests left--> connecting: they are sent again
//! ```
//!
//! So a server may end a connection whenever it likes, and a client is lost when a connection gives no answer at all.

use std::collections::VecDeque;

use super::options::HttpOptions;
use crate::config::Config;
use crate::dialects::over_http::{HttpClientDialect, HttpLink};
use crate::event::{Event, Kind, Role, Wrong};
use crate::failure::Failure;
use crate::http::response::{Got, Responses};
use crate::io::{Io, StreamId};
use crate::stamp::Stamp;

const STREAM: StreamId = 0;

/// Most requests that wait in one client. What comes up beyond is not sent, and so never answered.
const REQUESTS_MAX: usize = 1 << 20;

/// One client's side.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    connection: Connection,
    /// Whether this connection has given a whole answer.
    has_answered: bool,
    responses: Responses,
    answer: Answer,
    /// Requests without their answer, oldest first.
    waiting: VecDeque<Stamp>,
    /// So many of them are on the connection.
    under_way: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Connection {
    #[default]
    Closed,
    Connecting,
    Open,
    /// The answer that is coming in is its last.
    Last,
}

/// The answer that is coming in.
#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    status: u16,
    wrong: Option<Wrong>,
    /// Bytes on the wire, head and body.
    wire_bytes: u32,
    /// Bytes of the body that were as expected.
    matched: usize,
}

impl Requests {
    /// A client whose first connection the driver makes of its own accord.
    pub(crate) fn new() -> Requests {
        Requests { connection: Connection::Connecting, ..Requests::default() }
    }

    /// Sends what may be sent, over a new connection if need be.
    fn flush<I: Io>(&mut self, link: &mut HttpLink<'_, I>) {
        match self.connection {
            Connection::Closed if !self.waiting.is_empty() => {
                self.connection = Connection::Connecting;
                link.io.open_stream(STREAM);
            }
            Connection::Open => {
                let most = link.cfg.options().of_dialect.http.pipelining as usize;
                while let Some(stamp) = self.waiting.get_mut(self.under_way).filter(|_| self.under_way < most)
                {
                    *stamp =
                        Stamp::new(stamp.worker, stamp.client, stamp.seq, stamp.intended_ns, link.now_ns);
                    link.io.out(STREAM).extend_from_slice(&link.cfg.heads()[0]);
                    self.under_way += 1;
                }
            }
            _ => {}
        }
    }

    /// The connection is gone. What it left unanswered is sent again (RFC 9112 §9.3.2).
    fn handle_gone<I: Io>(&mut self, link: &mut HttpLink<'_, I>) {
        self.connection = Connection::Closed;
        self.has_answered = false;
        self.responses = Responses::default();
        self.answer = Answer::default();
        self.under_way = 0;
        self.flush(link);
    }

    fn handle_got<I: Io>(&mut self, link: &mut HttpLink<'_, I>, got: Got<'_>, on: &mut impl FnMut(Event)) {
        let http = &link.cfg.options().of_dialect.http;
        match got {
            Got::Head { status, keep_alive } => {
                self.answer.status = status;
                if !http.is_expected(status) {
                    self.answer.wrong = Some(Wrong::Status(status));
                }
                if !(keep_alive && http.keep_alive) {
                    self.connection = Connection::Last;
                }
            }
            Got::Data(data) => {
                let rest = http.expect_body.as_ref().map(|body| &body[self.answer.matched..]);
                match rest {
                    Some(rest) if rest.starts_with(data) => self.answer.matched += data.len(),
                    Some(_) => self.answer.wrong = self.answer.wrong.or(Some(Wrong::Body)),
                    None => {}
                }
            }
            Got::End => {
                self.handle_end(http, on);
                if self.connection == Connection::Last {
                    link.io.close_stream(STREAM);
                    self.handle_gone(link);
                }
            }
        }
    }

    /// An answer is whole: it is that of the oldest request.
    fn handle_end(&mut self, http: &HttpOptions, on: &mut impl FnMut(Event)) {
        let Answer { status, mut wrong, wire_bytes, matched } = std::mem::take(&mut self.answer);
        if http.expect_body.as_ref().is_some_and(|body| matched < body.len()) {
            wrong = wrong.or(Some(Wrong::Body));
        }
        if let Some(wrong) = wrong {
            on(Event::Wrong(wrong));
        }
        self.has_answered = true;
        self.under_way -= 1;
        let stamp = self.waiting.pop_front().expect("under way");
        on(Event::Message { role: Role::Answer { status }, stamp, bytes: wire_bytes });
    }

    /// The connection is of no further use: a failure, unless it did well before.
    fn handle_broken<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, I>,
        failure: Failure,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        if !self.has_answered {
            return Err(failure);
        }
        on(Event::Broken(failure));
        self.handle_gone(link);
        Ok(())
    }

    fn next<'a>(&mut self, cfg: &Config, input: &mut &'a [u8]) -> Result<Option<Got<'a>>, Failure> {
        match self.under_way {
            0 if input.is_empty() => Ok(None),
            // Nobody asked for it.
            0 => Err(Failure::NotHttp),
            _ => {
                let options = cfg.options();
                let before = input.len();
                let got =
                    self.responses.next(&options.limits, options.of_dialect.http.method == "HEAD", input);
                let used = u32::try_from(before - input.len()).unwrap_or(u32::MAX);
                self.answer.wire_bytes = self.answer.wire_bytes.saturating_add(used);
                got
            }
        }
    }
}

impl HttpClientDialect for Requests {
    fn handle_open<I: Io>(&mut self, link: &mut HttpLink<'_, I>, _stream: StreamId) {
        self.connection = Connection::Open;
        self.flush(link);
    }

    fn handle_input<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, I>,
        _stream: StreamId,
        bytes: &[u8],
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        let mut input = bytes;
        while matches!(self.connection, Connection::Open | Connection::Last) {
            match self.next(link.cfg, &mut input) {
                Ok(None) => break,
                Ok(Some(got)) => self.handle_got(link, got, on),
                Err(failure) => {
                    link.io.close_stream(STREAM);
                    return self.handle_broken(link, failure, on);
                }
            }
        }
        self.flush(link);
        Ok(())
    }

    fn handle_eof<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, I>,
        _stream: StreamId,
        on: &mut impl FnMut(Event),
    ) -> Result<(), Failure> {
        match self.responses.handle_eof() {
            Ok(true) => self.handle_end(&link.cfg.options().of_dialect.http, on),
            Ok(false) if self.under_way > 0 && !self.has_answered => return Err(Failure::Eof),
            Ok(false) => {}
            Err(failure) => return self.handle_broken(link, failure, on),
        }
        self.handle_gone(link);
        Ok(())
    }

    fn handle_lost<I: Io>(&mut self, link: &mut HttpLink<'_, I>, _stream: StreamId) -> bool {
        let goes_on = self.has_answered;
        if goes_on {
            link.io.close_stream(STREAM);
            self.handle_gone(link);
        }
        goes_on
    }

    fn is_usable(&self) -> bool {
        true
    }

    fn send<I: Io>(&mut self, link: &mut HttpLink<'_, I>, _unix_ns: u64, _kind: Kind, stamp: Stamp) {
        if self.waiting.len() < REQUESTS_MAX {
            self.waiting.push_back(stamp);
            self.flush(link);
        }
    }

    /// HTTP has no goodbye.
    fn close<I: Io>(&mut self, _cfg: &Config, io: &mut I) {
        if self.connection != Connection::Closed {
            io.close_stream(STREAM);
        }
        *self = Requests::default();
    }

    fn is_closed(&self) -> bool {
        self.connection == Connection::Closed
    }
}
