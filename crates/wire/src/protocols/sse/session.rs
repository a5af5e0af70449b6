//! A stream, on the server's side.
//!
//! A client that comes back is told what it has missed in the same step in which it joins its room, so that
//! no event falls between.

use std::convert::Infallible;
use std::sync::Arc;

use codec::event_stream::MEDIA_TYPE;
use codec::http::answer::AnswerHead;
use codec::json;

use super::facts::HEARTBEAT;
use crate::dialect_id::DialectId;
use crate::event::{OnServerEvent, ServerEvent};
use crate::history::History;
use crate::io::Io;
use crate::room::Room;
use crate::server_config::ServerConfig;
use crate::session::{Answer, HELD, Question, REQUEST, ServerSession, SessionLink};

const COMMENT: &[u8] = b": ping\n\n";

/// A request for a stream, as its head has it.
#[derive(Debug)]
pub(crate) struct Request {
    pub(super) head: AnswerHead,
    pub(super) room: Room,
    /// The last event that the client has; empty: none.
    pub(super) last_id: Vec<u8>,
}

impl Question for Request {
    fn is_alone(&self) -> bool {
        true
    }

    fn refuse(self, _body: &[u8], io: &mut impl Io) {
        self.head.write_whole(io.out(REQUEST), 404, None, b"");
    }
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Session {
    room: Room,
    head: AnswerHead,
    history: Option<Arc<History>>,
    heartbeat_ns: u64,
    /// The next comment; `None`: the stream is over.
    deadline_ns: Option<u64>,
}

/// The room of the streams that a URL names.
pub(super) fn room(in_url: &str) -> Room {
    Room::of_sessions(DialectId::Sse, in_url.as_bytes())
}

/// The id of the event with this number, which is this server's alone.
pub(super) fn id_of(history: &History, number: u64) -> String {
    format!("{}:{number}", std::str::from_utf8(&history.epoch()).expect("digits"))
}

/// The number of the event with this id; `None` if this server did not give it.
fn number_of(history: &History, id: &[u8]) -> Option<u64> {
    let number = id.strip_prefix(&history.epoch())?.strip_prefix(b":")?;
    json::decimal(number)
}

impl Session {
    /// The events that the client has missed.
    fn missed(&self, last_id: &[u8], now_ns: u64) -> Option<Vec<u8>> {
        let history = self.history.as_ref()?;
        let missed = history.after(&[self.room], number_of(history, last_id)?, None, now_ns)?;
        Some(missed.messages.iter().flat_map(|event| event[0].iter()).copied().collect())
    }

    fn end(&mut self, on: &mut impl OnServerEvent) {
        if self.deadline_ns.take().is_some() {
            on(ServerEvent::Left { room: self.room });
        }
    }
}

impl ServerSession for Session {
    type Question = Request;
    type SessionSignal = Infallible;

    fn new(question: &Request, cfg: &ServerConfig) -> Session {
        Session {
            room: question.room,
            head: AnswerHead::default(),
            history: cfg.history.clone(),
            heartbeat_ns: cfg.settings.amount(&HEARTBEAT).max(1),
            deadline_ns: None,
        }
    }

    fn handle_request<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        question: Request,
        _body: &[u8],
        on: &mut impl OnServerEvent,
    ) -> Answer<Infallible> {
        let Request { head, room, last_id } = question;
        let out = link.io.out(REQUEST);
        head.write_stream(out, 200, MEDIA_TYPE);
        self.deadline_ns = Some(link.now_ns + self.heartbeat_ns);
        if let Some(missed) = self.missed(&last_id, link.now_ns).filter(|missed| !missed.is_empty()) {
            head.write_chunk(out, &[&missed]);
        }
        on(ServerEvent::Joined { room });
        // The fields are said, and the rest is small.
        self.head = AnswerHead { fields: String::new(), ..head };
        Answer::Held
    }

    fn handle_lost<I: Io>(&mut self, _link: &mut SessionLink<'_, I>, on: &mut impl OnServerEvent) {
        self.end(on);
    }

    fn handle_broadcast<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        events: &[u8],
        _on: &mut impl OnServerEvent,
    ) {
        self.head.write_chunk(link.io.out(HELD), &[events]);
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.deadline_ns
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        if self.deadline_ns.is_some_and(|deadline_ns| deadline_ns <= link.now_ns) {
            self.deadline_ns = Some(link.now_ns + self.heartbeat_ns);
            self.head.write_chunk(link.io.out(HELD), &[COMMENT]);
        }
    }

    fn queued_bytes(&self) -> usize {
        0
    }

    fn give_up<I: Io>(&mut self, _link: &mut SessionLink<'_, I>, on: &mut impl OnServerEvent) {
        self.end(on);
    }

    fn is_over(&self) -> bool {
        self.deadline_ns.is_none()
    }
}
