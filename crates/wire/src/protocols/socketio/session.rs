//! The server's side over plain requests: a session that outlives them, and that a WebSocket can take over.
//!
//! ```text
//! new --the first request: the handshake--> open
//! open --a poll--> answered with the packets that wait, or held until there are some
//! open --a WebSocket enters, and probes--> probed: polls are answered with 6, nothing to say
//! probed --the WebSocket takes it--> taken: the session is the WebSocket's, and its name with it
//! taken --a plain request--> refused; --the WebSocket is gone--> over
//! open --1--> over, or left if no poll is held --a poll, or a second later--> over
//! open --a second poll beside the one held; a second request to send beside another; silence; whatever breaks the rules--> over
//! ```

use std::sync::Arc;

use codec::http::answer::{AnswerHead, TEXT};

use super::complaint::{self, BAD_REQUEST, UNKNOWN_SESSION};
use super::output::PacketOutput;
use super::payload::{self, Unit};
use super::request::{Request, UPGRADE_TIMEOUT_NS, UpgradeReply, Verb};
use super::rooms;
use super::sid::{self, SID_CHARS};
use super::side::{Next, Opening, Side};
use super::terms::Terms;
use super::version::Version;
use crate::event::OnServerEvent;
use crate::failure::Failure;
use crate::history::History;
use crate::io::Io;
use crate::room::Room;
use crate::server_config::ServerConfig;
use crate::session::{Answer, HELD, REQUEST, ServerSession, SessionLink, is_too_much};

/// How long a poll may take that crosses with the goodbye, sent at the same time on another connection.
const CROSSING_NS: u64 = 1_000_000_000;

/// The packet that says nothing.
const NOOP: &[u8] = b"6";

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    version: Version,
    terms: Terms,
    /// The session's side from the first request on, until the client has left or a WebSocket has it.
    side: Option<Box<Side>>,
    phase: Phase,
    /// The head of the answer to the poll that is held.
    held: Option<AnswerHead>,
    /// Packets that wait, each with a separator before it.
    queued: Vec<u8>,
    /// Bytes of these that the client's own requests have brought about.
    own_bytes: usize,
    /// The body of a request to send is on its way.
    begun: bool,
    /// The history of broadcasts.
    history: Option<Arc<History>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    New,
    Open,
    /// A WebSocket is there, which has until then to take over.
    Entered {
        until_ns: u64,
        probed: bool,
    },
    /// The client has said goodbye.
    Left {
        until_ns: u64,
    },
    /// A WebSocket has it.
    Taken,
    Over,
}

/// Packets into the queue.
struct Queue<'a, I> {
    queued: &'a mut Vec<u8>,
    history: &'a Option<Arc<History>>,
    now_ns: u64,
    io: &'a mut I,
}

impl<I: Io> PacketOutput for Queue<'_, I> {
    fn text(&mut self, parts: &[&[u8]]) {
        payload::push_text(self.queued, parts);
    }

    fn attachment(&mut self, bytes: &[u8]) {
        payload::push_attachment(self.queued, bytes);
    }

    fn sid(&mut self) -> [u8; SID_CHARS] {
        sid::fresh(self.io)
    }

    fn history(&self) -> Option<(Arc<History>, u64)> {
        self.history.as_ref().map(|history| (Arc::clone(history), self.now_ns))
    }

    fn room(&self, namespace: &[u8]) -> Room {
        rooms::room_of_sessions(namespace)
    }
}

impl Session {
    fn open<I: Io>(&mut self, link: &mut SessionLink<'_, I>, request: &Request, on: &mut impl OnServerEvent) {
        let opening = Opening {
            version: request.version,
            service: request.service,
            room: request.room,
            sid: request.sid.as_bytes(),
            has_upgrade: true,
        };
        let queue =
            &mut Queue { queued: &mut self.queued, history: &self.history, now_ns: link.now_ns, io: link.io };
        self.phase = Phase::Open;
        self.side = Some(Box::new(Side::open(&opening, &self.terms, link.now_ns, queue, on)));
    }

    fn poll<I: Io>(&mut self, link: &mut SessionLink<'_, I>, head: AnswerHead) -> Answer<UpgradeReply> {
        if let Some(held) = self.held.take() {
            self.end_both(link, head, held);
            return Answer::Whole;
        }
        // This is the poll that crossed with the goodbye; its answer is the last thing that the session has
        // to say.
        if let Phase::Left { .. } = self.phase {
            self.phase = Phase::Over;
        }
        // A client that probes waits for its poll to come back before it upgrades: holding the poll would
        // stop both.
        if matches!(self.phase, Phase::Entered { probed: true, .. }) && self.queued.is_empty() {
            payload::push_text(&mut self.queued, &[NOOP]);
        }
        if self.queued.is_empty() {
            self.held = Some(head);
            return Answer::Held;
        }
        let body = self.take_body();
        head.write_whole(link.io.out(REQUEST), 200, Some(TEXT), &body);
        Answer::Whole
    }

    /// Two polls at a time: the later one is refused, the earlier one told that the session is over
    /// (engine.io, `onPollRequest`).
    fn end_both<I: Io>(&mut self, link: &mut SessionLink<'_, I>, asked: AnswerHead, held: AnswerHead) {
        if link.io.was_earlier(HELD) {
            complaint::write(&held, link.io.out(HELD), 400, BAD_REQUEST);
            link.io.close_stream(HELD);
            self.end(link);
            asked.write_whole(link.io.out(REQUEST), 200, Some(TEXT), &self.take_body());
        } else {
            complaint::write(&asked, link.io.out(REQUEST), 400, BAD_REQUEST);
            self.held = Some(held);
            self.end(link);
        }
    }

    /// Two requests to send at a time: packets could change places (Engine.IO protocol, "HTTP long-polling").
    fn refuse_second<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        head: &AnswerHead,
    ) -> Answer<UpgradeReply> {
        complaint::write(head, link.io.out(REQUEST), 400, BAD_REQUEST);
        self.end(link);
        Answer::Whole
    }

    fn push<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        head: &AnswerHead,
        body: &[u8],
        on: &mut impl OnServerEvent,
    ) {
        if body.len() > self.terms.payload_bytes_max {
            // The session goes on: the client may send the same packets in smaller requests.
            return head.write_whole(link.io.out(REQUEST), 413, None, b"");
        }
        let outcome = self.handle(link, body, on);
        match outcome {
            Ok(_) => head.write_whole(link.io.out(REQUEST), 200, Some("text/html"), b"ok"),
            Err(_) => complaint::write(head, link.io.out(REQUEST), 400, BAD_REQUEST),
        }
        match outcome {
            Ok(Next::GoOn) => self.flush(link),
            Ok(Next::Close) => self.leave(link),
            Err(_) => self.end(link),
        }
    }

    /// Takes the packets of a body, up to the one that ends the session, if there is one.
    fn handle<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        body: &[u8],
        on: &mut impl OnServerEvent,
    ) -> Result<Next, Failure> {
        let Some(side) = &mut self.side else { return Err(Failure::BadMessage) };
        let (now_ns, version, queued_bytes) = (link.now_ns, self.version, self.queued.len());
        let queue =
            &mut Queue { queued: &mut self.queued, history: &self.history, now_ns: link.now_ns, io: link.io };
        let mut next = Next::GoOn;
        payload::read(version, body, |unit| {
            match unit {
                // Behind a goodbye, the rest of the body has no session to go to.
                _ if next == Next::Close => {}
                Unit::Text(text) => next = side.handle_text(now_ns, text, queue, on)?,
                Unit::Attachment(bytes) => side.handle_attachment(&bytes, queue, on)?,
            }
            Ok(())
        })?;
        if next == Next::Close {
            side.part(queue, on);
        }
        self.own_bytes += self.queued.len() - queued_bytes;
        Ok(next)
    }

    /// Answers the poll that is held with what there is to say. Gives up a client that does not poll while
    /// too much comes up.
    fn flush<I: Io>(&mut self, link: &mut SessionLink<'_, I>) {
        if self.held.is_none() && is_too_much(self.queued.len(), self.own_bytes) {
            return self.end(link);
        }
        if self.queued.is_empty() {
            return;
        }
        if let Some(head) = self.held.take() {
            let body = self.take_body();
            head.write_whole(link.io.out(HELD), 200, Some(TEXT), &body);
            link.io.close_stream(HELD);
        }
    }

    /// The client has said goodbye: a poll ends with nothing to say.
    fn leave<I: Io>(&mut self, link: &mut SessionLink<'_, I>) {
        self.phase = match self.held {
            Some(_) => Phase::Over,
            None => Phase::Left { until_ns: link.now_ns + CROSSING_NS },
        };
        self.side = None;
        payload::push_text(&mut self.queued, &[NOOP]);
        self.flush(link);
    }

    fn take_body(&mut self) -> Vec<u8> {
        self.own_bytes = 0;
        payload::body(self.version, &std::mem::take(&mut self.queued))
    }

    /// Ends the session, and tells a client that polls.
    fn end<I: Io>(&mut self, link: &mut SessionLink<'_, I>) {
        // Packets of a session that broke the rules are not owed to it, and engine.io drops them, too.
        (self.queued, self.own_bytes) = (Vec::new(), 0);
        // The packet that closes: a client that polls has to hear of it, and an empty body would be no
        // answer.
        payload::push_text(&mut self.queued, &[b"1"]);
        self.flush(link);
        self.phase = Phase::Over;
    }

    /// A second WebSocket is granted a WebSocket all the same, and turned away there (engine.io,
    /// `onWebSocket`).
    fn enter<I: Io>(&mut self, link: &mut SessionLink<'_, I>, request: &Request) -> Answer<UpgradeReply> {
        match self.phase {
            Phase::Open => {
                let until_ns = link.now_ns + UPGRADE_TIMEOUT_NS;
                self.phase = Phase::Entered { until_ns, probed: false };
                Answer::Told(UpgradeReply::Admitted)
            }
            Phase::Entered { .. } | Phase::Taken => Answer::Told(UpgradeReply::TurnedAway),
            Phase::New | Phase::Left { .. } | Phase::Over => {
                request.complain(link.io.out(REQUEST), UNKNOWN_SESSION);
                Answer::Whole
            }
        }
    }

    fn probe<I: Io>(&mut self, link: &mut SessionLink<'_, I>) -> Answer<UpgradeReply> {
        let Phase::Entered { probed, .. } = &mut self.phase else { return Answer::Whole };
        *probed = true;
        self.end_poll(link);
        Answer::Told(UpgradeReply::Admitted)
    }

    fn take<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        on: &mut impl OnServerEvent,
    ) -> Answer<UpgradeReply> {
        if !matches!(self.phase, Phase::Entered { .. }) {
            return Answer::Whole;
        }
        // From here on only the WebSocket has it, without a moment in between.
        let Some(side) = self.side.take() else { return Answer::Whole };
        self.end_poll(link);
        self.phase = Phase::Taken;
        side.part(
            &Queue { queued: &mut self.queued, history: &self.history, now_ns: link.now_ns, io: link.io },
            on,
        );
        Answer::Taken(UpgradeReply::Session(side, std::mem::take(&mut self.queued)))
    }

    /// Handles that nothing more will come by a poll.
    fn end_poll<I: Io>(&mut self, link: &mut SessionLink<'_, I>) {
        if self.held.is_some() {
            payload::push_text(&mut self.queued, &[NOOP]);
            self.flush(link);
        }
    }
}

impl ServerSession for Session {
    type Question = Request;
    type SessionSignal = UpgradeReply;

    fn new(question: &Request, cfg: &ServerConfig) -> Session {
        Session {
            version: question.version,
            terms: Terms::of(&cfg.settings),
            side: None,
            phase: Phase::New,
            held: None,
            queued: Vec::new(),
            own_bytes: 0,
            begun: false,
            history: cfg.history.clone(),
        }
    }

    fn handle_request<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        request: Request,
        body: &[u8],
        on: &mut impl OnServerEvent,
    ) -> Answer<UpgradeReply> {
        if self.phase == Phase::New {
            self.open(link, &request, on);
        }
        let is_plain = matches!(request.verb, Verb::Poll | Verb::Begin | Verb::Push { .. });
        // One session has one version; and once a WebSocket has it, packets by two ways would lose their
        // order.
        if request.version != self.version || (is_plain && self.phase == Phase::Taken) {
            request.complain(link.io.out(REQUEST), BAD_REQUEST);
            return Answer::Whole;
        }
        match request.verb {
            Verb::Poll => self.poll(link, request.head),
            Verb::Begin | Verb::Push { begun: false } if self.begun => {
                self.refuse_second(link, &request.head)
            }
            Verb::Begin => {
                self.begun = true;
                Answer::Told(UpgradeReply::Admitted)
            }
            Verb::Push { begun } => {
                // The body that had begun is here: the next request may send.
                self.begun &= !begun;
                self.push(link, &request.head, body, on);
                Answer::Whole
            }
            Verb::Enter => self.enter(link, &request),
            Verb::Probe => self.probe(link),
            Verb::Take => self.take(link, on),
        }
    }

    fn handle_lost<I: Io>(&mut self, _link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        self.held = None;
        self.phase = Phase::Over;
    }

    fn handle_broadcast<I: Io>(
        &mut self,
        link: &mut SessionLink<'_, I>,
        packets: &[u8],
        _on: &mut impl OnServerEvent,
    ) {
        self.queued.extend_from_slice(packets);
        self.flush(link);
    }

    fn poll_timeout(&self) -> Option<u64> {
        let until_ns = match self.phase {
            Phase::Entered { until_ns, .. } | Phase::Left { until_ns } => until_ns,
            Phase::New | Phase::Open | Phase::Taken | Phase::Over => u64::MAX,
        };
        let side_ns = self.side.as_ref().map_or(u64::MAX, |side| side.poll_timeout());
        Some(until_ns.min(side_ns))
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        match self.phase {
            // A WebSocket that never takes over costs the client nothing: polling goes on as before.
            Phase::Entered { until_ns, .. } if until_ns <= link.now_ns => self.phase = Phase::Open,
            Phase::Left { until_ns } if until_ns <= link.now_ns => self.phase = Phase::Over,
            _ => {}
        }
        let Some(side) = &mut self.side else { return };
        match side.handle_timeout(
            link.now_ns,
            &mut Queue { queued: &mut self.queued, history: &self.history, now_ns: link.now_ns, io: link.io },
        ) {
            Ok(()) => self.flush(link),
            Err(_) => self.end(link),
        }
    }

    fn queued_bytes(&self) -> usize {
        self.queued.len()
    }

    fn give_up<I: Io>(&mut self, link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        self.end(link);
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }
}
