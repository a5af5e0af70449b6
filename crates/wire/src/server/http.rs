//! A connection before its upgrade, if it ever has one: plain requests, and the one that asks.

use codec::Error;
use codec::http::answer::OCTETS;
use codec::http::body::{Body, Piece};
use codec::http::head::{Expect, HeadReader};
use codec::http::request::{self, Request};
use codec::ws::upgrade;

use super::http2::{Http2, PREFACE_HEAD};
use super::socket::{Session, Upgrade};
use crate::event::{OnServerEvent, ServerEvent};
use crate::failure::Failure;
use crate::io::Io;
use crate::registry::servers;
use crate::registry::sessions::SessionRequest;
use crate::server_config::ServerConfig;
use crate::session::PlainAnswer;

/// States after it.
pub(super) enum Next {
    Open(Session),
    Multiplexed(Box<Http2>),
    Done,
}

/// The state of a connection before an upgrade.
#[derive(Debug, Default)]
pub(super) struct Http {
    head: HeadReader,
    pending: Option<Pending>,
    asked: Option<PendingRequest>,
}

/// A plain request whose body is still coming in.
#[derive(Debug)]
struct Pending {
    body: Body,
    answer: PlainAnswer<SessionRequest>,
    /// The answer's field line on whether the connection lives on.
    connection: &'static str,
    /// The session, if there is one, knows that the body is on its way.
    is_announced: bool,
}

/// A request that its session has to answer.
#[derive(Debug)]
struct PendingRequest {
    /// Until it is taken.
    request: Option<Box<SessionRequest>>,
    keep_alive: bool,
    /// The upgrade to be judged by its session, if it asks for a WebSocket.
    upgrade: Option<Box<Upgrade>>,
    /// Bytes received since.
    waiting: Vec<u8>,
}

impl Http {
    /// Returns whether the peer may leave now: no request is half in. It may while it waits for a session's
    /// answer.
    pub(super) fn may_end(&self) -> bool {
        self.pending.is_none() && !self.head.is_partial()
    }

    /// Bytes that came in behind a request that its session has not answered yet.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.asked.as_ref().map_or(0, |asked| asked.waiting.len())
    }

    /// Takes the question to a session; once.
    pub(super) fn take_request(&mut self) -> Option<SessionRequest> {
        self.asked.as_mut()?.request.take().map(|request| *request)
    }

    /// Goes on with the body for the session that takes it, and returns what came in meanwhile; `None` if no
    /// body was announced.
    pub(super) fn admit(&mut self) -> Option<Vec<u8>> {
        let (Some(Pending { answer: PlainAnswer::OfSession(request), .. }), Some(_)) =
            (&mut self.pending, &self.asked)
        else {
            return None;
        };
        request.set_begun();
        self.asked.take().map(|asked| asked.waiting)
    }

    /// Takes the upgrade that a session has answered, and what came in meanwhile. `None` if no upgrade was
    /// asked for.
    pub(super) fn take_upgrade(&mut self) -> Option<(Box<Upgrade>, Vec<u8>)> {
        let asked = self.asked.take_if(|asked| asked.upgrade.is_some())?;
        Some((asked.upgrade?, asked.waiting))
    }

    /// Goes on after a session's answer. Returns whether the connection lives on, and what came in meanwhile;
    /// `None` if no session was asked.
    pub(super) fn settle(&mut self) -> Option<(bool, Vec<u8>)> {
        self.asked.take().map(|PendingRequest { keep_alive, waiting, .. }| (keep_alive, waiting))
    }

    /// Answers requests; the next state when this one is over, `None` when more bytes are needed.
    pub(super) fn handle_input(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        input: &mut &[u8],
        io: &mut impl Io,
        on: &mut impl OnServerEvent,
    ) -> Result<Option<Next>, Failure> {
        let next = self.try_input(cfg, now_ns, input, io, on);
        next.inspect_err(|&failure| {
            // In the middle of another answer there is no place for one.
            if self.asked.is_some() {
                return;
            }
            let status = failure.status();
            let date = cfg.date(now_ns);
            request::answer(io.out(0), status, date, &[upgrade::refusal_fields(status), request::CLOSE]);
        })
    }

    fn try_input(
        &mut self,
        cfg: &ServerConfig,
        now_ns: u64,
        input: &mut &[u8],
        io: &mut impl Io,
        on: &mut impl OnServerEvent,
    ) -> Result<Option<Next>, Failure> {
        loop {
            if let Some(asked) = &mut self.asked {
                return asked.hold(cfg, input).map(|()| None);
            }
            if let Some(pending) = &mut self.pending {
                if !pending.read_body(cfg, input)? {
                    // A session whose body is half in may have to refuse others meanwhile, so that it is told
                    // before the end.
                    let Some(beginning) = pending.announce() else { return Ok(None) };
                    self.asked = Some(PendingRequest::new(Box::new(beginning)));
                    on(ServerEvent::Asked);
                    continue;
                }
                let Pending { answer, connection, .. } = self.pending.take().expect("looked at just now");
                // The field was chosen when the head was judged, which is no longer there.
                let keep_alive = connection != request::CLOSE;
                match answer {
                    PlainAnswer::Status(status) => {
                        let fields = [upgrade::refusal_fields(status), connection];
                        request::answer(io.out(0), status, cfg.date(now_ns), &fields);
                    }
                    PlainAnswer::Methods(status, methods) => {
                        let fields = ["Allow: ", methods, "\r\n", connection];
                        request::answer(io.out(0), status, cfg.date(now_ns), &fields);
                    }
                    PlainAnswer::Whole(answer) => io.out(0).extend_from_slice(&answer),
                    PlainAnswer::Echo(head, body) => head.write_whole(io.out(0), 200, Some(OCTETS), &body),
                    PlainAnswer::OfForm(form) => io.out(0).extend_from_slice(&form.answer()),
                    PlainAnswer::OfSession(request) => {
                        self.asked = Some(PendingRequest::new(request));
                        on(ServerEvent::Asked);
                        continue;
                    }
                }
                on(ServerEvent::Requested { keep_alive });
                if !keep_alive {
                    return Ok(Some(Next::Done));
                }
            }
            let Some((head, lines)) = self.head.read(Expect::Request, &cfg.limits, input)? else {
                return Ok(None);
            };
            // By prior knowledge, or because TLS has agreed on it (RFC 9113 §3.2, §3.3).
            if head == PREFACE_HEAD {
                return Ok(Some(Next::Multiplexed(Box::new(Http2::open(cfg, io)))));
            }
            let request = Request::parse(head, lines)?;
            let is_admitted = cfg.gate.admits(&request, cfg.unix_s(now_ns));
            if request.wants_websocket() {
                // Before the upgrade is judged: a client that is not let in learns nothing of what would be
                // granted.
                if !is_admitted {
                    return Err(Failure::Refused(401));
                }
                let mut upgrade = Upgrade::judge(&request, cfg).map_err(Failure::Refused)?;
                let Some(mut entry) = upgrade.take_request() else {
                    return Ok(Some(Next::Open(upgrade.open(cfg, now_ns, io, on))));
                };
                entry.set_date(cfg.date(now_ns));
                self.asked = Some(PendingRequest::new(Box::new(entry)).upgrading(upgrade));
                on(ServerEvent::Asked);
                continue;
            }
            // A client of HTTP/1.0 would take it for the answer (RFC 9110 §10.1.1).
            if request.fields.has_member("expect", "100-continue") && request.minor >= 1 {
                io.out(0).extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
            }
            self.pending = Some(Pending {
                body: Body::new(request.body),
                connection: request.connection_field(),
                is_announced: false,
                answer: match is_admitted {
                    true => servers::plain_answer(cfg, now_ns, &request, io),
                    false => PlainAnswer::Status(401),
                },
            });
        }
    }
}

impl Pending {
    /// The notice to the session that the body is on its way; once.
    fn announce(&mut self) -> Option<SessionRequest> {
        match &self.answer {
            PlainAnswer::OfSession(request) if !std::mem::replace(&mut self.is_announced, true) => {
                request.beginning()
            }
            _ => None,
        }
    }

    /// Reads on in the body, and returns whether it is whole. Keeps the body of a session's request, and what
    /// the answer depends on.
    fn read_body(&mut self, cfg: &ServerConfig, input: &mut &[u8]) -> Result<bool, Failure> {
        while let Some(piece) = self.body.read(&cfg.limits, input)? {
            match (piece, &mut self.answer) {
                (Piece::End, _) => return Ok(true),
                (Piece::Data(data), PlainAnswer::OfSession(request)) => request.body.extend_from_slice(data),
                (Piece::Data(data), PlainAnswer::Echo(_, body)) => body.extend_from_slice(data),
                (Piece::Data(data), PlainAnswer::OfForm(form)) => form.push(data),
                // Read and dropped: the answer does not depend on it, and the next request is behind it.
                (Piece::Data(_), _) => {}
            }
        }
        Ok(false)
    }
}

impl PendingRequest {
    fn new(request: Box<SessionRequest>) -> PendingRequest {
        let keep_alive = request.keep_alive;
        PendingRequest { request: Some(request), keep_alive, upgrade: None, waiting: Vec::new() }
    }

    fn upgrading(self, upgrade: Upgrade) -> PendingRequest {
        PendingRequest { upgrade: Some(Box::new(upgrade)), ..self }
    }

    /// Keeps what comes in before the answer is written: as much as one request may have.
    fn hold(&mut self, cfg: &ServerConfig, input: &mut &[u8]) -> Result<(), Failure> {
        // A client may pipeline, but not without end: a driver that stops reading in time never sees this.
        let room = cfg.limits.body_bytes_max.saturating_add(cfg.limits.head_bytes_max as u64);
        if (self.waiting.len() + input.len()) as u64 > room {
            return Err(Failure::Codec(Error::BodyTooLarge));
        }
        self.waiting.extend_from_slice(std::mem::take(input));
        Ok(())
    }
}
