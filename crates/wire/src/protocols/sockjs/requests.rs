//! The client's side over plain requests: one stream to receive, one to send.
//!
//! ```text
//! receiving: a request --its answer is over--> the same request again, until the session is over
//! sending:   idle --send--> a request --its answer is over--> the next, with all messages that came up meanwhile
//! ```
//!
//! One request at a time in either direction, as sockjs-client has it: messages keep their order.

use app::template::Filling;
use codec::http::cookies::Cookies;
use codec::http::{Exchange, ResponseEvent, query};
use codec::{Error, StreamId};
use percent_encoding::percent_encode;

use super::client::{self, Phase};
use super::lines::{self, Lines};
use super::parts::{Parts, session_path};
use super::transport::Transport;
use crate::carried::{MessageTemplate, ProtocolEvent, ProtocolHandler};
use crate::contract::{HttpClientProtocol, QUEUED_BYTES_MAX};
use crate::event::Event;
use crate::failure::Failure;
use crate::io::{Io, Sending};
use crate::link::HttpLink;
use crate::request::{Content, Plain};

const RECEIVING: StreamId = 0;
const SENDING: StreamId = 1;

/// One session's side.
#[derive(Debug)]
pub(crate) struct Client {
    transport: Transport,
    phase: Phase,
    /// Some answer has been good.
    upgraded: bool,
    /// The session's place below the service.
    session: String,
    receiving: Exchange,
    sending: Exchange,
    /// Cookies of the server, or of a balancer before it: they go with every request since.
    cookies: Cookies,
    lines: Lines,
    /// Messages that wait for the request under way, with commas between.
    queued: Vec<u8>,
    /// More of them waits than is kept.
    is_overfull: bool,
}

impl Client {
    /// A new client, whose transport goes over requests.
    pub(crate) fn new(parts: &Parts) -> Client {
        Client {
            transport: parts.transport,
            phase: Phase::Waiting,
            upgraded: false,
            session: String::new(),
            receiving: Exchange::connecting(RECEIVING),
            sending: Exchange::of_messages(SENDING),
            cookies: Cookies::NONE,
            lines: Lines::default(),
            queued: Vec::new(),
            is_overfull: false,
        }
    }

    /// Asks for more frames.
    fn receive<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        if self.phase == Phase::Over {
            return self.receiving.close(link.io);
        }
        // A frame does not go on in the next answer.
        self.lines.reset();
        let (method, end, query) = self.transport.receive();
        let place = format!("{}{end}", self.session);
        let content = (method == "POST").then_some(Content { content_type: "text/plain", bytes: &[] });
        let (context, request) =
            (link.context_with(&self.cookies), Plain { method, place: &place, query, content });
        self.receiving.request(link.io, |out| link.common.write_plain(out, context, &request));
    }

    /// Sends what is queued, if nothing is under way.
    fn flush<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        if self.queued.is_empty() || self.sending.is_busy() || self.phase != Phase::Open {
            return;
        }
        let (end, content_type) = self.transport.send();
        let mut body = Vec::with_capacity(self.queued.len() + 2);
        match self.transport {
            // A form is all that a script's element can post: the array's brackets are encoded like the
            // rest.
            Transport::Jsonp => {
                body.extend_from_slice(b"d=%5B");
                for part in percent_encode(&self.queued, query::ESCAPED) {
                    body.extend_from_slice(part.as_bytes());
                }
                body.extend_from_slice(b"%5D");
            }
            _ => {
                body.push(b'[');
                body.extend_from_slice(&self.queued);
                body.push(b']');
            }
        }
        self.queued.clear();
        let place = format!("{}{end}", self.session);
        let request = Plain::post(&place, "", Content { content_type, bytes: &body });
        let context = link.context_with(&self.cookies);
        self.sending.request(link.io, |out| link.common.write_plain(out, context, &request));
    }

    fn handle_received<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        bytes: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        let (phase, transport) = (&mut self.phase, self.transport);
        let bytes_max = link.common.options().limits.message_bytes_max;
        let mut scratch = Vec::new();
        self.lines.push(bytes, bytes_max, |line| match lines::frame_in(transport, line, &mut scratch)? {
            Some(frame) => {
                let mut strings = 0;
                let on = &mut |event: ProtocolEvent<'_>| {
                    strings += u32::from(matches!(event, ProtocolEvent::Arrival(_)));
                    if strings > 1 {
                        on.handle(ProtocolEvent::Event(Event::SameFrame));
                    }
                    on.handle(event);
                };
                client::handle_frame(phase, frame, frame.len() as u32, link.parts, link.io, on)
            }
            None => Ok(()),
        })
    }

    fn handle_receiving<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        mut input: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        while let Some(got) =
            self.receiving.next(&link.common.options().limits, &mut input, &mut self.cookies, link.io)?
        {
            match got {
                ResponseEvent::Head { status: 200, .. } => {
                    if !std::mem::replace(&mut self.upgraded, true) {
                        on.handle(ProtocolEvent::Event(Event::Upgraded));
                    }
                }
                ResponseEvent::Head { status, .. } => return Err(Failure::Codec(Error::HttpStatus(status))),
                ResponseEvent::Data(bytes) => self.handle_received(link, bytes, on)?,
                // At once, as sockjs-client does: between two polls the server cannot give a message to the
                // client.
                ResponseEvent::End => self.receive(link),
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
                ResponseEvent::Head { status: 200 | 204, .. } | ResponseEvent::Data(_) => {}
                // sockjs-node answers 404 to a message for a session that it does not have: the node may be
                // another.
                ResponseEvent::Head { status: 404, .. } => return Err(Failure::SessionLost),
                ResponseEvent::Head { status, .. } => return Err(Failure::Codec(Error::HttpStatus(status))),
                ResponseEvent::End => self.flush(link),
            }
        }
        Ok(())
    }
}

impl HttpClientProtocol for Client {
    type Parts = Parts;
    type Socket = client::Client;

    fn handle_open<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>, stream: StreamId) {
        match stream {
            RECEIVING => {
                self.receiving.handle_open(link.io);
                // A session's name is chosen by the client, and the first request with it opens the
                // session.
                if self.session.is_empty() {
                    self.session = session_path(link.now_ns, link.io);
                    // A balancer may have chosen a node at the login: the session has to be there.
                    self.cookies = link.kept.cookies.clone();
                    self.receive(link);
                }
            }
            _ => self.sending.handle_open(link.io),
        }
    }

    fn handle_input<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        stream: StreamId,
        bytes: &[u8],
        on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        match stream {
            RECEIVING => self.handle_receiving(link, bytes, on),
            _ => self.handle_sending(link, bytes),
        }
    }

    fn handle_eof<I: Io>(
        &mut self,
        link: &mut HttpLink<'_, Parts, I>,
        stream: StreamId,
        _on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        match stream {
            RECEIVING => {
                self.receiving.handle_eof(link.io)?;
                self.receive(link);
            }
            _ => {
                self.sending.handle_eof(link.io)?;
                self.flush(link);
            }
        }
        Ok(())
    }

    fn handle_lost<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>, stream: StreamId) -> bool {
        stream == SENDING && self.sending.handle_lost(link.io)
    }

    fn is_ready(&self) -> bool {
        self.phase == Phase::Open
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
        if !self.queued.is_empty() {
            self.queued.push(b',');
        }
        message_template.text.write(&mut self.queued, filling, 0);
        self.flush(link);
        Sending::Out
    }

    fn cookies(&self) -> &Cookies {
        &self.cookies
    }

    /// There is no goodbye in SockJS over requests: the server notices that the client asks for no more
    /// frames.
    fn close<I: Io>(&mut self, link: &mut HttpLink<'_, Parts, I>) {
        self.phase = Phase::Over;
        self.receiving.close(link.io);
        self.sending.close(link.io);
    }

    fn is_closed(&self) -> bool {
        self.phase == Phase::Over
    }
}
