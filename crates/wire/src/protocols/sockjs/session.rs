//! The server's side over plain requests: a session that outlives them.
//!
//! ```text
//! new --a request to receive: o--> open
//! open --messages; a request to receive--> answered, or held until there are some
//! held --h, every 25 seconds--> held, or answered with it
//! open --the service closes; the connection held is gone; too much waits--> closed: every request gets the reason
//! open, closed --nothing held for 5 seconds--> over
//! ```

use std::convert::Infallible;

use codec::http::answer::TEXT;

use super::app::{self, CloseReason, GO_AWAY};
use super::facts::{DISCONNECT, HEARTBEAT, RESPONSE_LIMIT};
use super::receiver::{Receiver, Receiving};
use super::request::{Request, Verb};
use super::service::{App, ServiceRoom};
use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;
use crate::io::Io;
use crate::server_config::ServerConfig;
use crate::session::{Answer, HELD, REQUEST, ServerSession, SessionLink, is_too_much};

const ANOTHER: CloseReason = CloseReason { code: 2010, text: "Another connection still open" };
const INTERRUPTED: CloseReason = CloseReason { code: 1002, text: "Connection interrupted" };
const TOO_SLOW: CloseReason = CloseReason { code: 1008, text: "Too many messages waiting" };

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    service_room: ServiceRoom,
    terms: Terms,
    phase: Phase,
    held: Option<Receiver>,
    /// Strings that wait, each with a comma before it.
    queued: Vec<u8>,
    /// Bytes of these that the client's own requests have brought about.
    own_bytes: usize,
    /// The next heartbeat if there is an answer to write it to, or else the end.
    deadline_ns: u64,
}

/// Terms of a session.
#[derive(Clone, Copy, Debug)]
struct Terms {
    /// The time from one heartbeat to the next.
    heartbeat_ns: u64,
    /// How long it lives without a connection to write to.
    disconnect_ns: u64,
    /// Bytes of one streaming answer.
    response_bytes_max: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    New,
    Open,
    Closed(CloseReason),
    Over,
}

impl Session {
    fn receive<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        receiving: Receiving,
        request: Request,
        on: &mut impl OnServerEvent,
    ) -> Answer<Infallible> {
        let out = link.io.out(REQUEST);
        let mut receiver = Receiver::open(receiving, request.head, request.callback, out);
        if self.held.is_some() {
            // The one that was first keeps the session (sockjs-protocol, "Another connection still open").
            return close(receiver, out, ANOTHER);
        }
        let bytes_max = self.terms.response_bytes_max;
        let out = link.io.out(REQUEST);
        let mut is_whole = false;
        if self.phase == Phase::New {
            self.phase = Phase::Open;
            is_whole = receiver.write_frame(out, [b"o", b"", b""], bytes_max);
            match self.service_room.service.app {
                App::Close => self.phase = Phase::Closed(GO_AWAY),
                _ => on(ServerEvent::Joined { room: self.service_room.room_of_sessions() }),
            }
        }
        if !is_whole {
            match self.phase {
                Phase::Closed(reason) => {
                    self.wait_for_request(link);
                    return close(receiver, link.io.out(REQUEST), reason);
                }
                _ if !self.queued.is_empty() => {
                    is_whole = receiver.write_frame(out, [b"a[", &self.queued[1..], b"]"], bytes_max);
                    self.forget_queued();
                }
                _ => {}
            }
        }
        if is_whole {
            receiver.end(link.io.out(REQUEST));
            self.wait_for_request(link);
            return Answer::Whole;
        }
        self.held = Some(receiver);
        self.deadline_ns = link.now_ns + self.terms.heartbeat_ns;
        Answer::Held
    }

    fn send<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        request: &Request,
        body: &[u8],
        on: &mut impl OnServerEvent,
    ) {
        let mut array = match request.messages(body) {
            Ok(array) => array,
            Err(complaint) => return request.complain(link.io, complaint),
        };
        let end = array.len();
        // A comma before the first, as strings wait.
        array.push(b',');
        if app::answer_array(self.service_room, &mut array, 0..end, on) == Err(Failure::BadMessage) {
            return request.complain(link.io, "Broken JSON encoding.");
        }
        let out = link.io.out(REQUEST);
        match request.verb {
            Verb::JsonpSend => request.head.write_whole(out, 200, Some(TEXT), b"ok"),
            _ => request.head.write_whole(out, 204, Some(TEXT), b""),
        }
        if array.len() > end + 1 {
            self.deliver(link, &array[end..], array.len() - end, on);
        }
    }

    /// Sends strings, each with a comma before it, or keeps them until the client asks. The client itself has
    /// brought about `own_bytes` of them.
    fn deliver<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        strings: &[u8],
        own_bytes: usize,
        on: &mut impl OnServerEvent,
    ) {
        if self.phase != Phase::Open {
            return;
        }
        if self.held.is_some() {
            // Without the first comma.
            return self.write_held(link, [b"a[", &strings[1..], b"]"]);
        }
        self.queued.extend_from_slice(strings);
        self.own_bytes += own_bytes;
        if is_too_much(self.queued.len(), self.own_bytes) {
            self.give_up(link, on);
        }
    }

    /// Writes a frame to the answer that is held.
    fn write_held<I: Io>(&mut self, link: &mut SessionLink<'_, I>, frame: [&[u8]; 3]) {
        let bytes_max = self.terms.response_bytes_max;
        let Some(mut receiver) = self.held.take() else { return };
        if !receiver.write_frame(link.io.out(HELD), frame, bytes_max) {
            self.held = Some(receiver);
            return;
        }
        receiver.end(link.io.out(HELD));
        link.io.close_stream(HELD);
        self.wait_for_request(link);
    }

    fn wait_for_request<I: Io>(&mut self, link: &SessionLink<'_, I>) {
        self.deadline_ns = link.now_ns + self.terms.disconnect_ns;
    }

    fn leave(&mut self, on: &mut impl OnServerEvent) {
        if self.phase == Phase::Open {
            on(ServerEvent::Left { room: self.service_room.room_of_sessions() });
        }
        self.forget_queued();
    }

    fn forget_queued(&mut self) {
        (self.queued, self.own_bytes) = (Vec::new(), 0);
    }
}

/// Writes a close frame, and with it the end of the answer.
fn close(mut receiver: Receiver, out: &mut Vec<u8>, reason: CloseReason) -> Answer<Infallible> {
    let CloseReason { code, text } = reason;
    receiver.write_frame(out, [format!("c[{code},\"{text}\"]").as_bytes(), b"", b""], 0);
    receiver.end(out);
    Answer::Whole
}

impl ServerSession for Session {
    type Question = Request;
    type SessionSignal = Infallible;

    fn new(question: &Request, cfg: &ServerConfig) -> Session {
        let (service_room, settings) = (question.service_room, &cfg.settings);
        let limit = usize::try_from(settings.amount(&RESPONSE_LIMIT)).unwrap_or(usize::MAX);
        let terms = Terms {
            heartbeat_ns: settings.amount(&HEARTBEAT).max(1),
            disconnect_ns: settings.amount(&DISCONNECT),
            response_bytes_max: service_room.service.response_bytes_max.unwrap_or(limit),
        };
        let (held, queued, own_bytes) = (None, Vec::new(), 0);
        Session { service_room, terms, phase: Phase::New, held, queued, own_bytes, deadline_ns: u64::MAX }
    }

    fn handle_request<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        request: Request,
        body: &[u8],
        on: &mut impl OnServerEvent,
    ) -> Answer<Infallible> {
        match request.verb {
            Verb::Receive(receiving) => self.receive(link, receiving, request, on),
            Verb::XhrSend | Verb::JsonpSend => {
                self.send(link, &request, body, on);
                Answer::Whole
            }
        }
    }

    fn handle_lost<I: Io>(&mut self, link: &mut SessionLink<'_, I>, on: &mut impl OnServerEvent) {
        self.held = None;
        self.leave(on);
        // What was written to the connection may be lost, and it is unknown how much: the client has to begin
        // anew.
        self.phase = Phase::Closed(INTERRUPTED);
        self.wait_for_request(link);
    }

    fn handle_broadcast<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        strings: &[u8],
        on: &mut impl OnServerEvent,
    ) {
        self.deliver(link, strings, 0, on);
    }

    fn poll_timeout(&self) -> Option<u64> {
        (self.deadline_ns != u64::MAX).then_some(self.deadline_ns)
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut SessionLink<'_, I>, on: &mut impl OnServerEvent) {
        if link.now_ns < self.deadline_ns {
            return;
        }
        if self.held.is_some() {
            self.deadline_ns = link.now_ns + self.terms.heartbeat_ns;
            return self.write_held(link, [b"h", b"", b""]);
        }
        self.leave(on);
        self.phase = Phase::Over;
        self.deadline_ns = u64::MAX;
    }

    fn queued_bytes(&self) -> usize {
        self.queued.len()
    }

    fn give_up<I: Io>(&mut self, _link: &mut SessionLink<'_, I>, on: &mut impl OnServerEvent) {
        self.leave(on);
        self.phase = Phase::Closed(TOO_SLOW);
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }
}
