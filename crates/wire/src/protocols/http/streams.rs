//! The server's side of streamed answers over HTTP.
//!
//! Each event goes out when it is due, with those that are due as well and fit in a portion. While the reader
//! has not taken a portion the next one waits, however late its events are.

use std::convert::Infallible;

use codec::event_stream::MEDIA_TYPE;
use codec::http::answer::{AnswerHead, TEXT, cors};
use codec::http::request::Request;

use crate::asking::{ScriptedAnswer, ScriptedPart, StreamForm};
use crate::event::OnServerEvent;
use crate::io::Io;
use crate::server_config::ServerConfig;
use crate::session::{Answer, HELD, PlainAnswer, Question, REQUEST, ServerSession, SessionHead, SessionLink};

/// Events that are due go out together up to this size: a query may make any number due at once.
const PORTION_BYTES: usize = 64 << 10;
const NDJSON: &str = "application/x-ndjson";

/// A request for a stream.
#[derive(Debug)]
pub(crate) struct StreamRequest {
    head: AnswerHead,
    /// Boxed, as requests of other protocols are small.
    answer: Box<ScriptedAnswer>,
}

/// A streamed answer under way.
#[derive(Debug)]
pub(crate) struct StreamSession {
    head: AnswerHead,
    answer: Box<ScriptedAnswer>,
}

impl Question for StreamRequest {
    fn is_alone(&self) -> bool {
        true
    }

    fn refuse(self, _body: &[u8], io: &mut impl Io) {
        self.head.write_whole(io.out(REQUEST), 404, None, b"");
    }
}

/// The answer to a request for a stream.
pub(super) fn plain_answer(
    cfg: &ServerConfig,
    now_ns: u64,
    request: &Request<'_>,
    io: &mut impl Io,
) -> PlainAnswer<SessionHead<StreamRequest>> {
    if !matches!(request.method, "GET" | "POST") {
        return PlainAnswer::Methods(
            if request.method == "OPTIONS" { 204 } else { 405 },
            "GET, POST, OPTIONS",
        );
    }
    let head = AnswerHead {
        minor: request.minor,
        keep_alive: request.keep_alive() && request.minor >= 1,
        to_head: false,
        date: cfg.date(now_ns),
        fields: ["Cache-Control: no-store\r\n", &cors(request)].concat(),
    };
    let answer = match ScriptedAnswer::next_of(cfg, request.target) {
        Ok(answer) => answer,
        Err(why) => {
            let mut out = Vec::new();
            head.write_whole(&mut out, 400, Some(TEXT), why.as_bytes());
            return PlainAnswer::Whole(out);
        }
    };
    // An answer without its end leaves its connection in no state to be used again.
    let head = AnswerHead { keep_alive: head.keep_alive && !answer.breaks_off(), ..head };
    // No other request is for this answer: the name cannot be guessed.
    let name = format!("/stream/{:016x}{:016x}", io.random_u64(), io.random_u64());
    let question = StreamRequest { head, answer: Box::new(answer) };
    let keep_alive = question.head.keep_alive;
    PlainAnswer::OfSession(Box::new(SessionHead { name, opens: true, keep_alive, question }))
}

/// The media type of answers in this form.
fn media_type(form: StreamForm) -> &'static str {
    match form {
        StreamForm::Events => MEDIA_TYPE,
        StreamForm::Lines => NDJSON,
        StreamForm::Chunks => TEXT,
    }
}

/// An event, or a mark, as it stands in a body of this form.
fn piece(form: StreamForm, text: &str) -> String {
    match form {
        StreamForm::Events => format!("data: {text}\n\n"),
        StreamForm::Lines => format!("{text}\n"),
        StreamForm::Chunks => format!("{text} "),
    }
}

impl ServerSession for StreamSession {
    type Question = StreamRequest;
    type SessionSignal = Infallible;

    fn new(question: &StreamRequest, _cfg: &ServerConfig) -> StreamSession {
        StreamSession { head: AnswerHead::default(), answer: question.answer.clone() }
    }

    fn handle_request<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        question: StreamRequest,
        _body: &[u8],
        _on: &mut impl OnServerEvent,
    ) -> Answer<Infallible> {
        let StreamRequest { head, answer } = question;
        self.answer.start(link.now_ns);
        head.write_stream(link.io.out(REQUEST), 200, media_type(answer.form()));
        // The fields are said, and the rest is small.
        self.head = AnswerHead { fields: String::new(), ..head };
        Answer::Held
    }

    fn handle_lost<I: Io>(&mut self, _link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        self.answer.stop();
    }

    fn handle_broadcast<I: Io>(
        &mut self,
        _link: &mut SessionLink<'_, I>,
        _frames: &[u8],
        _on: &mut impl OnServerEvent,
    ) {
        unreachable!("it is in no room")
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.answer.poll_timeout()
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        let form = self.answer.form();
        while link.io.out(HELD).len() < PORTION_BYTES
            && let Some(part) = self.answer.poll_part(link.now_ns)
        {
            let out = link.io.out(HELD);
            match part {
                ScriptedPart::Event(text) => self.head.write_chunk(out, &[piece(form, &text).as_bytes()]),
                ScriptedPart::Break => link.io.break_stream(HELD),
                ScriptedPart::End { marks } => {
                    // Text has none: each word of it is an event.
                    if marks > 0 && form != StreamForm::Chunks {
                        let marks = piece(form, self.answer.mark()).repeat(marks as usize);
                        self.head.write_chunk(out, &[marks.as_bytes()]);
                    }
                    self.head.write_end(out);
                    link.io.close_stream(HELD);
                }
            }
        }
    }

    fn queued_bytes(&self) -> usize {
        0
    }

    fn follows_reader(&self) -> bool {
        true
    }

    fn give_up<I: Io>(&mut self, _link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        self.answer.stop();
    }

    fn is_over(&self) -> bool {
        self.answer.is_over()
    }
}
