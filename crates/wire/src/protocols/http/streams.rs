//! The server's side of streamed answers: as many events as the query asks for, and what is to be wrong with
//! them.
//!
//! ```text
//! open --an event is due--> open: it goes out, with those that are due as well and fit in a portion
//! open --the reader has not taken a portion--> open: the next one waits, however late its events are
//! open --the last one is out--> over: the end mark, and the end of the body
//! open --the event to break at is due--> over: the answer breaks off instead
//! open --the event to hang at is due--> hanging: nothing follows
//! ```

use std::convert::Infallible;
use std::sync::atomic::Ordering;

use crate::asking::StreamForm;
use crate::event::OnServerEvent;
use crate::event_stream::MEDIA_TYPE;
use crate::http::answer::{AnswerHead, TEXT, cors};
use crate::http::query;
use crate::http::request::Request;
use crate::io::Io;
use crate::server_config::ServerConfig;
use crate::session::{Answer, HELD, PlainAnswer, Question, REQUEST, ServerSession, SessionHead, SessionLink};

/// The most events of an answer, and the most bytes of the text in each.
const EVENTS_MAX: u64 = 1 << 32;
const BYTES_MAX: u64 = 1 << 20;
/// Events that are due go out together up to this size: a query may make any number due at once.
const PORTION_BYTES: usize = 64 << 10;
const NDJSON: &str = "application/x-ndjson";

/// A request for a stream.
#[derive(Debug)]
pub(crate) struct StreamRequest {
    head: AnswerHead,
    /// Boxed, as requests of other protocols are small.
    script: Box<Script>,
}

/// One answer, event by event.
#[derive(Clone, Debug)]
struct Script {
    form: StreamForm,
    events: u64,
    /// Bytes of the text in each.
    bytes: usize,
    first_ns: u64,
    gap_ns: u64,
    /// The event before which there is a longer gap, and by how much.
    stall: Option<(u64, u64)>,
    /// The event in whose place the connection ends.
    break_at: Option<u64>,
    /// The event from which on nothing comes.
    hang_at: Option<u64>,
    /// The event that changes places with the next.
    swap_at: Option<u64>,
    /// End marks of an answer: 0, 1 or 2.
    marks: u32,
}

/// A streamed answer under way.
#[derive(Debug)]
pub(crate) struct StreamSession {
    head: AnswerHead,
    script: Box<Script>,
    next: u64,
    start_ns: u64,
    is_over: bool,
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
    let number = cfg.streamed.fetch_add(1, Ordering::Relaxed);
    let Some(script) = Script::parse(request.target, number) else { return PlainAnswer::Status(400) };
    let head = AnswerHead {
        minor: request.minor,
        // An answer without its end leaves its connection in no state to be used again.
        keep_alive: request.keep_alive() && request.minor >= 1 && script.break_at.is_none(),
        to_head: false,
        date: cfg.date(now_ns),
        fields: ["Cache-Control: no-store\r\n", &cors(request)].concat(),
    };
    // No other request is for this answer: the name cannot be guessed.
    let name = format!("/stream/{:016x}{:016x}", io.random_u64(), io.random_u64());
    let question = StreamRequest { head, script: Box::new(script) };
    let keep_alive = question.head.keep_alive;
    PlainAnswer::OfSession(Box::new(SessionHead { name, opens: true, keep_alive, question }))
}

impl Script {
    /// Reads the query of the answer with this number; `None` if a value makes no sense.
    fn parse(target: &str, number: u64) -> Option<Script> {
        let text = |name: &str| query::param(target, name);
        let count = |name: &str, usual: u64, most: u64| match text(name) {
            None => Some(usual),
            Some(text) => text.parse().ok().filter(|&count: &u64| count <= most),
        };
        let time = |name: &str, usual_ns: u64| text(name).map_or(Some(usual_ns), time_ns);
        // The answers that it is planted in: all, or as `5:3%10` those whose number leaves 3 by 10.
        let planted = |name: &str| match text(name).map(|text| text.split_once(':').unwrap_or((text, "0%1")))
        {
            None => Some(None),
            Some((fault, which)) => {
                let (residue, modulus) = which.split_once('%')?;
                let (residue, modulus): (u64, u64) = (residue.parse().ok()?, modulus.parse().ok()?);
                Some((number.checked_rem(modulus)? == residue).then_some(fault))
            }
        };
        let event = |name: &str| match planted(name)? {
            None => Some(None),
            Some(at) => at.parse().ok().map(Some),
        };
        let stall = match planted("stall")? {
            None => None,
            Some(stall) => {
                let (time, at) = stall.split_once('@')?;
                Some((at.parse().ok()?, time_ns(time)?))
            }
        };
        Some(Script {
            form: text("as").map_or(Some(StreamForm::Events), StreamForm::named)?,
            events: count("events", 100, EVENTS_MAX)?,
            bytes: count("bytes", 5, BYTES_MAX)? as usize,
            first_ns: time("first", 0)?,
            gap_ns: time("gap", 10_000_000)?,
            stall,
            break_at: event("break")?,
            hang_at: event("hang")?,
            swap_at: event("swap")?,
            marks: match planted("end")? {
                None => 1,
                Some("missing") => 0,
                Some("doubled") => 2,
                Some(_) => return None,
            },
        })
    }

    /// Time from the request until an event is due; the one behind the last is the end.
    fn due_ns(&self, event: u64) -> u64 {
        let stalled_ns = self.stall.filter(|&(at, _)| event >= at).map_or(0, |(_, ns)| ns);
        // The end is due with the last event.
        let gaps = event.min(self.events.saturating_sub(1));
        self.first_ns.saturating_add(gaps.saturating_mul(self.gap_ns)).saturating_add(stalled_ns)
    }

    /// The number that an event carries.
    fn number(&self, event: u64) -> u64 {
        match self.swap_at {
            Some(at) if event == at => event + 1,
            Some(at) if event.checked_sub(1) == Some(at) => at,
            _ => event,
        }
    }

    /// Appends an event, in the form of OpenAI's chunks.
    fn write_event(&self, out: &mut Vec<u8>, event: u64) {
        let (number, text) = (self.number(event), "x".repeat(self.bytes));
        let json = || format!(r#"{{"n":{number},"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#);
        let piece = match self.form {
            StreamForm::Events => format!("data: {}\n\n", json()),
            StreamForm::Lines => json() + "\n",
            StreamForm::Chunks => text + " ",
        };
        out.extend_from_slice(piece.as_bytes());
    }

    /// The end mark; text has none.
    fn mark(&self) -> &'static [u8] {
        match self.form {
            StreamForm::Events => b"data: [DONE]\n\n",
            StreamForm::Lines => b"{\"done\":true}\n",
            StreamForm::Chunks => b"",
        }
    }

    fn media_type(&self) -> &'static str {
        match self.form {
            StreamForm::Events => MEDIA_TYPE,
            StreamForm::Lines => NDJSON,
            StreamForm::Chunks => TEXT,
        }
    }
}

impl StreamSession {
    /// Returns whether nothing comes any more, although the answer has no end.
    fn is_hanging(&self) -> bool {
        self.script.hang_at.is_some_and(|at| self.next >= at)
    }
}

impl ServerSession for StreamSession {
    type Question = StreamRequest;
    type SessionSignal = Infallible;

    fn new(question: &StreamRequest, _cfg: &ServerConfig) -> StreamSession {
        let (head, script) = (AnswerHead::default(), question.script.clone());
        StreamSession { head, script, next: 0, start_ns: 0, is_over: false }
    }

    fn handle_request<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        question: StreamRequest,
        _body: &[u8],
        _on: &mut impl OnServerEvent,
    ) -> Answer<Infallible> {
        let StreamRequest { head, script } = question;
        self.start_ns = link.now_ns;
        head.write_stream(link.io.out(REQUEST), 200, script.media_type());
        // The fields are said, and the rest is small.
        self.head = AnswerHead { fields: String::new(), ..head };
        Answer::Held
    }

    fn handle_lost<I: Io>(&mut self, _link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        self.is_over = true;
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
        let is_waiting = !self.is_over && !self.is_hanging();
        is_waiting.then(|| self.start_ns.saturating_add(self.script.due_ns(self.next)))
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        let mut piece = Vec::new();
        while self.poll_timeout().is_some_and(|due_ns| due_ns <= link.now_ns)
            && link.io.out(HELD).len() < PORTION_BYTES
        {
            piece.clear();
            let (script, out) = (&self.script, link.io.out(HELD));
            if script.break_at == Some(self.next) {
                self.is_over = true;
                link.io.break_stream(HELD);
            } else if self.next < script.events {
                script.write_event(&mut piece, self.next);
                self.head.write_chunk(out, &[&piece]);
                self.next += 1;
            } else {
                for _ in 0..script.marks {
                    piece.extend_from_slice(script.mark());
                }
                if !piece.is_empty() {
                    self.head.write_chunk(out, &[&piece]);
                }
                self.head.write_end(out);
                self.is_over = true;
                link.io.close_stream(HELD);
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
        self.is_over = true;
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

/// A time such as `10ms`; `None` if it is none.
fn time_ns(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_ns = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_planted_by_number() {
        let at = |number| {
            Script::parse("/stream?events=20&gap=5ms&break=7:3%10&stall=1s@4:1%2&end=missing", number)
        };
        let script = at(13).unwrap();
        assert_eq!((script.events, script.break_at, script.stall), (20, Some(7), Some((4, 1_000_000_000))));
        assert_eq!((at(14).unwrap().break_at, at(14).unwrap().stall), (None, None));
        assert_eq!(script.marks, 0);
        assert_eq!([3, 4, 20].map(|event| script.due_ns(event) / 1_000_000), [15, 1_020, 1_095]);
        for bad in ["events=x", "gap=5", "break=7:3%0", "stall=4", "end=late", "as=xml"] {
            assert!(Script::parse(&format!("/stream?{bad}"), 0).is_none(), "{bad}");
        }
    }
}
