//! Stand-ins for sides a protocol lacks: types without values, so that they cost nothing.

use std::convert::Infallible;
use std::marker::PhantomData;

use app::template::Filling;
use codec::StreamId;
use codec::http::request::Request;
use codec::ws::MessageType;
use codec::ws::receiver::Message;

use crate::carried::{MessageTemplate, ProtocolHandler};
use crate::contract::{ClientProtocol, HttpClientProtocol, ServerProtocol};
use crate::event::OnServerEvent;
use crate::failure::Failure;
use crate::io::{Io, Sending};
use crate::link::{HttpLink, Link, ServerLink};
use crate::server_config::ServerConfig;
use crate::session::{Answer, Question, ServerSession, SessionLink};

/// The absence of a client's side over a WebSocket.
#[derive(Debug)]
pub(crate) struct NoClient<P>(Infallible, PhantomData<P>);

/// The absence of a client's side over plain requests; `C` is the client's side over a WebSocket.
#[derive(Debug)]
pub(crate) struct NoRequests<P, C>(Infallible, PhantomData<(P, C)>);

/// The absence of a server's side over a WebSocket; `S` is the server's side over plain requests.
#[derive(Debug)]
pub(crate) struct NoServer<S>(Infallible, PhantomData<S>);

/// The absence of a server's side over plain requests.
#[derive(Debug)]
pub(crate) struct NoSession(Infallible);

/// The absence of questions to a session.
#[derive(Debug)]
pub(crate) struct NoQuestion(Infallible);

impl<P> ClientProtocol for NoClient<P> {
    type Parts = P;

    fn handle_upgraded<I: Io>(&mut self, _link: &mut Link<'_, P, I>, _on: &mut impl ProtocolHandler) {
        match self.0 {}
    }

    fn handle_message<I: Io>(
        &mut self,
        _link: &mut Link<'_, P, I>,
        _message: &Message<'_>,
        _on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        match self.0 {}
    }

    fn send<I: Io>(
        &mut self,
        _link: &mut Link<'_, P, I>,
        _template: &MessageTemplate,
        _filling: &Filling<'_>,
    ) {
        match self.0 {}
    }
}

impl<P, C> HttpClientProtocol for NoRequests<P, C> {
    type Parts = P;
    type Socket = C;

    fn handle_open<I: Io>(&mut self, _link: &mut HttpLink<'_, P, I>, _stream: StreamId) {
        match self.0 {}
    }

    fn handle_input<I: Io>(
        &mut self,
        _link: &mut HttpLink<'_, P, I>,
        _stream: StreamId,
        _bytes: &[u8],
        _on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        match self.0 {}
    }

    fn handle_eof<I: Io>(
        &mut self,
        _link: &mut HttpLink<'_, P, I>,
        _stream: StreamId,
        _on: &mut impl ProtocolHandler,
    ) -> Result<(), Failure> {
        match self.0 {}
    }

    fn is_ready(&self) -> bool {
        match self.0 {}
    }

    fn send<I: Io>(
        &mut self,
        _link: &mut HttpLink<'_, P, I>,
        _template: &MessageTemplate,
        _filling: &Filling<'_>,
    ) -> Sending {
        match self.0 {}
    }

    fn close<I: Io>(&mut self, _link: &mut HttpLink<'_, P, I>) {
        match self.0 {}
    }

    fn is_closed(&self) -> bool {
        match self.0 {}
    }
}

impl<S: ServerSession> ServerProtocol for NoServer<S> {
    type Session = S;

    fn open(_cfg: &ServerConfig, _request: &Request<'_>, _subprotocol: Option<&str>) -> Result<Self, u16> {
        Err(404)
    }

    fn handle_upgraded<I: Io>(&mut self, _link: &mut ServerLink<'_, I>, _on: &mut impl OnServerEvent) {
        match self.0 {}
    }

    fn handle_message<I: Io>(
        &mut self,
        _link: &mut ServerLink<'_, I>,
        _message_type: MessageType,
        _start: usize,
        _on: &mut impl OnServerEvent,
    ) -> Result<(), Failure> {
        match self.0 {}
    }
}

impl Question for NoQuestion {
    fn refuse(self, _body: &[u8], _io: &mut impl Io) {
        match self.0 {}
    }
}

impl ServerSession for NoSession {
    type Question = NoQuestion;
    type SessionSignal = Infallible;

    fn new(question: &NoQuestion, _cfg: &ServerConfig) -> Self {
        match question.0 {}
    }

    fn handle_request<I: Io>(
        &mut self,
        _link: &mut SessionLink<'_, I>,
        _question: NoQuestion,
        _body: &[u8],
        _on: &mut impl OnServerEvent,
    ) -> Answer<Infallible> {
        match self.0 {}
    }

    fn handle_lost<I: Io>(&mut self, _link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        match self.0 {}
    }

    fn handle_broadcast<I: Io>(
        &mut self,
        _link: &mut SessionLink<'_, I>,
        _frames: &[u8],
        _on: &mut impl OnServerEvent,
    ) {
        match self.0 {}
    }

    fn poll_timeout(&self) -> Option<u64> {
        match self.0 {}
    }

    fn handle_timeout<I: Io>(&mut self, _link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        match self.0 {}
    }

    fn queued_bytes(&self) -> usize {
        match self.0 {}
    }

    fn give_up<I: Io>(&mut self, _link: &mut SessionLink<'_, I>, _on: &mut impl OnServerEvent) {
        match self.0 {}
    }

    fn is_over(&self) -> bool {
        match self.0 {}
    }
}
