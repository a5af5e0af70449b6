//! The client's side over plain requests: one stream to receive, one to send, and one for a WebSocket to take
//! over.
//!
//! ```text
//! receiving: a request --its answer is over--> the same request again, until the session is over or taken over
//! sending:   idle --a packet--> a request --its answer is over--> the next, with what came up meanwhile
//! ```
//!
//! One request at a time in either direction, as engine.io-client has it: packets keep their order.

use app::template::Filling;
use codec::http::cookies::Cookies;
use codec::http::{Exchange, ResponseEvent};
use codec::{Error, Limits, StreamId};

use super::client;
use super::handshake::Handshake;
use super::parts::Parts;
use super::payload::{self, Unit};
use super::takeover::Takeover;
use super::talk::{self, Phase, Said, Talk, TextPacket};
use super::transport::Transport;
use super::version::Version;
use crate::carried::{MessageTemplate, ProtocolEvent, ProtocolHandler};
use crate::contract::{HttpClientProtocol, QUEUED_BYTES_MAX};
use crate::event::Event;
use crate::failure::Failure;
use crate::io::{Io, Sending};
use crate::link::HttpLink;
use crate::opening::Socket;
use crate::request::{Content, Plain};
use crate::resumption::Resumption;

/// The first request; then, if there is to be one, the WebSocket.
const MAIN: StreamId = 0;
const SENDING: StreamId = 1;
/// Polls beside a WebSocket.
const POLLING: StreamId = 2;

/// One session's side.
#[derive(Debug)]
pub(crate) struct Client {
    transport: Transport,
    version: Version,
    talk: Talk,
    /// Some answer has been good.
    upgraded: bool,
    /// The session's name; empty before the handshake.
    sid: String,
    payload_bytes_max: usize,
    receiving: Exchange,
    sending: Exchange,
    /// Cookies of the server, or of a balancer before it: they go with every request since.
    cookies: Cookies,
    /// The body of the answer that is coming in.
    body: Vec<u8>,
    /// Packets that wait for the request under way, each with a separator before it.
    queued: Vec<u8>,
    /// More of them waits than is kept.
    is_overfull: bool,
    takeover: Option<Box<Takeover>>,
    /// The WebSocket that has taken the session over, and the session.
    taken: Option<(Socket, client::Client)>,
}

impl Client {
    /// A new client, whose transport goes over requests.
    pub(crate) fn new(parts: &Parts) -> Client {
        Client {
            transport: parts.transport,
            version: parts.version,
            talk: Talk::default(),
            upgraded: false,
            sid: String::new(),
            payload_bytes_max: usize::MAX,
            receiving: Exchange::connecting(MAIN),
            sending: Exchange::of_messages(SENDING),
            cookies: Cookies::NONE,
            body: Vec::new(),
            queued: Vec::new(),
            is_overfull: false,
            takeover: None,
            taken: None,
        }
    }

    /// The query of requests behind the path's own. Before version 4, attachments come as text only if asked
    /// to.
    fn query(&self) -> String {
        let base64 = if self.version == Version::V3 { "b64=1" } else { "" };
        let join = if base64.is_empty() || self.sid.is_empty() { "" } else { "&" };
        let name = if self.sid.is_empty() { "" } else { "sid=" };
        [base64, join, name, &self.sid].concat()
    }

    /// The failure that an answer other than 200 means.
    fn refusal(&self, status: u16) -> Failure {
        let failure = Failure::Codec(Error::HttpStatus(status));
        if self.sid.is_empty() { failure } else { of_session(failure) }
    }

    fn is_probed(&self) -> bool {
        self.takeover.as_ref().is_some_and(|takeover| takeover.is_probed())
    }

    /// Asks for more packets.
    fn receive<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        if self.talk.phase == Phase::Over {
            return self.receiving.close(link.io);
        }
        if !self.is_probed() {
            let (query, context) = (self.query(), link.context_with(&self.cookies));
            let request = Plain::get("", &query);
            self.receiving.request(link.io, |out| link.common.write_plain(out, context, &request));
        }
    }

    /// Sends what is queued, as far as one request may carry it, if nothing is under way.
    fn flush<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        let is_ready = !self.sid.is_empty() && !self.is_probed() && self.talk.phase != Phase::Over;
        if is_ready && !self.queued.is_empty() && !self.sending.is_busy() {
            // The server has told its limit in the handshake, and refuses a body above it (Engine.IO
            // protocol, `maxPayload`).
            let end = payload::portion(&self.queued, self.payload_bytes_max);
            let body = payload::body(self.version, &self.queued[..end]);
            self.queued.drain(..end);
            self.post(link, &body);
        }
    }

    fn post<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>, body: &[u8]) {
        let (query, content_type) = (self.query(), "text/plain;charset=UTF-8");
        let request = Plain::post("", &query, Content { content_type, bytes: body });
        let context = link.context_with(&self.cookies);
        self.sending.request(link.io, |out| link.common.write_plain(out, context, &request));
    }

    fn handle_receiving<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        mut input: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let limits = &link.common.options().limits;
        while let Some(got) = self.receiving.next(limits, &mut input, &mut self.cookies, link.io)? {
            match got {
                ResponseEvent::Head { status: 200, .. } => {
                    if !std::mem::replace(&mut self.upgraded, true) {
                        on.handle(ProtocolEvent::Event(Event::Upgraded));
                    }
                }
                ResponseEvent::Head { status, .. } => return Err(self.refusal(status)),
                // The body is kept until it is whole, so that a server must not send one without end; however
                // small messages are to be, it may hold many.
                ResponseEvent::Data(bytes)
                    if self.body.len() + bytes.len()
                        > limits.message_bytes_max.max(Limits::default().message_bytes_max) =>
                {
                    return Err(Failure::Codec(Error::MessageTooLarge));
                }
                ResponseEvent::Data(bytes) => self.body.extend_from_slice(bytes),
                ResponseEvent::End => self.handle_polled(link, on)?,
            }
        }
        Ok(())
    }

    fn handle_sending<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        mut input: &[u8],
    ) -> Result<(), Failure> {
        while let Some(got) =
            self.sending.next(&link.common.options().limits, &mut input, &mut self.cookies, link.io)?
        {
            match got {
                ResponseEvent::Head { status: 200, .. } | ResponseEvent::Data(_) => {}
                ResponseEvent::Head { status, .. } => return Err(self.refusal(status)),
                ResponseEvent::End => self.flush(link),
            }
        }
        Ok(())
    }

    /// An answer to a poll is whole.
    fn handle_polled<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let body = std::mem::take(&mut self.body);
        payload::read(self.version, &body, |unit| self.handle_unit(link, unit, on))?;
        if self.transport == Transport::Upgrade && self.takeover.is_none() {
            self.receiving.close(link.io);
            // The next poll needs a connection of its own: the WebSocket takes over the main one, for the
            // load to be on that.
            self.receiving = Exchange::new(POLLING);
            self.takeover = Some(Box::new(Takeover::Connecting));
            link.io.open_stream(MAIN);
        }
        self.receive(link);
        self.flush(link);
        Ok(())
    }

    fn handle_unit<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        unit: Unit<'_>,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let bytes_max = link.common.options().limits.message_bytes_max;
        let text = match unit {
            Unit::Text(text) if text.len() > bytes_max => return Err(Failure::Codec(Error::MessageTooLarge)),
            Unit::Attachment(bytes) if bytes.len() > bytes_max => {
                return Err(Failure::Codec(Error::MessageTooLarge));
            }
            Unit::Text(text) => text,
            Unit::Attachment(bytes) => {
                return self.talk.handle_attachment(&bytes, bytes.len() as u32, on);
            }
        };
        if self.sid.is_empty() {
            self.handle_handshake(text)?;
        }
        // A client is ready once it has the transport that was asked for.
        let transport = self.transport;
        let mut on = |event: ProtocolEvent<'_>| match event {
            ProtocolEvent::Ready if transport == Transport::Upgrade => {}
            event => on.handle(event),
        };
        let filling = Filling::of(link.context_with(&self.cookies));
        let say = &mut |said: Said<'_>| match said {
            Said::Connect(namespace) => {
                payload::push(&mut self.queued, |out| namespace.write_connect(out, &filling))
            }
            Said::Resume(session) => {
                payload::push(&mut self.queued, |out| link.parts.write_resume(out, &filling, session))
            }
            Said::Packet(packet) => payload::push_text(&mut self.queued, &[packet]),
        };
        self.talk.handle_text(
            link.parts,
            &mut link.pending,
            link.now_ns,
            TextPacket { text, bytes: text.len() as u32 },
            say,
            &mut on,
        )
    }

    fn handle_handshake(&mut self, text: &[u8]) -> Result<(), Failure> {
        let handshake = Handshake::parse(text.strip_prefix(b"0").ok_or(Failure::BadMessage)?)?;
        if self.transport == Transport::Upgrade && !handshake.has_upgrade {
            return Err(Failure::NoUpgrade);
        }
        self.sid = String::from_utf8(handshake.sid.to_vec()).map_err(|_| Failure::BadMessage)?;
        // Version 3 does not tell.
        let most = handshake.payload_bytes_max.and_then(|bytes| usize::try_from(bytes).ok());
        self.payload_bytes_max = most.unwrap_or(usize::MAX);
        Ok(())
    }

    /// Lets the WebSocket take over, if it has been probed and no request is under way.
    fn conclude<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>, on: &mut impl ProtocolHandler) {
        // Packets of a poll that is still under way would come after the WebSocket's, and so out of order.
        let is_quiet = !self.receiving.is_busy() && !self.sending.is_busy();
        if !(self.is_probed() && is_quiet) {
            return;
        }
        let Some(takeover) = self.takeover.take() else { return };
        let (talk, queued) = (std::mem::take(&mut self.talk), std::mem::take(&mut self.queued));
        let is_usable = talk.phase == Phase::Usable;
        self.taken = Some((takeover.take(&queued, link.io), client::Client::of(talk)));
        self.receiving.close(link.io);
        self.sending.close(link.io);
        if is_usable {
            on.handle(ProtocolEvent::Ready);
        }
    }
}

impl HttpClientProtocol for Client {
    type Parts = Parts;
    type Socket = client::Client;

    fn resume(&mut self, resumption: &Resumption) {
        self.talk.resume(resumption);
    }

    fn resumption(&self) -> Option<Resumption> {
        self.talk.resumption().cloned()
    }

    fn cookies(&self) -> &Cookies {
        &self.cookies
    }

    fn take_over(&mut self) -> Option<(Socket, client::Client)> {
        self.taken.take()
    }

    fn handle_open<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>, stream: StreamId) {
        match (stream, &mut self.takeover) {
            (MAIN, Some(takeover)) => {
                let context = link.context_with(&self.cookies);
                takeover.handle_open(link.common, &self.sid, context, link.io)
            }
            (SENDING, _) => self.sending.handle_open(link.io),
            _ => {
                self.receiving.handle_open(link.io);
                // A node that a balancer chose at the login must be asked again; a newer cookie of the
                // session itself goes before.
                if self.cookies.is_empty() {
                    self.cookies = link.kept.cookies.clone();
                }
                if !self.receiving.is_busy() {
                    self.receive(link);
                }
            }
        }
    }

    fn handle_input<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        stream: StreamId,
        bytes: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        match (stream, &mut self.takeover) {
            (MAIN, Some(takeover)) => {
                let on = &mut |event| on.handle(ProtocolEvent::Event(event));
                takeover
                    .handle_input(link.common, &mut self.cookies, bytes, link.io, on)
                    .map_err(of_upgrade)?;
            }
            (SENDING, _) => self.handle_sending(link, bytes)?,
            _ => self.handle_receiving(link, bytes, on)?,
        }
        self.conclude(link, on);
        Ok(())
    }

    fn handle_eof<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        stream: StreamId,
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        match (stream, &self.takeover) {
            // This is the WebSocket's connection by now, whose upgrade has no answer.
            (MAIN, Some(_)) => return Err(Failure::Codec(Error::EofBeforeAnswer)),
            (SENDING, _) => {
                // Between two requests a server may close, and what is queued opens another connection.
                self.sending.handle_eof(link.io)?;
                self.flush(link);
            }
            _ => {
                if self.receiving.handle_eof(link.io)? {
                    self.handle_polled(link, on)?;
                }
            }
        }
        self.conclude(link, on);
        Ok(())
    }

    fn handle_lost<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>, stream: StreamId) -> bool {
        stream == SENDING && self.sending.handle_lost(link.io)
    }

    fn is_ready(&self) -> bool {
        self.talk.phase == Phase::Usable && self.transport == Transport::Polling
    }

    fn is_overfull(&self) -> bool {
        self.is_overfull
    }

    fn send<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        message_template: &MessageTemplate,
        filling: &Filling<'_>,
    ) -> Sending {
        // The server has stopped answering; what it never takes must not fill the memory.
        if self.queued.len() > QUEUED_BYTES_MAX {
            self.is_overfull = true;
            return Sending::Out;
        }
        let number = talk::number(&mut link.pending, message_template, filling);
        payload::push(&mut self.queued, |out| message_template.text.write(out, filling, number));
        if let Some(attachment) = &message_template.attachment {
            let mut bytes = Vec::new();
            attachment.write(&mut bytes, filling, number);
            payload::push_attachment(&mut self.queued, &bytes);
        }
        self.flush(link);
        Sending::Out
    }

    /// Sends the session's end if no request has to be waited for; otherwise the server notices that the
    /// client polls no more.
    fn close<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        // A new connection for a goodbye would come when the client is as good as gone.
        if self.is_ready() && self.sending.is_open() && !self.sending.is_busy() {
            let mut goodbye = Vec::new();
            payload::push_text(&mut goodbye, &[b"1"]);
            self.post(link, &payload::body(self.version, &goodbye));
        }
        self.talk.phase = Phase::Over;
        self.receiving.close(link.io);
    }

    fn is_closed(&self) -> bool {
        self.talk.phase == Phase::Over
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.talk.poll_timeout()
    }

    fn handle_timeout<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) -> Result<(), Failure> {
        if self.talk.handle_timeout(link.now_ns)? {
            payload::push_text(&mut self.queued, &[b"2"]);
            self.flush(link);
        }
        Ok(())
    }
}

/// Renames the refusal of a session's upgrade: a node may not have the session, or a proxy in between have
/// taken the upgrade for a plain request.
fn of_upgrade(failure: Failure) -> Failure {
    match failure {
        Failure::Codec(Error::HttpStatus(status @ (400 | 404))) => Failure::SessionUpgrade(status),
        other => other,
    }
}

/// Renames the refusal of a session's request: with these statuses a node says that it has no session of that
/// name (Engine.IO answers 400, code 1). Anything else that may be wrong with such a request, throng's own
/// would be.
fn of_session(failure: Failure) -> Failure {
    match failure {
        Failure::Codec(Error::HttpStatus(400 | 404)) => Failure::SessionLost,
        other => other,
    }
}
